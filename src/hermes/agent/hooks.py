"""Where the loop tells the owner's hooks what it does: around calls, and around a turn.

What a hook adds for the model becomes part of the entry that is saved next, and of nothing else.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final

import anyio

from hermes.agent.ending import Ending
from hermes.agent.limits import Parts
from hermes.agent.live import Live
from hermes.core.calls import ToolCall, ToolResult
from hermes.core.ids import SessionId, TurnId
from hermes.core.inputs import Redirect, Steer, Submit
from hermes.core.people import Origin
from hermes.ports.guard import Verdict
from hermes.ports.hooks import HookAnswer, HookEvent, HookPayload
from hermes.ports.tool import Arguments, SessionState
from hermes.system.i18n import t

PASS: Final = HookAnswer()

STOPPED_SECONDS: Final = 0.5
"""How long the hooks of a turn's end may take after a stop: stopped means quiet."""

SAVING_SECONDS: Final = 5.0
CLOSING_SECONDS: Final = 3.0

Note = Callable[[str], None]
"""Tells people something that is not part of an answer."""


class CallHooks:
    """The hooks around the calls of one turn."""

    def __init__(
        self, parts: Parts, session: SessionId, turn: TurnId, state: SessionState, note: Note
    ) -> None:
        self._hooks = parts.hooks
        self._session = session
        self._turn = turn
        self._state = state
        self._note = note

    async def before(self, call: ToolCall, arguments: Arguments) -> HookAnswer:
        """What the hooks say of a call that wants to run."""
        if self._hooks is None or not self._hooks.wants("pre_tool_call", call.tool):
            return PASS
        return await self._fire("pre_tool_call", call, arguments, {})

    async def after(
        self, call: ToolCall, arguments: Arguments, result: ToolResult, seconds: float
    ) -> None:
        """Tell the hooks of a call that has run."""
        if self._hooks is None or not self._hooks.wants("post_tool_call", call.tool):
            return
        extra: dict[str, object] = {
            "result": result.content,
            "duration_ms": round(seconds * 1000),
            "status": "ok" if result.outcome == "ok" else "error",
        }
        await self._fire("post_tool_call", call, arguments, extra)

    async def _fire(
        self, event: HookEvent, call: ToolCall, arguments: Arguments, extra: Mapping[str, object]
    ) -> HookAnswer:
        if self._hooks is None:
            return PASS
        payload = HookPayload(
            event=event,
            session=self._session,
            cwd=self._state.cwd,
            tool=call.tool,
            tool_input=arguments,
            extra={"tool_call_id": call.id, "turn_id": self._turn, **extra},
        )
        answer = await self._hooks.fire(payload)
        for notice in answer.notices:
            self._note(notice)
        return answer


class TurnHooks:
    """The hooks around one turn, which answers `said`."""

    def __init__(
        self, live: Live, turn: TurnId, said: Submit | Steer | Redirect, note: Note
    ) -> None:
        self._live = live
        self._hooks = live.parts.hooks
        self._turn = turn
        self._text = said.text
        self._note = note
        self._platform = said.origin.surface
        self._ending = anyio.CancelScope()

    def stop(self) -> None:
        """End the hooks of the turn's end, if they are running."""
        self._ending.cancel()

    async def begin(self, hear: Callable[[str], Awaitable[None]]) -> None:
        """Have `hear` save the person's message with what the hooks add to it.

        If the turn is stopped meanwhile, the message is saved as it came.
        """
        try:
            context = await self._context()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + SAVING_SECONDS):
                await hear("")
            raise
        await hear(context)

    async def _context(self) -> str:
        first = self._live.transcript.last is None
        if first:
            await self._fire("on_session_start", {})
        extra = {"user_message": self._text, "is_first_turn": first}
        answer = await self._fire("pre_llm_call", extra)
        return framed("\n\n".join(answer.context)) if answer.context else ""

    async def end(self, ending: Ending) -> None:
        """Tell the hooks how the turn ended; nothing cancels this but its time and `stop`."""
        stopped = ending.why == "interrupted"
        if stopped:
            self._ending.deadline = anyio.current_time() + STOPPED_SECONDS
        self._ending.shield = True
        with self._ending:
            if ending.why == "finished":
                said = {"user_message": self._text, "assistant_response": ending.text}
                await self._fire("post_llm_call", said)
            extra = {
                "completed": ending.why == "finished",
                "interrupted": stopped,
                "failed": ending.why not in ("finished", "interrupted"),
                "turn_exit_reason": ending.why,
            }
            await self._fire("on_session_end", extra)

    async def _fire(self, event: HookEvent, extra: Mapping[str, object]) -> HookAnswer:
        if self._hooks is None or not self._hooks.wants(event):
            return PASS
        about = {
            "turn_id": self._turn,
            "model": self._live.conversation.route.model,
            "platform": self._platform,
        }
        payload = HookPayload(
            event=event,
            session=self._live.id,
            cwd=self._live.state.cwd,
            extra={**about, **extra},
        )
        answer = await self._hooks.fire(payload)
        for notice in answer.notices:
            self._note(notice)
        return answer


async def finalize(parts: Parts, session: SessionId, origin: Origin, cwd: str) -> None:
    """Tell the hooks that a session closes; within CLOSING_SECONDS, and nobody is there to hear
    what they say."""
    event: HookEvent = "on_session_finalize"
    if parts.hooks is None or not parts.hooks.wants(event):
        return
    extra = {"platform": origin.surface, "reason": f"{origin.surface}_close"}
    payload = HookPayload(event=event, session=session, cwd=cwd, extra=extra)
    with anyio.move_on_after(CLOSING_SECONDS, shield=True):
        await parts.hooks.fire(payload)


def stricter(verdict: Verdict, asked: str) -> Verdict:
    """`verdict`, but a person is asked if a hook wants that (`asked` is why)."""
    if not asked or verdict.decision == "deny":
        return verdict
    question = "\n".join(filter(None, (verdict.question, asked)))
    return replace(
        verdict, decision="ask", question=question, reason=verdict.reason or t("turn.nobody")
    )


def framed(context: str) -> str:
    """What hooks add to a person's message, set off from it."""
    inner = context.replace("</hook_context", "<\\/hook_context")
    return f"\n\n<hook_context>\n{inner}\n</hook_context>"
