"""Searches that were made before and gave the same, counted."""

import hashlib

from hermes.core.ids import TurnId


class Searches:
    """Of one session: the last search of this turn, and how often it gave the same."""

    def __init__(self) -> None:
        self._last: tuple[TurnId, str, bytes] | None = None
        self._count = 0

    def again(self, turn: TurnId, key: str, result: bytes) -> int:
        """How often in a row this very search has given this very result."""
        this = (turn, key, hashlib.sha256(result).digest())
        self._count = self._count + 1 if this == self._last else 1
        self._last = this
        return self._count
