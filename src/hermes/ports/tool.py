"""What a tool is, and all that one may reach while it runs."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar, cast

from hermes.core.calls import Outcome
from hermes.core.errors import Bug
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.people import Origin
from hermes.core.transcript import ToolSchema

Effects = Literal["none", "reads", "writes", "world"]
"""`writes` changes the paths it `touches`; `world` may change anything (a shell, a message)."""

Arguments = Mapping[str, Any]
"""A call's decoded arguments; a tool checks their types itself and answers in words."""

S = TypeVar("S")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """The facts of a tool.

    `schema` is what models are told. `effects` decides what may run side by side. `result_chars`
    caps the text a model receives; the rest is spilled to a file. `denied` are keys of the result
    of a call that was not allowed, beside `error`.
    """

    schema: ToolSchema
    toolset: str
    effects: Effects
    result_chars: int = 100_000
    refunded: bool = False
    aliases: tuple[str, ...] = ()
    denied: Mapping[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.schema.name


class SessionState:
    """What tools of one session share: the working folder, and each tool's own notes."""

    def __init__(self, cwd: str) -> None:
        self.cwd = cwd
        self._notes: dict[type, object] = {}

    def of(self, kind: type[S]) -> S:
        """This session's `kind`, made empty when first asked for."""
        return cast(S, self._notes.setdefault(kind, kind()))


def _silent(_: str) -> None:
    return


async def _nobody(_: str, __: str) -> bool:
    return False


async def _no_tool(name: str, _: Arguments) -> str:
    raise Bug(f"{name} cannot be called from here")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """All that a call may reach; no globals.

    `touches` is what the tool said it would touch when the call was allowed; it may not change
    anything else. `progress` shows people what comes while the call runs, redacted by the caller;
    it is part of no answer. `call_tool` runs another tool as a part of this call, through the same
    guard, and returns all that it returned; `offered` are the tools of the session.
    `nested` says that code reads the answer, not a model.
    `ask` puts a question (in short, in full) to the person; silence, and nobody there, are a no.
    """

    session: SessionId
    turn: TurnId
    call: CallId
    origin: Origin
    state: SessionState
    touches: tuple[str, ...] = ()
    nested: bool = False
    progress: Callable[[str], None] = _silent
    ask: Callable[[str, str], Awaitable[bool]] = _nobody
    offered: frozenset[str] = frozenset()
    call_tool: Callable[[str, Arguments], Awaitable[str]] = _no_tool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """The JSON text a model will read, and whether the call did what was asked."""

    content: str
    outcome: Outcome = "ok"


class Tool(Protocol):
    """One tool. Cancelling `run` must leave nothing running and no half-written file."""

    @property
    def spec(self) -> ToolSpec: ...

    async def touches(self, arguments: Arguments, state: SessionState) -> tuple[str, ...]:
        """The canonical absolute paths this call reads or writes; empty if none is known.

        A folder stands for all below it. Raises ToolError for arguments that name no path; the
        call is answered with that and not run.
        """
        ...

    def summary(self, arguments: Arguments) -> str:
        """What this call would do, for people: all of it, as they may be asked to allow it."""
        ...

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        """Do it; raises ToolError for a failure that is not worth JSON keys of its own."""
        ...
