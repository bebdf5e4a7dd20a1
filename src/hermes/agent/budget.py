"""How many steps a turn may take, and when the same failing step is broken off."""

import hashlib
from dataclasses import dataclass

from hermes.core.calls import ToolCall, ToolResult

IDENTICAL_WARN, IDENTICAL_STOP = 2, 5
SAME_TOOL_STOP = 8
IDENTICAL_EFFECT_WARN, IDENTICAL_EFFECT_STOP = 3, 10
"""For calls with effects that succeed: more, since looking again may be how one waits."""


class Steps:
    """Model calls of one turn: a limit, refunds, and one grace call to wrap up."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._spent = 0
        self._refunded = 0
        self.grace = False

    @property
    def left(self) -> bool:
        return self._limit is None or self._spent < self._limit

    def spend(self) -> bool:
        """Take a step, or else the grace call; false when both are gone."""
        if self.left:
            self._spent += 1
            return True
        if self.grace:
            return False
        self.grace = True
        return True

    def refund(self) -> None:
        """Give a step back; at most as many as the limit, so that restarts are bounded too."""
        if self._limit is None or self._refunded < self._limit:
            self._refunded += 1
            self._spent -= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """The same step again: how often by now, and whether the turn must end."""

    tool: str
    count: int
    result: str
    stop: bool


class Repeats:
    """Counts identical steps without progress.

    A call with the same arguments and the same result counts on if it failed, or if it only reads.
    A tool that fails again and again with changing arguments is counted too. Any other success
    starts the count anew, except of that very success when it comes again at once.
    """

    def __init__(self) -> None:
        self._identical: dict[bytes, int] = {}
        self._failures: dict[str, int] = {}
        self._effect = (b"", 0)

    def note(self, call: ToolCall, result: ToolResult, *, reads_only: bool) -> Repeat | None:
        """Count one settled call; returns what to tell, or None while all is well."""
        failed = result.outcome in ("failed", "denied")
        arguments = call.fault or call.arguments
        key = hashlib.sha256(f"{call.tool}\0{arguments}\0{result.content}".encode()).digest()
        if not failed:
            self._failures.pop(call.tool, None)
            if not reads_only:
                self._failures.clear()
                self._identical.clear()
                return self._same_effect(call, key, result)
        self._effect = (b"", 0)
        identical = self._identical[key] = self._identical.get(key, 0) + 1
        failures = 0
        if failed:
            failures = self._failures[call.tool] = self._failures.get(call.tool, 0) + 1
        if identical >= IDENTICAL_STOP or failures >= SAME_TOOL_STOP:
            return self._repeat(call, max(identical, failures), result, stop=True)
        if identical >= IDENTICAL_WARN:
            return self._repeat(call, identical, result, stop=False)
        return None

    def _same_effect(self, call: ToolCall, key: bytes, result: ToolResult) -> Repeat | None:
        before, count = self._effect
        count = count + 1 if key == before else 1
        self._effect = (key, count)
        if count < IDENTICAL_EFFECT_WARN:
            return None
        return self._repeat(call, count, result, stop=count >= IDENTICAL_EFFECT_STOP)

    @staticmethod
    def _repeat(call: ToolCall, count: int, result: ToolResult, *, stop: bool) -> Repeat:
        return Repeat(tool=call.tool, count=count, result=result.content[:300], stop=stop)
