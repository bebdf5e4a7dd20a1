"""Tool calls without a model: the same journal, guard, dispatcher and results as a turn's."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio

from hermes.agent.dispatch import Ask, Dispatcher
from hermes.agent.epochs import new_epoch
from hermes.agent.limits import Parts
from hermes.agent.questions import Inquiry
from hermes.core.calls import ToolCall, ToolResult
from hermes.core.content import Text
from hermes.core.entries import AssistantEntry, ToolBatchEntry, UserEntry
from hermes.core.ids import SessionId
from hermes.core.people import Origin
from hermes.core.text import clean
from hermes.core.usage import Usage
from hermes.ports.store import Lease
from hermes.ports.tool import SessionState

CLOSING_SECONDS = 5.0


class DirectCalls:
    """One session whose calls come from outside, one at a time."""

    def __init__(
        self, parts: Parts, lease: Lease, state: SessionState, origin: Origin, ask: Ask
    ) -> None:
        self._parts = parts
        self._lease = lease
        self._state = state
        self._origin = origin
        self._ask = ask
        self._turn = parts.ids.turn()
        self._offered = frozenset(parts.tools)

    async def begin(self) -> None:
        """Save what these calls are for."""
        entry = UserEntry(
            turn=self._turn,
            at=self._parts.clock.now(),
            content=(Text(text="tools call"),),
            origin=self._origin,
        )
        await self._parts.journal.append_user(self._lease, entry)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The very JSON string that a model would receive for this call."""
        call = ToolCall(
            id=self._parts.ids.call(),
            tool=clean(tool),
            arguments=_text(arguments),
        )
        entry = AssistantEntry(
            turn=self._turn,
            at=self._parts.clock.now(),
            content=(),
            calls=(call,),
            model=self._parts.model,
            usage=Usage(),
            stop="calls",
        )
        saved = await self._parts.journal.append_assistant(self._lease, entry, usage=None)
        dispatcher = Dispatcher(
            self._parts,
            self._lease,
            saved,
            state=self._state,
            origin=self._origin,
            ask=self._ask,
            show=lambda *_: None,
            tell=lambda *_: None,
            note=lambda _: None,
        )
        try:
            await dispatcher.run(self._lease.session, self._offered)
        finally:
            results = dispatcher.sealed()
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLOSING_SECONDS):
                await self._seal(results)
        return results[0].content

    async def _seal(self, results: tuple[ToolResult, ...]) -> None:
        entry = ToolBatchEntry(turn=self._turn, at=self._parts.clock.now(), results=results)
        await self._parts.journal.append_batch(self._lease, entry)


def _text(arguments: Mapping[str, Any]) -> str:
    """The JSON of `arguments`; half a character stays as the escape that it came as."""
    text = json.dumps(dict(arguments), ensure_ascii=False)
    return text if clean(text) == text else json.dumps(dict(arguments))


async def nobody(inquiry: Inquiry) -> tuple[str, str]:
    """Answers as silence does."""
    return inquiry.default, ""


async def everything(inquiry: Inquiry) -> tuple[str, str]:
    """Allows each call that is asked about, this once."""
    return inquiry.choices[0], ""


@asynccontextmanager
async def direct(
    parts: Parts,
    origin: Origin,
    *,
    cwd: str,
    forget: Callable[[SessionId], Awaitable[None]],
    ask: Ask = nobody,
) -> AsyncIterator[DirectCalls]:
    """A new session for direct calls; its processes end with it."""
    now = parts.clock.now()
    epoch = new_epoch(parts, 1, "new", origin, cwd)
    lease = await parts.store.create(parts.ids.session(now), origin, cwd=cwd, epoch=epoch, now=now)
    try:
        calls = DirectCalls(parts, lease, SessionState(cwd), origin, ask)
        await calls.begin()
        yield calls
    finally:
        with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLOSING_SECONDS):
            await forget(lease.session)
            await parts.store.release(lease)
