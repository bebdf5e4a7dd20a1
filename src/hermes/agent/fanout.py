"""One stream of events to any number of readers, none of whom can slow the turn."""

from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import anyio

from hermes.core.events import CallOutput, CallState, EntryAdded, Gap, SessionEvent, TextDelta
from hermes.core.ids import Seq

BUFFER = 2_000
"""Events that a reader may lag behind before it loses some."""


class Reader:
    """One reader's buffer. When it is full the deltas go first; then the entries, and a Gap says
    from where to read them again. Questions and ends are never dropped."""

    def __init__(self) -> None:
        self._events: deque[SessionEvent] = deque()
        self._awake = anyio.Event()
        self._last_seq = Seq(0)
        self._closed = False

    def put(self, event: SessionEvent) -> None:
        if len(self._events) >= BUFFER:
            self._shed()
        self._events.append(event)
        self._awake.set()

    def close(self) -> None:
        self._closed = True
        self._awake.set()

    def _shed(self) -> None:
        kept: deque[SessionEvent] = deque(
            e for e in self._events if not isinstance(e, TextDelta | CallState | CallOutput)
        )
        if len(kept) > BUFFER // 2:
            first = kept[0]
            kept = deque(e for e in kept if not isinstance(e, EntryAdded | Gap))
            kept.appendleft(
                Gap(
                    session=first.session,
                    turn=first.turn,
                    at=first.at,
                    resume_from=self._last_seq,
                )
            )
        self._events = kept

    def __aiter__(self) -> AsyncIterator[SessionEvent]:
        return self

    async def __anext__(self) -> SessionEvent:
        while not self._events:
            if self._closed:
                raise StopAsyncIteration
            self._awake = anyio.Event()
            await self._awake.wait()
        event = self._events.popleft()
        if isinstance(event, EntryAdded):
            self._last_seq = event.seq
        return event


class Fanout:
    """The readers of a session."""

    def __init__(self) -> None:
        self._readers: list[Reader] = []

    def emit(self, event: SessionEvent) -> None:
        for reader in self._readers:
            reader.put(event)

    def close(self) -> None:
        """Let every reader finish what it has, then end."""
        for reader in self._readers:
            reader.close()

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        reader = Reader()
        self._readers.append(reader)
        try:
            yield reader
        finally:
            self._readers.remove(reader)
