"""Tool calls, their results, and the receipt that lets a call run.

A call runs only from `Persisted[AssistantEntry]`. Only a journal, after COMMIT, holds the press
that stamps receipts, so "saved before run" is a matter of types and not of discipline.
"""

from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar, final

from hermes.core.errors import Bug
from hermes.core.ids import CallId, Seq

Outcome = Literal["ok", "failed", "denied", "cancelled", "unknown"]
"""`unknown` is honest after a crash: the call had started and nobody saw it end."""

Fault = Literal["cut", "malformed", "dropped", "too_long"]
"""Why a call's arguments cannot be used: cut by the output cap, not JSON, lost with the stream,
over the size limit. None of them ever becomes `{}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call as the model made it.

    `arguments` is the JSON text of an object, or the raw text when `fault` says why it is not.
    """

    id: CallId
    tool: str
    arguments: str
    fault: Fault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The one answer to a call; `content` is the very string the model reads."""

    call: CallId
    content: str
    outcome: Outcome


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@final
class Persisted(Generic[T_co]):
    """Proof that `value` is in the store, under which number and which fence."""

    __slots__ = ("fence", "seq", "value")

    def __init__(self, seq: Seq, value: T_co, fence: int, press: "Press") -> None:
        if not isinstance(press, Press):
            raise Bug("a receipt is made by a journal after COMMIT, and by nothing else")
        self.seq: Final = seq
        self.value: Final = value
        self.fence: Final = fence


@final
class Press:
    """The right to stamp receipts. A store creates one; ruff bans the name everywhere else."""

    __slots__ = ()

    def stamp(self, seq: Seq, value: T, fence: int) -> Persisted[T]:
        return Persisted(seq, value, fence, self)
