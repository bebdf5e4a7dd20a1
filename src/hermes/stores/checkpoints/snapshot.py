"""A workspace before a command: a look at every file, and the content of those not yet known.

A snapshot is what is known of a workspace at one moment. A row in `watch` holds that moment until
the command has ended, whoever changes what is known in between.
"""

import logging
import os
from collections.abc import Iterable
from typing import Final, final

import anyio
from anyio.from_thread import check_cancelled

from hermes.core.errors import StoreError
from hermes.ports.checkpoint import ChangeOrigin
from hermes.ports.undo import GapCode
from hermes.stores.checkpoints import observe, records
from hermes.stores.checkpoints.changes import Before, Changes
from hermes.stores.checkpoints.keep import Keeper
from hermes.stores.checkpoints.known import (
    BATCH_BYTES,
    BATCH_FILES,
    Known,
    KnownFiles,
    Missed,
    Stale,
    Workspace,
)
from hermes.stores.checkpoints.records import Turn
from hermes.stores.checkpoints.workspaces import Lister, Listing, NotListed
from hermes.system.i18n import t
from hermes.system.locks import process_identity

log = logging.getLogger("hermes.stores")

SNAPSHOT_SECONDS: Final = 3.0
STOPPED_SECONDS: Final = 0.5
"""The same after a command whose turn was stopped: stopped means over within a second."""

ATTEMPTS: Final = 3
_LOOK_UP: Final = 256


@final
class Watch:
    """A command under way; see `ports.checkpoint.CommandWatch`."""

    def __init__(
        self, snapshots: "Snapshots", origin: ChangeOrigin, root: str, listing: Listing
    ) -> None:
        self.origin = origin
        self.root = root
        self.listing = listing
        self.id = 0
        self.before: Before = {}
        self._snapshots = snapshots

    async def ended(self) -> None:
        await self._snapshots.end(self)


@final
class Snapshots:
    """Makes and ends watches, one at a time in this process."""

    def __init__(self, keeper: Keeper, lister: Lister) -> None:
        self._keeper = keeper
        self._lister = lister
        self._turn = anyio.Lock()
        self._known = KnownFiles(keeper)
        self._changes = Changes(keeper, self._known)

    async def begin(self, origin: ChangeOrigin, root: str) -> Watch | None:
        """Snapshot `root`; None if that cannot be, which is then noted. Raises StoreError."""
        async with self._turn:
            try:
                listing = await self._lister.list(root)
            except NotListed as e:
                gap = (e.code, e.detail)
                await anyio.to_thread.run_sync(self._keeper.gap, root, origin, *gap)
                return None
            watch = Watch(self, origin, root, listing)
            await anyio.to_thread.run_sync(self._begin, watch)
            return watch

    async def end(self, watch: Watch) -> None:
        """Note what has changed since `watch` began. Never raises."""
        stopped = anyio.current_effective_deadline() == float("-inf")
        seconds = STOPPED_SECONDS if stopped else SNAPSHOT_SECONDS
        try:
            with anyio.CancelScope(shield=True):
                async with self._turn:
                    listing = await self._list_again(watch)
                    await anyio.to_thread.run_sync(self._changes.note, watch, listing, seconds)
        except Exception:  # boundary: an undo that failed must not fail the command
            log.exception("a command's changes were not noted")

    async def _list_again(self, watch: Watch) -> Listing | None:
        try:
            return await self._lister.list(watch.root, by_git=watch.listing.by_git)
        except NotListed as e:
            gap = (e.code, e.detail)
            await anyio.to_thread.run_sync(self._keeper.gap, watch.root, watch.origin, *gap)
            return None

    # --- in a worker's thread -------------------------------------------------------------

    def _begin(self, watch: Watch) -> None:
        self._changes.recover(watch.root)
        deadline = self._keeper.clock.monotonic() + SNAPSHOT_SECONDS
        for _ in range(ATTEMPTS):
            try:
                workspace = self._known.load(watch.root)
                watch.before = self._take(workspace, watch.listing.names, deadline)
                self._register(workspace, watch)
            except Stale:
                self._known.drop(watch.root)
            else:
                return
        raise StoreError(t("checkpoints.contended", root=watch.root))

    def _take(
        self, workspace: Workspace, names: Iterable[bytes], deadline: float
    ) -> dict[bytes, Known | Missed]:
        before: dict[bytes, Known | Missed] = {}
        unread: list[tuple[bytes, bytes]] = []
        for i, name in enumerate(names):
            if i % _LOOK_UP == 0:
                check_cancelled()
            try:
                identity = observe.identity(os.lstat(workspace.top + name))
            except OSError:
                continue
            known = workspace.files.get(name)
            if known is not None and known.settled and known.identity == identity:
                before[name] = known
            else:
                unread.append((name, identity))
        gone = [name for name in workspace.files if name not in before]
        missed = {name for name, _ in unread}
        self._known.forget(workspace, [name for name in gone if name not in missed])
        self._read(workspace, unread, before, deadline)
        return before

    def _read(
        self,
        workspace: Workspace,
        unread: list[tuple[bytes, bytes]],
        before: dict[bytes, Known | Missed],
        deadline: float,
    ) -> None:
        keeper = self._keeper
        batch: dict[bytes, observe.Seen] = {}
        size = 0
        for name, identity in unread:
            check_cancelled()
            if keeper.clock.monotonic() > deadline:
                before[name] = Missed(identity, "late", "")
                continue
            path = workspace.top + name
            if keeper.is_private(os.fsdecode(path)):
                before[name] = Missed(identity, "private", "")
                continue
            seen = observe.look(path, limit=keeper.limits.file, now=keeper.clock.now())
            if seen.state is None:
                before[name] = Missed(identity, seen.reason or "unreadable", seen.detail)
            elif seen.state.kind != "nothing":
                batch[name] = seen
                size += len(seen.data)
            if len(batch) >= BATCH_FILES or size >= BATCH_BYTES:
                before |= self._known.remember(workspace, batch)
                batch, size = {}, 0
        before |= self._known.remember(workspace, batch)

    def _register(self, workspace: Workspace, watch: Watch) -> None:
        origin = watch.origin
        late = sum(
            isinstance(old, Missed) and old.reason == "late" for old in watch.before.values()
        )
        full = sum(
            isinstance(old, Missed) and old.reason == "store_full" for old in watch.before.values()
        )
        with self._keeper.database.change() as db:
            self._known.check(db, workspace)
            db.execute(
                "INSERT INTO watch (workspace, session, turn, tool, owner) VALUES (?, ?, ?, ?, ?)",
                (workspace.id, origin.session, origin.turn, origin.tool, str(process_identity())),
            )
            watch.id = db.last_insert_rowid()
            gaps: list[tuple[GapCode, str]] = [*watch.listing.gaps]
            gaps += [("late", str(late))] if late else []
            gaps += [("store_full", str(full))] if full else []
            if gaps:
                turn = Turn(origin.session, origin.turn)
                checkpoint = self._keeper.checkpoint(db, workspace.root, turn)
                for code, detail in gaps:
                    records.add_gap(db, checkpoint, origin.tool, code, detail)
