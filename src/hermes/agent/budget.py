"""How many steps a turn may take, and when the same failing step is broken off."""

from dataclasses import dataclass
from typing import TypeVar

from hermes.core.calls import ToolCall, ToolResult

Step = tuple[str, str, str]
"""A tool, its arguments and its result: the very strings that the conversation holds."""

K = TypeVar("K", Step, str)

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

    The same call with the same result counts on, and so does a tool that fails again and again with
    changing arguments. A call with effects that succeeds in a way not yet seen in this turn is
    progress, and starts every count anew. What one reply asks for several times counts once, for
    its model has not seen a result in between.
    """

    def __init__(self) -> None:
        self._identical: dict[Step, int] = {}
        self._failures: dict[str, int] = {}
        self._effects: dict[Step, int] = {}
        self._counted: set[Step | str] = set()

    def next_reply(self) -> None:
        """The calls noted from now on are those of another reply."""
        self._counted.clear()

    def note(self, call: ToolCall, result: ToolResult, *, reads_only: bool) -> Repeat | None:
        """Count one settled call; returns what to tell, or None while all is well."""
        failed = result.outcome in ("failed", "denied")
        key = (call.tool, call.fault or call.arguments, result.content)
        if not failed:
            self._failures.pop(call.tool, None)
            if not reads_only:
                return self._effect(call, key, result)
        identical = self._count(self._identical, key)
        failures = self._count(self._failures, call.tool) if failed else 0
        if identical >= IDENTICAL_STOP or failures >= SAME_TOOL_STOP:
            return self._repeat(call, max(identical, failures), result, stop=True)
        if identical >= IDENTICAL_WARN:
            return self._repeat(call, identical, result, stop=False)
        return None

    def _count(self, counts: dict[K, int], key: K) -> int:
        if key not in self._counted or key not in counts:
            self._counted.add(key)
            counts[key] = counts.get(key, 0) + 1
        return counts[key]

    def _effect(self, call: ToolCall, key: Step, result: ToolResult) -> Repeat | None:
        if key not in self._effects:
            self._failures.clear()
            self._identical.clear()
            self._effects = dict.fromkeys(self._effects, 0)
        count = self._count(self._effects, key)
        if count < IDENTICAL_EFFECT_WARN:
            return None
        return self._repeat(call, count, result, stop=count >= IDENTICAL_EFFECT_STOP)

    @staticmethod
    def _repeat(call: ToolCall, count: int, result: ToolResult, *, stop: bool) -> Repeat:
        return Repeat(tool=call.tool, count=count, result=result.content[:300], stop=stop)
