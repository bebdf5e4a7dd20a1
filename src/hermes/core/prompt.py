"""What a model reads first, frozen for the length of an epoch."""

import hashlib
from dataclasses import dataclass, field
from typing import Literal

Tier = Literal["stable", "context", "volatile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSection:
    """One block of the system prompt; sections of a tier keep the order they are given in."""

    name: str
    tier: Tier
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenPrompt:
    """The whole system prompt; `digest` is the sha256 of its UTF-8 bytes, in hex."""

    text: str
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", hashlib.sha256(self.text.encode()).hexdigest())


def freeze(sections: tuple[PromptSection, ...]) -> FrozenPrompt:
    """Join `sections` by tier (stable, context, volatile), leaving out the empty ones."""
    tiers: tuple[Tier, ...] = ("stable", "context", "volatile")
    ordered = (s.text.strip() for tier in tiers for s in sections if s.tier == tier)
    return FrozenPrompt(text="\n\n".join(text for text in ordered if text))
