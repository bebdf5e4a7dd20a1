"""What everything that captures is made of, and the one way to put captured files down."""

import errno
import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, final

import apsw
from msgspec import Struct

from hermes.core.clock import Clock
from hermes.core.errors import NoSpace, StoreError
from hermes.ports.checkpoint import ChangeOrigin
from hermes.ports.undo import FileState, GapCode
from hermes.stores.checkpoints import observe, records
from hermes.stores.checkpoints.contents import Contents
from hermes.stores.checkpoints.database import Database
from hermes.stores.checkpoints.prune import make_room
from hermes.stores.checkpoints.records import Turn, Was
from hermes.stores.checkpoints.workspaces import Places, is_below, real

MEBI: Final = 1 << 20
_TURNS_KEPT: Final = 64


class Limits(Struct, frozen=True, kw_only=True):
    """In bytes, and in checkpoints of a workspace."""

    file: int
    total: int
    snapshots: int


class Old(NamedTuple):
    """A file as it was seen before it changes."""

    path: str
    seen: observe.Seen
    new_folders: int


@final
class Keeper:
    """Captures files for a turn. `private` are paths that are never captured, and what is below
    them. Everything here blocks."""

    def __init__(
        self,
        database: Database,
        contents: Contents,
        places: Places,
        *,
        limits: Limits,
        private: Sequence[str],
        clock: Clock,
    ) -> None:
        self.database = database
        self.contents = contents
        self.places = places
        self.limits = limits
        self.clock = clock
        self._private = tuple(os.path.realpath(path) for path in private)
        # What this process captured in the last turns: the identity of what the tool left after.
        self._left: OrderedDict[Turn, dict[str, bytes]] = OrderedDict()

    def before(self, origin: ChangeOrigin, paths: Sequence[str]) -> None:
        """Capture `paths` unless the turn has; raises StoreError."""
        turn = Turn(origin.session, origin.turn)
        done = self._of(turn)
        roots: dict[str, list[Old]] = {}
        for path in map(real, paths):
            if path in done:
                self._again(origin, turn, path, done[path])
                continue
            old = Old(path, self._see(path), observe.missing_folders(os.fsencode(path)))
            roots.setdefault(self.places.of_file(path, origin.cwd), []).append(old)
        for root, files in roots.items():
            self.put(root, turn, origin.tool, files)
            done |= dict.fromkeys((old.path for old in files), b"")

    def after(self, origin: ChangeOrigin, left: dict[str, bytes | None]) -> None:
        """Note what was left; raises StoreError."""
        turn = Turn(origin.session, origin.turn)
        done = self._of(turn)
        now = self.clock.now()
        roots: dict[str, list[tuple[str, observe.Seen]]] = {}
        for raw, sha in left.items():
            path = real(raw)
            state, identity = self._left_state(path, sha, now)
            seen = observe.Seen(state=state, identity=identity)
            roots.setdefault(self.places.of_file(path, origin.cwd), []).append((path, seen))
            done[path] = identity
        with self.database.change() as db:
            for root, files in roots.items():
                checkpoint = self.checkpoint(db, root, turn)
                for path, seen in files:
                    if seen.state is not None:
                        records.set_left(db, checkpoint, os.fsencode(path), seen.state)

    def put(
        self,
        root: str,
        turn: Turn,
        tool: str,
        files: Sequence[Old],
        *,
        keep: int | None = None,
        also: Callable[[apsw.Connection, int], None] | None = None,
    ) -> int:
        """Put captured files into the turn's checkpoint; its row's id. Raises StoreError.

        What there is no space for is put down as not covered. No checkpoint from the row `keep`
        on has to go for it. `also` writes more about the checkpoint in the same transaction.
        """
        try:
            return self._put(root, turn, tool, files, keep, also)
        except (NoSpace, OSError) as e:
            if isinstance(e, OSError) and e.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise StoreError(str(e)) from e
        bare = [
            Old(old.path, observe.Seen(state=None, reason="store_full"), old.new_folders)
            if old.seen.data
            else old
            for old in files
        ]
        return self._put(root, turn, tool, bare, keep, also)

    def gap(self, root: str, origin: ChangeOrigin, code: GapCode, detail: str) -> None:
        """Put down that something is not covered; raises StoreError."""
        with self.database.change() as db:
            checkpoint = self.checkpoint(db, root, Turn(origin.session, origin.turn))
            records.add_gap(db, checkpoint, origin.tool, code, detail)

    def checkpoint(
        self, db: apsw.Connection, root: str, turn: Turn, *, surplus: bool = False
    ) -> int:
        """The turn's checkpoint in the workspace `root`, made if need be; with `surplus` even if
        that makes one too many."""
        now = self.clock.now()
        workspace = records.workspace_id(db, root, now)
        most = None if surplus else self.limits.snapshots
        return records.checkpoint_id(db, workspace, turn, now, most=most)

    def _put(
        self,
        root: str,
        turn: Turn,
        tool: str,
        files: Sequence[Old],
        keep: int | None,
        also: Callable[[apsw.Connection, int], None] | None,
    ) -> int:
        staged = [self._stage(old.seen) for old in files]
        dropped: list[bytes] = []
        try:
            with self.database.change() as db:
                checkpoint = self.checkpoint(db, root, turn, surplus=keep is not None)
                for old, path in zip(files, staged, strict=True):
                    was, names = self._fit(db, old, path, min(keep or checkpoint, checkpoint))
                    dropped += names
                    records.add_file(db, checkpoint, os.fsencode(old.path), tool, was)
                if also is not None:
                    also(db, checkpoint)
        finally:
            for path in staged:
                self.contents.discard(path)
        self.contents.drop_files(dropped)
        return checkpoint

    def _stage(self, seen: observe.Seen) -> Path | None:
        if seen.state is None or seen.state.sha256 is None:
            return None
        return self.contents.stage(seen.state.sha256, seen.data)

    def _fit(
        self, db: apsw.Connection, old: Old, staged: Path | None, keep: int
    ) -> tuple[Was, list[bytes]]:
        seen = old.seen
        dropped: list[bytes] = []
        if seen.state is not None and (sha := seen.state.sha256) is not None:
            if not self.contents.has(db, sha):
                size = len(seen.data)
                fits, dropped = make_room(db, self.contents, size, self.limits.total, keep)
                if not fits:
                    return Was(None, "store_full", str(size), old.new_folders), dropped
            self.contents.put(db, sha, seen.data, staged)
        inode = observe.inode(seen.identity)
        return Was(seen.state, seen.reason, seen.detail, old.new_folders, inode), dropped

    def _see(self, path: str) -> observe.Seen:
        if self.is_private(path):
            return observe.Seen(state=None, reason="private")
        return observe.look(os.fsencode(path), limit=self.limits.file, now=self.clock.now())

    def is_private(self, path: str) -> bool:
        return any(is_below(path, private) for private in self._private)

    def _left_state(
        self, path: str, sha: bytes | None, now: float
    ) -> tuple[FileState | None, bytes]:
        """What a tool left: by its own word for the content, by the disk for the rest."""
        if sha is None:
            return observe.NOTHING, b""
        try:
            found = os.lstat(path)
        except OSError:
            return FileState(kind="file", sha256=sha), b""
        if observe.is_file(found):
            state = FileState(
                kind="file", sha256=sha, size=found.st_size, mode=found.st_mode & 0o7777
            )
            return state, observe.identity(found)
        seen = observe.look(os.fsencode(path), limit=0, now=now)
        return seen.state, seen.identity

    def _again(self, origin: ChangeOrigin, turn: Turn, path: str, identity: bytes) -> None:
        """The turn changes a file once more: has somebody else in the meantime?"""
        if not identity:
            return
        try:
            if observe.identity(os.lstat(path)) == identity:
                return
        except OSError:
            pass
        seen = self._see(path)
        with self.database.change() as db:
            checkpoint = self.checkpoint(db, self.places.of_file(path, origin.cwd), turn)
            raw = os.fsencode(path)
            left = db.execute(
                "SELECT left_kind, left_sha, left_mode FROM file WHERE checkpoint = ? AND path = ?",
                (checkpoint, raw),
            ).fetchone()
            state = seen.state
            if left is not None and (
                state is None or left != (state.kind, state.sha256, state.mode)
            ):
                records.set_mixed(db, checkpoint, raw)

    def _of(self, turn: Turn) -> dict[str, bytes]:
        done = self._left.setdefault(turn, {})
        self._left.move_to_end(turn)
        if len(self._left) > _TURNS_KEPT:
            self._left.popitem(last=False)
        return done
