"""A saved batch of calls: who may run, readers together, writers in order, a result for each."""

import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import anyio
import msgspec

from hermes.agent import notes
from hermes.agent.hooks import CallHooks, stricter
from hermes.agent.limits import Parts
from hermes.agent.questions import Inquiry
from hermes.agent.results import blocked, budget, error, fit, refusal, settle
from hermes.core.calls import Persisted, ToolCall, ToolResult
from hermes.core.entries import AssistantEntry
from hermes.core.errors import HermesError, ToolError
from hermes.core.events import CallPhase
from hermes.core.ids import CallId, SessionId
from hermes.core.people import Origin
from hermes.core.text import clean
from hermes.core.usage import Usage
from hermes.ports.guard import ALLOW, NO, ONCE, Proposal, Verdict
from hermes.ports.store import Lease
from hermes.ports.tool import SessionState, Tool, ToolContext, ToolOutput
from hermes.system.i18n import t

log = logging.getLogger("hermes.agent")

Ask = Callable[[Inquiry], Awaitable[tuple[str, str]]]
"""Ask a person and wait; their choice, or the default, and their own wording of its rule."""

Show = Callable[[ToolCall, CallPhase, str, ToolResult | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A call that may run. `hooked`: the owner's hooks have seen it; `asked` is why one of them
    wants a person to be asked. `verdict` is what allowed it."""

    call: ToolCall
    tool: Tool
    arguments: Mapping[str, Any]
    touches: tuple[str, ...] = ()
    hooked: bool = False
    asked: str = ""
    verdict: Verdict = ALLOW

    def joins(self, other: "Planned") -> bool:
        """Whether this may run beside `other`, which was called before it: both only read, or
        neither changes what the other touches."""
        effects = {self.tool.spec.effects, other.tool.spec.effects}
        if effects <= {"none", "reads"} or effects == {"none", "writes"}:
            return True
        if "world" in effects or not self.touches or not other.touches:
            return False
        return not any(_within(a, b) or _within(b, a) for a in self.touches for b in other.touches)


class Dispatcher:
    """Runs the calls of one saved assistant entry. Its results survive cancellation: what had
    settled by then stays, the rest is answered as cancelled. `used` is what judging them used."""

    def __init__(
        self,
        parts: Parts,
        lease: Lease,
        batch: Persisted[AssistantEntry],
        *,
        state: SessionState,
        origin: Origin,
        ask: Ask,
        show: Show,
        tell: Callable[[ToolCall, str], None],
        note: Callable[[str], None],
        window: int | None = None,
    ) -> None:
        self._parts = parts
        self._lease = lease
        self._batch = batch
        self._state = state
        self._origin = origin
        self._ask = ask
        self._show = show
        self._tell = tell
        self._results: dict[CallId, ToolResult] = {}
        self._running: set[CallId] = set()
        self._offered: frozenset[str] = frozenset()
        self._nested = 0
        self._budget = budget(window)
        self.used = Usage()
        self._hooks = CallHooks(parts, lease.session, batch.value.turn, state, note)
        self.rewritten: list[str] = []

    async def run(self, session: SessionId, offered: frozenset[str]) -> None:
        """Run every call that may run; `offered` are the tools of this epoch."""
        self._offered = offered
        calls = self._batch.value.calls
        waiting = deque(p for call in calls if (p := self._plan(call, offered)) is not None)
        while waiting:
            await self._together(await self._segment(waiting), session)
        results = [self._results[call.id] for call in calls if call.id in self._results]
        for result in await fit(results, self._budget.step, self._parts.spill):
            self._results[result.call] = result

    async def _segment(self, waiting: deque[Planned]) -> list[Planned]:
        """Take off the calls that may be under way together, in their order.

        What a call touches is asked only now: the calls before it may have moved the session.
        """
        segment: list[Planned] = []
        while waiting:
            placed = await self._placed(waiting[0])
            if placed is not None and not all(placed.joins(other) for other in segment):
                break
            waiting.popleft()
            if placed is None:
                continue
            seen = placed if placed.hooked else await self._seen(placed)
            if seen is not None and seen.arguments is not placed.arguments:
                waiting.appendleft(seen)  # It may touch something else now.
            elif seen is not None:
                segment.append(seen)
        return segment

    async def _seen(self, planned: Planned) -> Planned | None:
        """The call as the owner's hooks want it, or None and their refusal is settled."""
        answer = await self._hooks.before(planned.call, planned.arguments)
        if answer.decision == "deny":
            self._done(planned.call, refusal(planned.call, answer.message, "denied"))
            return None
        if answer.arguments is not None:
            self.rewritten.append(
                notes.rewritten(planned.call.tool, planned.arguments, answer.arguments)
            )
        return replace(
            planned,
            hooked=True,
            asked=answer.message,
            arguments=planned.arguments if answer.arguments is None else answer.arguments,
        )

    async def _together(self, segment: list[Planned], session: SessionId) -> None:
        allowed = [admitted for p in segment if (admitted := await self._admit(p)) is not None]
        limiter = anyio.CapacityLimiter(self._parts.limits.parallel)
        if len(allowed) == 1:
            await self._execute(allowed[0], session, limiter)
            return
        async with anyio.create_task_group() as group:
            for planned in allowed:
                group.start_soon(self._execute, planned, session, limiter)

    def sealed(self) -> tuple[ToolResult, ...]:
        """A result for every call, in call order, whatever became of it."""
        return tuple(self._results.get(c.id) or self._cut(c) for c in self._batch.value.calls)

    @property
    def refunded(self) -> bool:
        """Whether this step is not to count."""
        tools = map(self._tool, (call.tool for call in self._batch.value.calls))
        return all(tool is not None and tool.spec.refunded for tool in tools)

    def _cut(self, call: ToolCall) -> ToolResult:
        ran = call.id in self._running
        return refusal(call, notes.INTERRUPTED if ran else notes.NEVER_RAN, "cancelled")

    def _plan(self, call: ToolCall, offered: frozenset[str]) -> Planned | None:
        """The call as it would run, or None and its refusal is settled."""
        tool = self._tool(call.tool)
        tool = tool if tool is not None and tool.spec.name in offered else None
        if tool is None:
            self._refuse(call, notes.unknown_tool(call.tool, tuple(sorted(offered))))
            return None
        if call.fault is not None:
            self._refuse(call, notes.fault(call.tool, call.fault))
            return None
        arguments: dict[str, Any] = json.loads(call.arguments)
        required = msgspec.json.decode(tool.spec.schema.parameters).get("required", [])
        if absent := [name for name in required if name not in arguments]:
            self._refuse(call, notes.missing(call.tool, absent))
            return None
        return Planned(call=call, tool=tool, arguments=arguments)

    def _tool(self, name: str) -> Tool | None:
        tools = self._parts.tools
        return tools.get(name) or next((t for t in tools.values() if name in t.spec.aliases), None)

    async def _placed(self, planned: Planned) -> Planned | None:
        """The call and what it touches, or None and its refusal is settled."""
        tool = planned.tool
        try:
            touches = await tool.touches(planned.arguments, self._state)
        except ToolError as e:
            self._refuse(planned.call, str(e))
            return None
        except Exception as e:  # boundary: one tool's words
            log.exception("tool %s cannot say what it touches", tool.spec.name)
            self._refuse(planned.call, notes.broke(tool.spec.name, e))
            return None
        return replace(planned, touches=touches)

    def _refuse(self, call: ToolCall, message: str) -> None:
        self._done(call, refusal(call, message, "failed"))

    async def _admit(self, planned: Planned) -> Planned | None:
        """The call with what allows it, or None and its refusal is settled."""
        guard, proposal = self._parts.guard, self._proposal(planned)
        verdict = stricter(await guard.judge(proposal), planned.asked)
        await self._book(verdict)
        if verdict.decision == "ask":
            choice, rule = await self._ask(self._inquiry(planned, verdict))
            verdict = await guard.answered(proposal, verdict, choice, rule)
        if verdict.decision == "allow":
            return replace(planned, verdict=verdict)
        self._deny(planned, verdict.reason)
        return None

    def _proposal(self, planned: Planned) -> Proposal:
        return Proposal(
            tool=planned.tool.spec,
            arguments=planned.arguments,
            state=self._state,
            origin=self._origin,
            session=self._lease.session,
            turn=self._batch.value.turn,
            touches=planned.touches,
        )

    def _inquiry(self, planned: Planned, verdict: Verdict) -> Inquiry:
        detail = self._summary(planned)
        self._show(planned.call, "waiting", detail, None)
        return Inquiry(
            text=t("turn.allow", tool=planned.call.tool),
            detail=f"{detail}\n{verdict.question}" if verdict.question else detail,
            choices=verdict.choices,
            default=NO,
            rule=verdict.rule,
        )

    async def _book(self, verdict: Verdict) -> None:
        for call in verdict.used:
            turn, now = self._batch.value.turn, self._parts.clock.now()
            await self._parts.journal.book(self._lease, turn, now, call.usage, call.record)
            self.used += call.usage

    def _deny(self, planned: Planned, reason: str) -> None:
        message = notes.denied(reason)
        self._done(planned.call, blocked(planned.call, planned.tool.spec, message))

    async def _execute(
        self,
        planned: Planned,
        session: SessionId,
        limiter: anyio.CapacityLimiter,
        *,
        saved: bool = True,
    ) -> None:
        async with limiter:
            call, spec = planned.call, planned.tool.spec
            if why := await self._parts.guard.drifted(self._proposal(planned), planned.verdict):
                self._deny(planned, why)
                return
            self._show(call, "running", self._summary(planned), None)
            lasting = saved and spec.effects in ("writes", "world")
            if lasting:
                await self._parts.journal.mark_started(self._lease, self._batch, call.id)
            self._running.add(call.id)
            start = anyio.current_time()
            output = await self._call(planned, session)
            if saved:
                result = await settle(call, output, spec, self._parts.spill, self._budget.result)
            else:
                # It goes to code, which wants it whole and in its shape.
                result = ToolResult(
                    call=call.id, content=clean(output.content), outcome=output.outcome
                )
            if lasting and len(self._batch.value.calls) > 1:
                await self._parts.journal.mark_settled(self._lease, self._batch, result)
            self._done(call, result)
        seconds = anyio.current_time() - start
        await self._hooks.after(call, planned.arguments, result, seconds)

    def _summary(self, planned: Planned) -> str:
        try:
            return self._parts.redact(planned.tool.summary(planned.arguments))
        except Exception:  # boundary: one tool's words
            log.exception("tool %s cannot say what it would do", planned.call.tool)
            return planned.call.tool

    async def _call(self, planned: Planned, session: SessionId) -> ToolOutput:
        context = ToolContext(
            session=session,
            turn=self._batch.value.turn,
            call=planned.call.id,
            origin=self._origin,
            state=self._state,
            touches=planned.touches,
            nested=planned.call not in self._batch.value.calls,
            progress=partial(self._tell, planned.call),
            ask=partial(self._ask_within_call, planned.call),
            offered=self._offered,
            call_tool=partial(self._within_call, planned.call, session),
        )
        try:
            return await planned.tool.run(planned.arguments, context)
        except ToolError as e:
            return ToolOutput(content=self._failure(str(e)), outcome="failed")
        except HermesError:
            raise
        except Exception as e:  # boundary: one tool call
            log.exception("tool %s failed", planned.call.tool)
            return ToolOutput(
                content=self._failure(notes.broke(planned.call.tool, e)), outcome="failed"
            )

    def _failure(self, words: str) -> str:
        return error(self._parts.redact(words))

    async def _ask_within_call(self, call: ToolCall, text: str, detail: str) -> bool:
        """Whether a person allows what a running call wants to do beyond what was allowed."""
        detail = self._parts.redact(detail)
        self._show(call, "waiting", detail, None)
        inquiry = Inquiry(text=text, detail=detail, choices=(ONCE, NO), default=NO)
        choice, _ = await self._ask(inquiry)
        return choice == ONCE

    async def _within_call(
        self, parent: ToolCall, session: SessionId, name: str, arguments: Mapping[str, Any]
    ) -> str:
        """The whole result of a call that the running call `parent` makes.

        It is judged and run as any other; it is not saved, since what it does is a part of what
        `parent` does, which is.
        """
        self._nested += 1
        text = clean(json.dumps(dict(arguments), ensure_ascii=False))
        call = ToolCall(id=CallId(f"{parent.id}.{self._nested}"), tool=name, arguments=text)
        planned = self._plan(call, self._offered)
        waiting = deque([planned] if planned is not None else ())
        for placed in await self._segment(waiting):
            if (allowed := await self._admit(placed)) is not None:
                await self._execute(allowed, session, anyio.CapacityLimiter(1), saved=False)
        return self._results.pop(call.id).content

    def _done(self, call: ToolCall, result: ToolResult) -> None:
        self._results[call.id] = result
        self._running.discard(call.id)
        self._show(call, "settled", "", result)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
