"""Opens sessions: a new one, or one as it was left, crash or not."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from hermes.agent.epochs import new_epoch, schemas
from hermes.agent.fanout import Fanout
from hermes.agent.hooks import finalize
from hermes.agent.limits import Parts
from hermes.agent.live import Live
from hermes.agent.questions import Questions
from hermes.agent.recover import recover
from hermes.agent.session import Session
from hermes.core.errors import StoreError
from hermes.core.ids import SessionId
from hermes.core.inputs import Steer
from hermes.core.people import HARNESS, Origin
from hermes.core.transcript import EpochReason, Transcript
from hermes.ports.model import ModelProvider
from hermes.ports.session import AgentSession
from hermes.ports.store import InboxItem, Lease, Loaded
from hermes.ports.tool import SessionState

log = logging.getLogger("hermes.agent")

RELEASE_SECONDS = 5.0


class Host:
    """The sessions of one process; see `ports.session.SessionHost`.

    `opened` is told of a session that begins or goes on, `forget` of one that closes, so that its
    processes end with it. `new_tools` says
    that the person chose the tools for this run: a resumed session then opens a new epoch.
    """

    def __init__(
        self,
        parts: Parts,
        provider: ModelProvider,
        *,
        opened: Callable[[SessionId], Awaitable[None]],
        forget: Callable[[SessionId], Awaitable[None]],
        new_tools: bool = False,
    ) -> None:
        self._parts = parts
        self._provider = provider
        self._opened = opened
        self._forget = forget
        self._live: dict[SessionId, Session] = {}
        self._new_tools = new_tools

    @asynccontextmanager
    async def open(
        self, id: SessionId | None, origin: Origin, *, cwd: str
    ) -> AsyncIterator[AgentSession]:
        session, lease = await (
            self._create(origin, cwd) if id is None else self._resume(id, origin, cwd)
        )
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(session.run)
                self._live[session.id] = session
                try:
                    await self._opened(session.id)
                    yield session
                finally:
                    del self._live[session.id]
                    group.cancel_scope.cancel()
        finally:
            await finalize(self._parts, lease.session, origin, cwd)
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + RELEASE_SECONDS):
                await self._forget(lease.session)
                await self._parts.store.release(lease)

    async def tell(self, session: SessionId, text: str) -> bool:
        """Put a note of Hermes itself into an open session: read with the next tool results, or a
        turn of its own. Saved when this returns true; false if the session is not open, or its
        store failed, which is logged."""
        if (live := self._live.get(session)) is None:
            return False
        try:
            await live.send(Steer(text=text, origin=HARNESS))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            # It closed meanwhile, with the note in its inbox.
            return True
        except StoreError as e:
            log.warning("a note was not put into session %s: %s", session, e)
            return False
        return True

    async def _create(self, origin: Origin, cwd: str) -> tuple[Session, Lease]:
        now = self._parts.clock.now()
        id = self._parts.ids.session(now)
        epoch = new_epoch(self._parts, 1, "new", origin, cwd)
        lease = await self._parts.store.create(id, origin, cwd=cwd, epoch=epoch, now=now)
        return self._session(lease, Transcript(epoch), origin, cwd, ()), lease

    async def _resume(self, id: SessionId, origin: Origin, cwd: str) -> tuple[Session, Lease]:
        lease = await self._parts.store.claim(id)
        try:
            loaded = await self._parts.store.load(lease)
            loaded = await recover(self._parts.journal, loaded, self._parts.clock.now())
            epoch = loaded.epoch
            if reason := self._stale(loaded, cwd):
                epoch = new_epoch(self._parts, epoch.number + 1, reason, origin, cwd)
                await self._parts.journal.open_epoch(lease, epoch)
            transcript = Transcript(epoch, loaded.entries)
            return self._session(lease, transcript, origin, cwd, loaded.inbox), lease
        except BaseException:
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + RELEASE_SECONDS):
                await self._parts.store.release(lease)
            raise

    def _stale(self, loaded: Loaded, cwd: str) -> EpochReason | None:
        """Why a stored epoch cannot go on, or None: the prefix stays byte for byte."""
        epoch = loaded.epoch
        if epoch.model != self._parts.model:
            return "model"
        if self._new_tools and epoch.tools != schemas(self._parts):
            return "explicit"
        if loaded.row.cwd != cwd:
            # The prompt names the folder that the tools work in.
            return "explicit"
        return None

    def _session(
        self,
        lease: Lease,
        transcript: Transcript,
        origin: Origin,
        cwd: str,
        waiting: tuple[InboxItem, ...],
    ) -> Session:
        fanout = Fanout()
        live = Live(
            id=lease.session,
            parts=self._parts,
            lease=lease,
            transcript=transcript,
            conversation=self._provider.open(transcript.epoch),
            state=SessionState(cwd),
            questions=Questions(),
            origin=origin,
            emit=fanout.emit,
        )
        return Session(live, fanout, waiting)
