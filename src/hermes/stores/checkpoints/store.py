"""The checkpoints of a home: what tools ask for before they change files, and what people see.

Implements `ports.checkpoint.Checkpoints` and `ports.undo.CheckpointHistory`.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import final

import anyio

from hermes.core.clock import Clock
from hermes.core.errors import StoreError, UserError
from hermes.core.ids import IdSource
from hermes.ports.checkpoint import ChangeOrigin, CommandWatch
from hermes.ports.files import Files
from hermes.ports.undo import ChangedFile, CheckpointRow, Pruned, Restored, WorkspaceRow
from hermes.stores.checkpoints import records
from hermes.stores.checkpoints.contents import Contents
from hermes.stores.checkpoints.database import Database
from hermes.stores.checkpoints.keep import MEBI, Keeper, Limits
from hermes.stores.checkpoints.plan import Request
from hermes.stores.checkpoints.prune import Bounds, clear, prune
from hermes.stores.checkpoints.records import Turn
from hermes.stores.checkpoints.restore import Restorer
from hermes.stores.checkpoints.snapshot import Snapshots
from hermes.stores.checkpoints.workspaces import Lister, Places, upwards
from hermes.system.config.sections import CheckpointsSection
from hermes.system.i18n import t
from hermes.system.paths import Home

log = logging.getLogger("hermes.stores")

SNAPSHOT_FILES = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How long and how much is kept, in seconds, bytes, and checkpoints of a workspace; `listed` is
    the most files of a workspace that a snapshot takes on."""

    limits: Limits
    age: float
    listed: int = SNAPSHOT_FILES


@final
class CheckpointStore:
    """Opened when it is first used; `aclose` lets go of its database."""

    def __init__(
        self,
        folder: Path,
        *,
        home: Path,
        user: Path | None,
        files: Files,
        keep: Keep,
        private: Sequence[str],
        env: Mapping[str, str],
        clock: Clock,
        ids: IdSource,
    ) -> None:
        self._database = Database(folder, f"{clock.now():.0f}")
        self._contents = Contents(self._database)
        self._places = Places(home, user)
        self._keeper = Keeper(
            self._database,
            self._contents,
            self._places,
            limits=keep.limits,
            private=private,
            clock=clock,
        )
        self._snapshots = Snapshots(self._keeper, Lister(self._places, env, keep.listed))
        self._restorer = Restorer(self._keeper, files)
        self._keep = keep
        self._clock = clock
        self._ids = ids

    async def aclose(self) -> None:
        await anyio.to_thread.run_sync(self._database.close)

    async def before(self, origin: ChangeOrigin, paths: Sequence[str]) -> None:
        try:
            await anyio.to_thread.run_sync(self._keeper.before, origin, paths)
        except StoreError:
            log.exception("the state before %s was not captured", origin.tool)

    async def after(self, origin: ChangeOrigin, left: Mapping[str, bytes | None]) -> None:
        try:
            await anyio.to_thread.run_sync(self._keeper.after, origin, dict(left))
        except StoreError:
            log.exception("the state after %s was not noted", origin.tool)

    async def command(self, origin: ChangeOrigin, command: str) -> CommandWatch | None:
        # lazy: the verbs that look at checkpoints parse no command, and its rules cost 60 ms
        from hermes.safety.commands.read_only import proven_read_only

        if proven_read_only(command):
            return None
        root = await anyio.to_thread.run_sync(self._places.of_folder, origin.cwd)
        try:
            if self._places.unwatched(root):
                gap = partial(self._keeper.gap, root, origin, "place", root)
                await anyio.to_thread.run_sync(gap)
                return None
            return await self._snapshots.begin(origin, root)
        except StoreError:
            log.exception("the state before a command was not captured")
            return None

    async def root(self, folder: str) -> str:
        def look() -> str:
            first = self._places.of_folder(folder)
            if not self._database.exists:
                return first
            with self._database.look() as db:
                for at in (first, *upwards(os.path.realpath(folder))):
                    id = records.find_workspace(db, at)
                    if id is not None and records.list_checkpoints(db, id):
                        return at
            return first

        return await anyio.to_thread.run_sync(look)

    async def workspaces(self) -> tuple[WorkspaceRow, ...]:
        def look() -> tuple[WorkspaceRow, ...]:
            with self._database.look() as db:
                return tuple(records.list_workspaces(db))

        return await anyio.to_thread.run_sync(look) if self._database.exists else ()

    async def checkpoints(self, root: str) -> tuple[CheckpointRow, ...]:
        def look() -> tuple[CheckpointRow, ...]:
            with self._database.look() as db:
                id = records.find_workspace(db, root)
                return () if id is None else tuple(records.list_checkpoints(db, id))

        return await anyio.to_thread.run_sync(look) if self._database.exists else ()

    async def files(self, root: str, number: int) -> tuple[ChangedFile, ...]:
        def look() -> tuple[ChangedFile, ...]:
            with self._database.look() as db:
                id = records.find_workspace(db, root)
                if id is None or not records.has_number(db, id, number):
                    raise UserError(
                        t("checkpoints.no_number", number=number, root=root),
                        hint=t("checkpoints.no_number_hint"),
                    )
                return tuple(f for _, f in records.files_of(db, id, first=number, last=number))

        return await anyio.to_thread.run_sync(look)

    async def content(self, sha256: bytes) -> bytes:
        return await anyio.to_thread.run_sync(self._contents.get, sha256)

    async def restore(
        self,
        root: str,
        number: int,
        *,
        paths: Sequence[str] = (),
        only: bool = False,
        overwrite: bool = False,
        dry_run: bool = False,
    ) -> Restored:
        request = Request(root=root, number=number, paths=paths, only=only, overwrite=overwrite)
        turn = Turn(self._ids.session(self._clock.now()), self._ids.turn())
        return await self._restorer.restore(request, turn=turn, dry_run=dry_run)

    async def prune(self, *, dry_run: bool, keep_orphans: bool) -> Pruned:
        """Take away what is older or more than is to be kept."""
        bounds = Bounds(
            oldest=self._clock.now() - self._keep.age,
            most_bytes=self._keep.limits.total,
            most_snapshots=self._keep.limits.snapshots,
            gone_roots=not keep_orphans,
        )

        def work() -> Pruned:
            if not dry_run:
                self._contents.sweep(self._clock.now())
            return prune(self._database, self._contents, bounds, dry_run=dry_run)

        return await anyio.to_thread.run_sync(work)

    async def clear(self) -> Pruned:
        """Take away everything."""
        return await anyio.to_thread.run_sync(clear, self._database, self._contents)


def open_store(
    home: Home,
    section: CheckpointsSection,
    *,
    files: Files,
    env: Mapping[str, str],
    clock: Clock,
    ids: IdSource,
) -> CheckpointStore:
    """The checkpoints of `home`, as configured; nothing of the home itself is ever captured."""
    limits = Limits(
        file=section.max_file_size_mb * MEBI,
        total=section.max_total_size_mb * MEBI,
        snapshots=section.max_snapshots,
    )
    return CheckpointStore(
        home.checkpoints,
        home=home.root,
        user=home.user,
        files=files,
        keep=Keep(limits=limits, age=section.retention_days * 86_400.0),
        private=(str(home.root),),
        env=env,
        clock=clock,
        ids=ids,
    )
