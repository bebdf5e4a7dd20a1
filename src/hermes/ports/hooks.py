"""Programs of the owner's that are told of what the loop does, and may judge a call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from hermes.core.ids import SessionId
from hermes.ports.tool import Arguments

HookEvent = Literal[
    "pre_tool_call",
    "post_tool_call",
    "pre_llm_call",
    "post_llm_call",
    "on_session_start",
    "on_session_end",
    "on_session_finalize",
]
"""Names are the reference's. `on_session_end` ends a turn, `on_session_finalize` a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookPayload:
    """What a hook is told. `tool` and `tool_input` belong to the two events of a call; `extra`
    holds what else the event has, as JSON values."""

    event: HookEvent
    session: SessionId
    cwd: str
    tool: str = ""
    tool_input: Arguments | None = None
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookAnswer:
    """What the hooks of an event said, all of them together.

    `deny` and `ask` (a person is to be asked, whatever a guard says) are for `pre_tool_call` alone;
    `message` is why, for the model and the person. `arguments` are those to call with instead of
    the model's, None if no hook changed any. `context` is for the model to read with the person's
    message. `notices` are for people: what failed, or did not run.
    """

    decision: Literal["pass", "ask", "deny"] = "pass"
    message: str = ""
    arguments: Arguments | None = None
    context: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


class Hooks(Protocol):
    """The hooks of a run."""

    def wants(self, event: HookEvent, tool: str = "") -> bool:
        """Whether any hook is to be told of `event`; costs nothing."""
        ...

    async def fire(self, payload: HookPayload) -> HookAnswer:
        """Run the hooks of an event, one after the other, each within its time.

        Never raises: a hook that fails denies if it was to judge, and is told of if not. Cancelling
        ends the running hook with all that came of it.
        """
        ...
