"""A workspace after a command: what the command changed, made and removed."""

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol, final

from hermes.ports.checkpoint import ChangeOrigin
from hermes.stores.checkpoints import observe, records
from hermes.stores.checkpoints.keep import Keeper
from hermes.stores.checkpoints.known import BATCH_FILES, Known, KnownFiles, Missed, Stale
from hermes.stores.checkpoints.records import Turn, Was
from hermes.stores.checkpoints.workspaces import Listing
from hermes.system.locks import ProcessIdentity, is_alive

Before = Mapping[bytes, Known | Missed]
_ATTEMPTS: Final = 3


class Begun(Protocol):
    """A watch, as far as its end is concerned; `id` is its row's."""

    @property
    def id(self) -> int: ...
    @property
    def origin(self) -> ChangeOrigin: ...
    @property
    def root(self) -> str: ...
    @property
    def listing(self) -> Listing: ...
    @property
    def before(self) -> Before: ...


class _Change(NamedTuple):
    """A file that may not be what it was. `seen` is None if there was no time to look."""

    name: bytes
    was: Was
    seen: observe.Seen | None

    @property
    def real(self) -> bool:
        """Whether it is another one, and not only touched or looked at again."""
        return self.seen is None or self.was.state is None or self.seen.state != self.was.state


@final
class Changes:
    """Writes down what has changed. Everything here blocks and raises StoreError."""

    def __init__(self, keeper: Keeper, known: KnownFiles) -> None:
        self._keeper = keeper
        self._known = known

    def note(self, watch: Begun, listing: Listing | None, seconds: float) -> None:
        """Put down what changed since `watch` began; `listing` is what is there now, None if that
        is not known, and then no new file is found."""
        deadline = self._keeper.clock.monotonic() + seconds
        turn = Turn(watch.origin.session, watch.origin.turn)
        changes = self._changes(watch, listing, deadline)
        # The counting of a batch ends with it, so that a kill loses no more than the rest of one.
        while batch := [*islice(changes, BATCH_FILES)]:
            self._write(watch.root, turn, watch.origin.tool, batch)
        with self._keeper.database.change() as db:
            db.execute("DELETE FROM watch WHERE id = ?", (watch.id,))

    def recover(self, root: str) -> None:
        """Put down what changed since commands began whose Hermes was killed: whoever did it, so
        what was left counts as not known."""
        with self._keeper.database.look() as db:
            id = records.find_workspace(db, root)
            rows: list[Any] = db.execute(
                "SELECT id, session, turn, tool, owner FROM watch WHERE workspace = ?", (id,)
            ).fetchall()
        for watch, session, turn, tool, owner in rows:
            if id is not None and not is_alive(ProcessIdentity.parse(owner)):
                self._recover(root, id, watch, Turn(session, turn), tool)

    def _changes(self, watch: Begun, listing: Listing | None, deadline: float) -> Iterator[_Change]:
        top = os.fsencode(watch.root).rstrip(b"/") + b"/"
        names: Iterable[bytes] = watch.before
        if listing is not None:
            names = [*watch.before, *(n for n in listing.names if n not in watch.before)]
        for name in names:
            old = watch.before.get(name)
            if old is not None and not self._touched(top + name, old):
                continue
            seen = None
            if self._keeper.clock.monotonic() <= deadline:
                seen = observe.look(
                    top + name, limit=self._keeper.limits.file, now=self._keeper.clock.now()
                )
                if seen.reason == "not_a_file" and old is None:
                    continue
            if isinstance(old, Known):
                yield _Change(name, _was(old), seen)
            elif isinstance(old, Missed):
                yield _Change(name, Was(None, old.reason, old.detail), seen)
            elif watch.listing.hides(name):
                yield _Change(name, Was(None, "unsure"), seen)
            elif seen is None or seen.state != observe.NOTHING:
                yield _Change(name, Was(observe.NOTHING), seen)

    @staticmethod
    def _touched(path: bytes, old: Known | Missed) -> bool:
        try:
            identity = observe.identity(os.lstat(path))
        except OSError:
            return True
        return identity != old.identity or (isinstance(old, Known) and not old.settled)

    def _write(self, root: str, turn: Turn, tool: str, batch: list[_Change]) -> None:
        self._remember(root, {c.name: c.seen for c in batch if c.seen is not None})
        changed = [change for change in batch if change.real]
        if not changed:
            return
        top = os.fsencode(root).rstrip(b"/") + b"/"
        with self._keeper.database.change() as db:
            checkpoint = self._keeper.checkpoint(db, root, turn)
            for change in changed:
                path = top + change.name
                records.add_file(db, checkpoint, path, tool, change.was)
                left = change.seen.state if change.seen is not None else None
                if left is not None:
                    records.set_left(db, checkpoint, path, left, change.was.state)
                else:
                    records.set_left_unknown(db, checkpoint, path)

    def _remember(self, root: str, seen: Mapping[bytes, observe.Seen]) -> None:
        """Only to spare the next snapshot some reading."""
        for _ in range(_ATTEMPTS):
            try:
                self._known.remember(self._known.load(root), seen)
            except Stale:
                self._known.drop(root)
            else:
                return

    def _recover(self, root: str, workspace: int, watch: int, turn: Turn, tool: str) -> None:
        columns = "path, identity, settled, kind, sha, size, mode"
        with self._keeper.database.look() as db:
            rows = [
                *db.execute(f"SELECT {columns} FROM known WHERE workspace = ?", (workspace,)),
                *db.execute(f"SELECT {columns} FROM held WHERE watch = ?", (watch,)),
            ]
        before = {row[0]: Known(row[1], bool(row[2]), *row[3:]) for row in rows}
        top = os.fsencode(root).rstrip(b"/") + b"/"
        changed = []
        for name, old in before.items():
            if self._touched(top + name, old):
                now = self._keeper.clock.now()
                seen = observe.look(top + name, limit=self._keeper.limits.file, now=now)
                if seen.state != old.state:
                    changed.append((name, old))
        with self._keeper.database.change() as db:
            if not db.execute("SELECT 1 FROM watch WHERE id = ?", (watch,)).get:
                return  # somebody else was faster
            checkpoint = self._keeper.checkpoint(db, root, turn)
            for name, old in changed:
                records.add_file(db, checkpoint, top + name, tool, _was(old))
            records.add_gap(db, checkpoint, tool, "cut_off", "")
            db.execute("DELETE FROM watch WHERE id = ?", (watch,))


def _was(old: Known) -> Was:
    return Was(old.state, inode=observe.inode(old.identity))
