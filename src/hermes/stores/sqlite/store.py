"""`SqliteStore`: the conversations of a home in one SQLite file."""

import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar, final

import anyio
import anyio.to_thread
import apsw

from hermes.core.calls import Persisted, Press, ToolResult
from hermes.core.clock import Clock
from hermes.core.entries import AssistantEntry, Entry, ToolBatchEntry, UserEntry
from hermes.core.errors import Corrupt, StoreError
from hermes.core.ids import CallId, Seq, SessionId, TurnId
from hermes.core.people import Origin, Principal
from hermes.core.transcript import Epoch
from hermes.core.usage import Usage
from hermes.ports.store import Lease, Loaded, Queued, SessionRow, UsageRecord
from hermes.stores.sqlite import journal, leases, sessions
from hermes.stores.sqlite.connect import Durability, connect
from hermes.stores.sqlite.faults import DAMAGED, translate
from hermes.stores.sqlite.salvage import condemn
from hermes.stores.sqlite.writer import Change, Writer
from hermes.system import codec
from hermes.system.i18n import t
from hermes.system.locks import process_identity

T = TypeVar("T")
E = TypeVar("E", UserEntry, AssistantEntry, ToolBatchEntry)

_QUICK_BYTES: Final = 64_000
"""Larger entries are written by the worker: copying them would hold up the loop's thread."""


@final
class SqliteStore:
    """Implements `ports.store.Journal` and `ports.store.SessionStore`; made by `open`.

    For one event loop. Any number of processes may have a store on the same file.
    """

    def __init__(
        self,
        path: Path,
        connections: tuple[apsw.Connection, apsw.Connection],
        *,
        durability: Durability,
        clock: Clock,
    ) -> None:
        self._path = path
        db, self._reader = connections
        self._reading = threading.Lock()
        self._one_reader = anyio.CapacityLimiter(1)
        self._clock = clock
        self._me = process_identity()
        self._press = Press()
        self._heads = journal.Heads()
        self._held: dict[SessionId, Lease] = {}
        self._writer = Writer(db, path, durability=durability, condemn=self._condemn)

    @classmethod
    async def open(
        cls, path: Path, *, clock: Clock, durability: Durability = "normal"
    ) -> "SqliteStore":
        """The store in the file `path`, whose folder exists; the file is made if it does not.

        Raises SchemaTooNew (and then no byte was changed), Corrupt (a copy is kept beside it),
        NoSpace, StoreError.
        """
        stamp = _stamp(clock)
        connections = await anyio.to_thread.run_sync(
            lambda: connect(path, durability=durability, stamp=stamp)
        )
        return cls(path, connections, durability=durability, clock=clock)

    async def aclose(self) -> None:
        """Give back every lease, finish what was begun, close the file. May be called twice."""
        with anyio.CancelScope(shield=True):
            held, self._held = tuple(self._held.values()), {}
            # What cannot be written any more is given back by the death of this process.
            with suppress(StoreError):
                if held:
                    await self._writer.run(lambda db: leases.give_back_all(db, held))
            # The writer last: only a connection that may write clears the log away.
            await anyio.to_thread.run_sync(self._close_reader)
            await self._writer.aclose()

    def _close_reader(self) -> None:
        with self._reading:
            self._reader.close()

    def _condemn(self, error: apsw.Error) -> Corrupt:
        self._close_reader()
        return condemn(self._path, error, _stamp(self._clock))

    async def _read(self, question: Callable[[apsw.Connection], T]) -> T:
        """The answer to `question`, from one moment of the database, in a worker thread."""
        try:
            return await anyio.to_thread.run_sync(
                lambda: self._answer(question), limiter=self._one_reader
            )
        except DAMAGED as e:
            error = e

            def report(_: apsw.Connection) -> T:
                raise error

            # Raises Corrupt, now and for every change from now on.
            return await self._writer.run(report, quick=False)
        except apsw.ConnectionClosedError:
            # Closed, or condemned: the writer knows which.
            return await self._writer.run(question, quick=False)
        except apsw.Error as e:
            raise translate(e, self._path) from e

    def _answer(self, question: Callable[[apsw.Connection], T]) -> T:
        with self._reading:
            self._reader.execute("BEGIN")
            try:
                return question(self._reader)
            finally:
                self._reader.execute("COMMIT")

    # --- Journal ---------------------------------------------------------------------------

    async def _append(
        self,
        lease: Lease,
        entry: E,
        also: Callable[[apsw.Connection, leases.Held, Seq, E], None],
    ) -> Persisted[E]:
        entry, body = codec.pack_entry(entry)

        def change(db: apsw.Connection) -> Seq:
            session, seq = journal.append(db, self._heads, lease, entry, body)
            also(db, session, seq, entry)
            journal.follow(db, session, seq, entry)
            return seq

        seq = await self._writer.run(change, quick=len(body) <= _QUICK_BYTES)
        self._heads.keep(lease, seq, entry)
        return self._press.stamp(seq, entry, lease.fence)

    async def append_user(
        self, lease: Lease, entry: UserEntry, *, consumes: tuple[int, ...] = ()
    ) -> Persisted[UserEntry]:
        def also(db: apsw.Connection, session: leases.Held, _: Seq, __: UserEntry) -> None:
            journal.consume(db, session, consumes)

        return await self._append(lease, entry, also)

    async def append_assistant(
        self, lease: Lease, entry: AssistantEntry, *, usage: UsageRecord | None
    ) -> Persisted[AssistantEntry]:
        def also(
            db: apsw.Connection, session: leases.Held, seq: Seq, entry: AssistantEntry
        ) -> None:
            journal.commit_calls(db, session, seq, entry.calls)
            if usage is not None:
                journal.book(db, session, entry.turn, entry.at, entry.usage, usage)

        return await self._append(lease, entry, also)

    async def append_batch(
        self, lease: Lease, entry: ToolBatchEntry, *, consumes: tuple[int, ...] = ()
    ) -> Persisted[ToolBatchEntry]:
        def also(db: apsw.Connection, session: leases.Held, _: Seq, __: ToolBatchEntry) -> None:
            journal.seal(db, session)
            journal.consume(db, session, consumes)

        return await self._append(lease, entry, also)

    async def book(
        self, lease: Lease, turn: TurnId, at: float, usage: Usage, record: UsageRecord
    ) -> None:
        await self._writer.run(
            lambda db: journal.book(db, leases.held(db, lease), turn, at, usage, record)
        )

    async def mark_started(
        self, lease: Lease, batch: Persisted[AssistantEntry], call: CallId
    ) -> None:
        await self._writer.run(lambda db: journal.mark(db, lease, batch.seq, call, None))

    async def mark_settled(
        self, lease: Lease, batch: Persisted[AssistantEntry], result: ToolResult
    ) -> None:
        body = codec.pack_result(result)
        await self._writer.run(
            lambda db: journal.mark(db, lease, batch.seq, result.call, body),
            quick=len(body) <= _QUICK_BYTES,
        )

    async def enqueue(self, lease: Lease, item: Queued) -> int:
        body = codec.pack_input(item)
        return await self._writer.run(
            lambda db: journal.enqueue(db, lease, body), quick=len(body) <= _QUICK_BYTES
        )

    async def dequeue(self, lease: Lease, items: tuple[int, ...]) -> None:
        await self._writer.run(lambda db: journal.dequeue(db, lease, items))

    async def open_epoch(self, lease: Lease, epoch: Epoch) -> None:
        await self._writer.run(lambda db: journal.open_epoch(db, lease, epoch))

    async def move_head(self, lease: Lease, seq: Seq | None) -> None:
        await self._writer.run(lambda db: journal.move_head(db, self._heads, lease, seq))

    # --- SessionStore ----------------------------------------------------------------------

    async def create(
        self, id: SessionId, origin: Origin, *, cwd: str, epoch: Epoch, now: float
    ) -> Lease:
        return await self._own(
            lambda db: sessions.create(db, id, origin, cwd=cwd, epoch=epoch, now=now, me=self._me)
        )

    async def claim(self, id: SessionId) -> Lease:
        return await self._own(lambda db: leases.take(db, id, self._me))

    async def _own(self, change: Change[Lease]) -> Lease:
        lease = await self._writer.run(change)
        self._held[lease.session] = lease
        return lease

    async def load(self, lease: Lease) -> Loaded:
        def question(db: apsw.Connection) -> Loaded:
            leases.held(db, lease)
            key, row = sessions.row_of(db, lease.session)
            path = sessions.path(db, key)
            stamp, fence = self._press.stamp, lease.fence
            return Loaded(
                row=row,
                lease=lease,
                epoch=sessions.epoch_of(db, key),
                entries=tuple([stamp(seq, entry, fence) for seq, entry in path]),
                calls=sessions.open_calls(db, path),
                inbox=sessions.inbox_of(db, key),
            )

        return await self._read(lambda db: _readable(lease.session, lambda: question(db)))

    async def release(self, lease: Lease) -> None:
        self._heads.drop(lease)
        if self._held.get(lease.session) == lease:
            del self._held[lease.session]
        await self._writer.run(lambda db: leases.give_back(db, lease))

    async def list(
        self, principal: Principal, *, source: str | None = None, limit: int = 20
    ) -> tuple[SessionRow, ...]:
        return await self._read(lambda db: sessions.listed(db, principal, source, limit))

    async def find(self, principal: Principal, name: str) -> SessionRow:
        return await self._read(lambda db: sessions.find(db, principal, name))

    async def rename(self, id: SessionId, title: str) -> None:
        await self._writer.run(lambda db: sessions.rename(db, id, title))

    async def delete(self, id: SessionId) -> None:
        await self._writer.run(lambda db: sessions.delete(db, id, self._me), quick=False)

    async def read(self, id: SessionId) -> AsyncIterator[Persisted[Entry]]:
        def question(db: apsw.Connection) -> list[Persisted[Entry]]:
            key, fence = sessions.key_and_fence(db, id)
            return [self._press.stamp(seq, e, fence) for seq, e in sessions.path(db, key)]

        for receipt in await self._read(lambda db: _readable(id, lambda: question(db))):
            yield receipt

    async def spent(
        self, principal: Principal, *, session: SessionId | None = None, since: float = 0.0
    ) -> float:
        return await self._read(lambda db: sessions.spent(db, principal, session, since))


def _readable(id: SessionId, question: Callable[[], T]) -> T:
    try:
        return question()
    except codec.BadBytes as e:
        raise StoreError(t("store.unreadable", id=id, reason=e)) from e


def _stamp(clock: Clock) -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(clock.now()))
