"""A saved batch of calls: who may run, readers together, writers in order, a result for each."""

import json
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio

from hermes.agent import notes
from hermes.agent.limits import Parts
from hermes.agent.results import error, refusal, settle
from hermes.core.calls import Persisted, ToolCall, ToolResult
from hermes.core.entries import AssistantEntry
from hermes.core.errors import HermesError, ToolError
from hermes.core.events import CallPhase
from hermes.core.ids import CallId, SessionId
from hermes.core.people import Origin
from hermes.ports.store import Lease
from hermes.ports.tool import SessionState, Tool, ToolContext, ToolOutput
from hermes.system.i18n import t

log = logging.getLogger("hermes.agent")

Ask = Callable[[str, str], Awaitable[bool]]
"""Ask a person (question, detail) and wait; true only for an explicit yes."""

Show = Callable[[ToolCall, CallPhase, str, ToolResult | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A call that may run."""

    call: ToolCall
    tool: Tool
    arguments: Mapping[str, Any]
    touches: tuple[str, ...] = ()

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
    settled by then stays, the rest is answered as cancelled."""

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
    ) -> None:
        self._parts = parts
        self._lease = lease
        self._batch = batch
        self._state = state
        self._origin = origin
        self._ask = ask
        self._show = show
        self._results: dict[CallId, ToolResult] = {}
        self._running: set[CallId] = set()

    async def run(self, session: SessionId, offered: frozenset[str]) -> None:
        """Run every call that may run; `offered` are the tools of this epoch."""
        calls = self._batch.value.calls
        waiting = deque(p for call in calls if (p := self._plan(call, offered)) is not None)
        while waiting:
            await self._together(await self._segment(waiting), session)

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
            if placed is not None:
                segment.append(placed)
        return segment

    async def _together(self, segment: list[Planned], session: SessionId) -> None:
        allowed = [p for p in segment if await self._admit(p)]
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

    def _cut(self, call: ToolCall) -> ToolResult:
        ran = call.id in self._running
        return refusal(call, notes.INTERRUPTED if ran else notes.NEVER_RAN, "cancelled")

    def _plan(self, call: ToolCall, offered: frozenset[str]) -> Planned | None:
        """The call as it would run, or None and its refusal is settled."""
        tool = self._parts.tools.get(call.tool) if call.tool in offered else None
        if tool is None:
            self._refuse(call, notes.unknown_tool(call.tool, tuple(sorted(offered))))
            return None
        if call.fault is not None:
            self._refuse(call, notes.fault(call.tool, call.fault))
            return None
        arguments: dict[str, Any] = json.loads(call.arguments)
        required = json.loads(tool.spec.schema.parameters).get("required", [])
        if absent := [name for name in required if name not in arguments]:
            self._refuse(call, notes.missing(call.tool, absent))
            return None
        return Planned(call=call, tool=tool, arguments=arguments)

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

    async def _admit(self, planned: Planned) -> bool:
        verdict = self._parts.guard.judge(
            planned.tool,
            planned.arguments,
            self._state,
            self._origin,
            touches=planned.touches,
        )
        if verdict.decision == "allow":
            return True
        reason = verdict.reason
        if verdict.decision == "ask":
            detail = self._summary(planned)
            self._show(planned.call, "waiting", detail, None)
            question = t("turn.allow", tool=planned.call.tool)
            if verdict.question:
                detail = f"{detail}\n{verdict.question}"
            if await self._ask(question, detail):
                return True
            reason = t("turn.refused") if self._origin.person else verdict.reason
        self._done(planned.call, refusal(planned.call, notes.denied(reason), "denied"))
        return False

    async def _execute(
        self, planned: Planned, session: SessionId, limiter: anyio.CapacityLimiter
    ) -> None:
        async with limiter:
            call, spec = planned.call, planned.tool.spec
            self._show(call, "running", self._summary(planned), None)
            if spec.effects in ("writes", "world"):
                await self._parts.journal.mark_started(self._lease, self._batch, call.id)
            self._running.add(call.id)
            output = await self._call(planned, session)
            result = await settle(call, output, spec, self._parts.spill)
            if len(self._batch.value.calls) > 1 and spec.effects in ("writes", "world"):
                await self._parts.journal.mark_settled(self._lease, self._batch, result)
            self._done(call, result)

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
        )
        try:
            return await planned.tool.run(planned.arguments, context)
        except ToolError as e:
            return ToolOutput(content=error(str(e)), outcome="failed")
        except HermesError:
            raise
        except Exception as e:  # boundary: one tool call
            log.exception("tool %s failed", planned.call.tool)
            return ToolOutput(content=error(notes.broke(planned.call.tool, e)), outcome="failed")

    def _done(self, call: ToolCall, result: ToolResult) -> None:
        self._results[call.id] = result
        self._running.discard(call.id)
        self._show(call, "settled", "", result)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
