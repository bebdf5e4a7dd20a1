"""Stable names of sessions, turns and calls.

Session ids keep the reference's shape, `YYYYMMDD_HHMMSS_<6 hex>`, in UTC.
"""

import time
from collections.abc import Callable
from typing import NewType, Protocol

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
CallId = NewType("CallId", str)
Seq = NewType("Seq", int)


class IdSource(Protocol):
    """Makes ids that no other source has made."""

    def session(self, now: float) -> SessionId:
        """A new session id; `now` is seconds since the epoch."""
        ...

    def turn(self) -> TurnId:
        """A new turn id."""
        ...

    def call(self) -> CallId:
        """A new call id, for calls whose provider gave none."""
        ...


class RandomIds:
    """Ids from a source of random bytes, `os.urandom` in production."""

    def __init__(self, entropy: Callable[[int], bytes]) -> None:
        self._entropy = entropy

    def session(self, now: float) -> SessionId:
        stamp = time.strftime("%Y%m%d_%H%M%S", time.gmtime(now))
        return SessionId(f"{stamp}_{self._entropy(3).hex()}")

    def turn(self) -> TurnId:
        return TurnId(f"turn_{self._entropy(6).hex()}")

    def call(self) -> CallId:
        return CallId(f"call_{self._entropy(6).hex()}")


class CountingIds:
    """Ids that are the same in every run; for tests."""

    def __init__(self) -> None:
        self._count = 0

    def _next(self) -> int:
        self._count += 1
        return self._count

    def session(self, now: float) -> SessionId:
        stamp = time.strftime("%Y%m%d_%H%M%S", time.gmtime(now))
        return SessionId(f"{stamp}_{self._next():06x}")

    def turn(self) -> TurnId:
        return TurnId(f"turn_{self._next()}")

    def call(self) -> CallId:
        return CallId(f"call_{self._next()}")
