"""The session actor: one mailbox, one writer, one turn at a time.

Inputs that carry words are saved before they are acknowledged. Whatever arrives while a turn runs
is decided here; a turn only ever gets a steer, a redirect or an interrupt.
"""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from hermes.agent.fanout import Fanout
from hermes.agent.live import Live
from hermes.agent.turn import Turn
from hermes.core.events import EntryAdded, SessionEvent
from hermes.core.ids import Seq, SessionId, TurnId
from hermes.core.inputs import Answer, Interrupt, Redirect, SessionInput, Steer, Submit, Yolo
from hermes.core.people import HARNESS
from hermes.ports.guard import Bypass
from hermes.ports.model import Route
from hermes.ports.store import InboxItem

MAILBOX = 1_000


class Session:
    """One live conversation; see `ports.session.AgentSession`."""

    def __init__(self, live: Live, fanout: Fanout, waiting: tuple[InboxItem, ...]) -> None:
        self._live = live
        self._fanout = fanout
        self._queue: deque[InboxItem] = deque(waiting)
        self._notes: list[InboxItem] = []
        self._turn: Turn | None = None
        self._put, self._mailbox = anyio.create_memory_object_stream[
            InboxItem | Interrupt | Answer | Yolo
        ](MAILBOX)

    @property
    def id(self) -> SessionId:
        return self._live.id

    @property
    def route(self) -> Route:
        return self._live.conversation.route

    async def send(self, item: SessionInput) -> int:
        if not isinstance(item, Submit | Steer | Redirect):
            await self._put.send(item)
            return 0
        number = await self._live.parts.journal.enqueue(self._live.lease, item)
        await self._put.send(InboxItem(id=number, input=item))
        return number

    @asynccontextmanager
    async def events(
        self, *, after: Seq | None = None
    ) -> AsyncIterator[AsyncIterator[SessionEvent]]:
        with self._fanout.reader() as reader:
            for event in self._replay(after) if after is not None else ():
                reader.put(event)
            yield reader

    def _replay(self, after: Seq) -> list[EntryAdded]:
        return [
            EntryAdded(
                session=self.id,
                turn=TurnId(receipt.value.turn),
                at=receipt.value.at,
                seq=receipt.seq,
                entry=receipt.value,
            )
            for receipt in self._live.transcript.receipts()
            if receipt.seq > after
        ]

    async def run(self) -> None:
        """Serve the mailbox until cancelled; the running turn then ends as interrupted."""
        try:
            async with self._put, self._mailbox, anyio.create_task_group() as group:
                self._next(group)
                async for item in self._mailbox:
                    await self._accept(item, group)
        finally:
            self._fanout.close()

    async def _accept(self, item: InboxItem | Interrupt | Answer | Yolo, group: TaskGroup) -> None:
        match item:
            case Answer():
                self._live.questions.answer(item)
            case Yolo():
                self._live.state.of(Bypass).on = item.on
            case Interrupt():
                await self._stop()
            case InboxItem():
                self._take(item)
                self._next(group)

    def _take(self, item: InboxItem) -> None:
        turn = self._turn
        match item.input:
            case _ if turn is None:
                self._queue.append(item)
            case Steer() | Submit(busy="steer"):
                turn.steer(item)
            case Redirect() | Submit(busy="redirect"):
                turn.redirect(item)
            case Submit(busy="interrupt"):
                self._queue.append(item)
                turn.interrupt()
            case Submit():
                self._queue.append(item)

    async def _stop(self) -> None:
        """Stop the turn; messages that waited for it are taken back with it. Notes of Hermes
        itself wait for the next message: they neither get lost nor go on with what was stopped."""
        waiting = list(self._queue)
        self._queue.clear()
        if self._turn is not None:
            waiting += self._turn.take_back()
            self._turn.interrupt()
        self._notes += [item for item in waiting if item.input.origin == HARNESS]
        taken_back = tuple(item.id for item in waiting if item.input.origin != HARNESS)
        if taken_back:
            await self._live.parts.journal.dequeue(self._live.lease, taken_back)

    def _next(self, group: TaskGroup) -> None:
        if self._turn is None and self._queue:
            self._turn = Turn(self._live, self._queue.popleft())
            for note in self._notes:
                self._turn.steer(note)
            self._notes.clear()
            group.start_soon(self._serve, self._turn, group)

    async def _serve(self, turn: Turn, group: TaskGroup) -> None:
        try:
            await turn.run()
        finally:
            self._queue.extendleft(reversed(turn.take_back()))
            self._turn = None
        self._next(group)
