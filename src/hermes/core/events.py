"""The one stream out of a session: what every surface shows.

Only `EntryAdded` is durable, and only it has a sequence number. A reader that falls behind loses
deltas, gets a `Gap`, and folds again from the store.
"""

from dataclasses import dataclass
from typing import Literal

from hermes.core.calls import Outcome
from hermes.core.entries import Entry
from hermes.core.ids import CallId, Seq, SessionId, TurnId
from hermes.core.usage import Usage

Channel = Literal["answer", "thinking"]
CallPhase = Literal["waiting", "running", "settled"]
EndReason = Literal[
    "finished", "interrupted", "steps", "budget", "loop", "blank", "refused", "failed"
]
"""Why a turn ended. Only `finished` is success."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Common to all: whose event, of which turn, when (seconds since the epoch)."""

    session: SessionId
    turn: TurnId
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(Event):
    """A submitted input became a turn; `input` is the number that `send` returned for it."""

    input: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryAdded(Event):
    """An entry is in the store."""

    seq: Seq
    entry: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(Event):
    """More of a reply that is still being made."""

    text: str
    channel: Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltasDropped(Event):
    """The deltas since the last entry do not count: the request is being made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallState(Event):
    """A call moved on. `summary` is all it would do, redacted; `outcome` comes once settled."""

    call: CallId
    tool: str
    phase: CallPhase
    summary: str = ""
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutput(Event):
    """What a running call prints, redacted; of a flood only the newest lines."""

    call: CallId
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Event):
    """Something only a person can decide. Silence until `deadline` seconds takes `default`.

    `rule` is what the choice `always` would save, word for word.
    """

    id: str
    text: str
    detail: str
    choices: tuple[str, ...]
    default: str
    deadline: float
    rule: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionClosed(Event):
    """A question was answered, on whichever surface came first, or timed out."""

    id: str
    choice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(Event):
    """Progress for people (a retry, a fallback); never part of an answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded(Event):
    """The turn is over and all is quiet. `text` is for the person: the answer, or the plain reason
    why there is none. `detail` is the reason in words when `why` is not `finished`."""

    why: EndReason
    text: str
    detail: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap(Event):
    """This reader was too slow: fold again from the store, from `resume_from` on."""

    resume_from: Seq


SessionEvent = (
    TurnStarted
    | EntryAdded
    | TextDelta
    | DeltasDropped
    | CallState
    | CallOutput
    | Question
    | QuestionClosed
    | Notice
    | TurnEnded
    | Gap
)
