"""Whether each request of a conversation begins with the bytes of the one before it.

Providers bill a repeated prefix at a fraction of the price, but only if it is the same to the byte.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hermes.sdk.testing.strict import Body

_EXCERPT: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixBreak:
    """Request `request` does not extend request `previous`: the bytes differ from `offset` on.

    `was` and `now` are what stands there in the older and the newer body, from a little before.
    """

    request: int
    previous: int
    offset: int
    was: bytes
    now: bytes

    def __str__(self) -> str:
        return (
            f"request {self.request} does not extend request {self.previous}: "
            f"byte {self.offset} differs\n  was {self.was!r}\n  now {self.now!r}"
        )


@dataclass(slots=True, kw_only=True, eq=False)
class _Lane:
    """The last request of one conversation; `end` is where its messages are closed.

    `sessions` is how many conversations may stand here, having sent the same first request.
    """

    number: int
    body: bytes
    end: int
    tools: bytes
    sessions: int = 1

    def extended_by(self, body: bytes, tools: bytes) -> bool:
        return self.tools == tools and body.startswith(memoryview(self.body)[: self.end])


class PrefixWatch:
    """Follows conversations by model and first user message, and notes each break.

    A request without an assistant message that extends nothing, or repeats a conversation's first
    request, begins a conversation of its own, so that equal questions of two sessions do not
    disturb each other.
    """

    def __init__(self) -> None:
        self.breaks: list[PrefixBreak] = []
        self._lanes: dict[str, list[_Lane]] = {}

    def note(self, number: int, raw: bytes, body: Body) -> int:
        """Take request `number`; returns how many bytes it shares with the one before it."""
        messages = body.values.get("messages")
        if not isinstance(messages, list):
            return 0
        lanes = self._lanes.setdefault(_identity(body.values, messages), [])
        start, end = body.spans.get("tools", (0, 0))
        fresh = _Lane(
            number=number, body=raw, end=body.spans["messages"][1] - 1, tools=raw[start:end]
        )
        opening = not any(_role(message) == "assistant" for message in messages)
        extended = [lane for lane in lanes if lane.extended_by(raw, fresh.tools)]
        if extended:
            previous = max(extended, key=lambda lane: lane.end)
            shared = common_prefix(previous.body, raw)
            if opening and previous.end == fresh.end:
                fresh.sessions = previous.sessions + 1
            elif previous.sessions > 1:
                previous.sessions -= 1
                lanes.append(fresh)
                return shared
            lanes[lanes.index(previous)] = fresh
            return shared
        if opening or not lanes:
            lanes.append(fresh)
            return 0
        previous = max(lanes, key=lambda lane: common_prefix(lane.body, raw))
        lanes[lanes.index(previous)] = fresh
        return self._note_break(previous, fresh)

    def _note_break(self, previous: _Lane, fresh: _Lane) -> int:
        shared = common_prefix(previous.body, fresh.body)
        begin = max(0, shared - _EXCERPT)
        self.breaks.append(
            PrefixBreak(
                request=fresh.number,
                previous=previous.number,
                offset=shared,
                was=previous.body[begin : shared + _EXCERPT],
                now=fresh.body[begin : shared + _EXCERPT],
            )
        )
        return shared


def common_prefix(one: bytes, other: bytes) -> int:
    """How many bytes `one` and `other` have in common at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _identity(values: Mapping[str, Any], messages: list[Any]) -> str:
    first = next((m.get("content") for m in messages if _role(m) == "user"), None)
    return json.dumps([values.get("model"), first])


def _role(message: object) -> object:
    return message.get("role") if isinstance(message, dict) else None
