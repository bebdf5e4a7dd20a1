"""The last state in which each file of a workspace was seen, so that only what changed is read."""

import os
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, final

import apsw

from hermes.ports.undo import FileState, NotCovered, StateKind
from hermes.stores.checkpoints import observe, records
from hermes.stores.checkpoints.keep import Keeper
from hermes.stores.checkpoints.prune import has_room

BATCH_FILES: Final = 250
BATCH_BYTES: Final = 4 << 20


class Known(NamedTuple):
    """A file as it was last read; its content is in the store. Columns of `known` and `held`."""

    identity: bytes
    settled: bool
    kind: str
    sha: bytes
    size: int
    mode: int

    @property
    def state(self) -> FileState:
        kind: StateKind = "link" if self.kind == "link" else "file"
        return FileState(kind=kind, sha256=self.sha, size=self.size, mode=self.mode)


class Missed(NamedTuple):
    """A file that was there and is not covered."""

    identity: bytes
    reason: NotCovered
    detail: str


Before = Mapping[bytes, Known | Missed]


class Stale(Exception):
    """Somebody else has changed what is known of the workspace; begin again."""


class Workspace:
    """What this process holds of `known`; right as long as `version` is the row's."""

    def __init__(self, root: str, id: int, version: int, files: dict[bytes, Known]) -> None:
        self.root = root
        self.top = os.fsencode(root).rstrip(b"/") + b"/"
        self.id = id
        self.version = version
        self.files = files


@final
class KnownFiles:
    """What this process holds of the table `known`. Everything here blocks and raises StoreError;
    a change raises Stale if another process came between, and then nothing of it was done."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._held: dict[str, Workspace] = {}

    def load(self, root: str) -> Workspace:
        """The workspace as it is known now."""
        with self._keeper.database.change() as db:
            id = records.workspace_id(db, root, self._keeper.clock.now())
            version = _version(db, id)
            held = self._held.get(root)
            if held is not None and held.id == id and held.version == version:
                return held
            rows = db.execute(
                "SELECT path, identity, settled, kind, sha, size, mode FROM known"
                " WHERE workspace = ?",
                (id,),
            )
            files = {row[0]: Known(row[1], bool(row[2]), *row[3:]) for row in rows}
        # One is enough: a process works in one workspace for long.
        self._held = {root: (loaded := Workspace(root, id, version or 0, files))}
        return loaded

    def remember(
        self, workspace: Workspace, batch: Mapping[bytes, observe.Seen]
    ) -> dict[bytes, Known | Missed]:
        """Keep what was read of these files, as far as there is room."""
        fresh = {name: known for name, seen in batch.items() if (known := _known(seen))}
        if not fresh:
            return {}
        contents = self._keeper.contents
        staged = {name: contents.stage(k.sha, batch[name].data) for name, k in fresh.items()}
        result: dict[bytes, Known | Missed] = {}
        try:
            with self._keeper.database.change() as db:
                self.check(db, workspace)
                for name, known in fresh.items():
                    data = batch[name].data
                    if contents.has(db, known.sha):
                        pass
                    elif has_room(db, len(data), self._keeper.limits.total):
                        contents.put(db, known.sha, data, staged[name])
                    else:
                        result[name] = Missed(known.identity, "store_full", "")
                        continue
                    _hold(db, workspace.id, name)
                    db.execute(
                        "INSERT OR REPLACE INTO known VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                        (workspace.id, name, *known),
                    )
                    result[name] = known
                version = _advance(db, workspace.id)
        finally:
            for path in staged.values():
                contents.discard(path)
        workspace.version = version
        workspace.files |= {n: old for n, old in result.items() if isinstance(old, Known)}
        return result

    def forget(self, workspace: Workspace, names: Iterable[bytes]) -> None:
        """These files are gone."""
        names = [*names]
        if not names:
            return
        with self._keeper.database.change() as db:
            self.check(db, workspace)
            for name in names:
                _hold(db, workspace.id, name)
            db.executemany(
                "DELETE FROM known WHERE workspace = ? AND path = ?",
                ((workspace.id, name) for name in names),
            )
            version = _advance(db, workspace.id)
        workspace.version = version
        for name in names:
            workspace.files.pop(name, None)

    def drop(self, root: str) -> None:
        """Read it anew the next time."""
        self._held.pop(root, None)

    @staticmethod
    def check(db: apsw.Connection, workspace: Workspace) -> None:
        """Raise Stale unless this process knows the workspace as it is."""
        if _version(db, workspace.id) != workspace.version:
            raise Stale


def _known(seen: observe.Seen) -> Known | None:
    state = seen.state
    if state is None or state.sha256 is None:
        return None
    return Known(seen.identity, seen.settled, state.kind, state.sha256, state.size, state.mode)


def _version(db: apsw.Connection, workspace: int) -> int | None:
    found: int | None = db.execute("SELECT version FROM workspace WHERE id = ?", (workspace,)).get
    return found


def _advance(db: apsw.Connection, workspace: int) -> int:
    return int(
        db.execute(
            "UPDATE workspace SET version = version + 1 WHERE id = ? RETURNING version",
            (workspace,),
        ).get
    )


def _hold(db: apsw.Connection, workspace: int, name: bytes) -> None:
    """Keep the known state of a file for the commands that began with it."""
    db.execute(
        "INSERT INTO held SELECT w.id, k.path, k.identity, k.settled, k.kind, k.sha, k.size, k.mode"
        " FROM known AS k JOIN watch AS w ON w.workspace = k.workspace"
        " WHERE k.workspace = ? AND k.path = ? ON CONFLICT DO NOTHING",
        (workspace, name),
    )
