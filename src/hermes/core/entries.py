"""The one message model: what was said, in the order it was said.

Roles alternate by construction: a user entry, then an assistant entry, then (if it made calls) one
sealed batch with a result for each call, then an assistant entry again.
"""

from dataclasses import dataclass
from typing import Literal

from hermes.core.calls import ToolCall, ToolResult
from hermes.core.content import Part, visible
from hermes.core.ids import TurnId
from hermes.core.people import Origin
from hermes.core.usage import Usage

Stop = Literal["end", "calls", "length", "refused", "blank", "cancelled"]
"""Why a reply ended. `blank`: the model said nothing. `cancelled`: Hermes or a person ended it, and
the text is what had been said by then, or one fixed line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserEntry:
    """What a person said, or (origin HARNESS) what Hermes asks in their place."""

    turn: TurnId
    at: float
    content: tuple[Part, ...]
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantEntry:
    """One reply of a model, whole or cut short; `model` is the route that made it."""

    turn: TurnId
    at: float
    content: tuple[Part, ...]
    calls: tuple[ToolCall, ...] = ()
    model: str
    usage: Usage
    stop: Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBatchEntry:
    """All results of one assistant entry, in call order.

    `steer` is what a person said meanwhile, `notice` what Hermes must tell the model; both ride
    here so that they can never come between a call and its result.
    """

    turn: TurnId
    at: float
    results: tuple[ToolResult, ...]
    steer: str = ""
    notice: str = ""


Entry = UserEntry | AssistantEntry | ToolBatchEntry


def misplaced(previous: Entry | None, entry: Entry) -> str | None:
    """Why `entry` cannot follow `previous`, or None if it can."""
    match previous, entry:
        case (None | AssistantEntry(calls=()), UserEntry()):
            return None
        case (UserEntry() | ToolBatchEntry(), AssistantEntry()):
            return None
        case (AssistantEntry(calls=calls), ToolBatchEntry(results=results)) if calls:
            wanted, given = [c.id for c in calls], [r.call for r in results]
            return None if wanted == given else f"results {given} do not answer calls {wanted}"
        case _:
            return f"{type(entry).__name__} cannot follow {type(previous).__name__}"


def said(entry: Entry) -> str:
    """The visible text of `entry`; for a batch, what was steered into it."""
    return entry.steer if isinstance(entry, ToolBatchEntry) else visible(entry.content)
