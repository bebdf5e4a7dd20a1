"""The process environment as a value; the only code that reads `os.environ`."""

import os
from collections.abc import Iterator, Mapping
from typing import final

_TRUE = frozenset({"1", "true", "yes", "on"})


@final
class Environment(Mapping[str, str]):
    """A snapshot of environment variables that nobody can change afterwards."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    @classmethod
    def current(cls) -> "Environment":
        """What this process was started with. Bytes that are not UTF-8 are surrogate-escaped."""
        return cls(os.environ)

    def flag(self, name: str) -> bool:
        """Whether `name` is set to 1, true, yes or on."""
        return self._values.get(name, "").strip().lower() in _TRUE

    def with_(self, **values: str | None) -> "Environment":
        """A copy with `values` set; None takes a variable away."""
        merged: dict[str, str | None] = {**self._values, **values}
        return Environment({k: v for k, v in merged.items() if v is not None})

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Environment({len(self._values)} variables)"
