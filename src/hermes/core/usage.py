"""What a model call used."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or several calls.

    `input` includes `cached` and `cache_write`; `output` includes `thinking`. `cost_usd` is None
    where no price is known, and stays None in a sum that contains such a call.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_write: int = 0
    thinking: int = 0
    cost_usd: float | None = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        cost = (
            None
            if self.cost_usd is None or other.cost_usd is None
            else self.cost_usd + other.cost_usd
        )
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cached=self.cached + other.cached,
            cache_write=self.cache_write + other.cache_write,
            thinking=self.thinking + other.thinking,
            cost_usd=cost,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens; `cached` is what a cached input token costs."""

    input: float
    output: float
    cached: float | None = None

    def of(self, usage: Usage) -> float:
        """The cost of `usage` in dollars."""
        cached = self.input if self.cached is None else self.cached
        fresh = usage.input - usage.cached
        return (fresh * self.input + usage.cached * cached + usage.output * self.output) / 1e6


FREE = Price(input=0.0, output=0.0)
