"""Taking checkpoints away: by age, by number, by size, and where the folder is gone."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import apsw
from msgspec import Struct

from hermes.ports.undo import Pruned
from hermes.stores.checkpoints.contents import Contents
from hermes.stores.checkpoints.database import Database
from hermes.stores.checkpoints.records import drop_surplus
from hermes.system.locks import ProcessIdentity, is_alive

DAY: Final = 86_400.0
_STEP: Final = 8
"""Checkpoints that go at once while there is too much; counting what is unused is the dear part."""


class Bounds(Struct, frozen=True, kw_only=True):
    """What may stay. `oldest` is a time; None keeps any size, age, or orphan."""

    oldest: float | None
    most_bytes: int | None
    most_snapshots: int
    gone_roots: bool


class _NotForReal(Exception):
    """Undoes the transaction of a dry run."""


def prune(database: Database, contents: Contents, bounds: Bounds, *, dry_run: bool) -> Pruned:
    """Take away what is beyond `bounds`; with `dry_run` say what that would be.

    `freed` is what the disk got back, in a dry run the size of the contents.
    """
    before = contents.disk()
    done = Pruned()
    names: list[bytes] = []
    freed = 0
    try:
        with database.change() as db:
            held = _total(db)
            done, names = _prune(db, contents, bounds)
            freed = held - _total(db)
            if dry_run:
                raise _NotForReal  # noqa: TRY301
    except _NotForReal:
        return replace(done, freed=freed, left=before - freed)
    contents.drop_files(names)
    database.shrink()
    left = contents.disk()
    return replace(done, freed=max(before - left, 0), left=left)


def make_room(
    db: apsw.Connection, contents: Contents, need: int, most: int, keep: int
) -> tuple[bool, list[bytes]]:
    """Whether `need` more bytes fit below `most`, after the oldest checkpoints went if they had to.

    Those from the row `keep` on stay. Also the files to drop after COMMIT.
    """
    names: list[bytes] = []
    if need > most:
        return False, names
    if _total(db) + need > most:
        names, _ = _shrink(db, contents, most * 9 // 10 - need, keep)
    return _total(db) + need <= most, names


def has_room(db: apsw.Connection, need: int, most: int) -> bool:
    """Whether `need` more bytes fit below `most` as it stands."""
    return _total(db) + need <= most


def clear(database: Database, contents: Contents) -> Pruned:
    """Take everything away."""
    before = contents.disk()
    with database.change() as db:
        count = int(db.execute("SELECT count(*) FROM checkpoint").get)
        db.execute("DELETE FROM checkpoint")
        _end_dead(db, "1")
        _forget(db, "1")
        db.execute(
            "DELETE FROM workspace WHERE NOT EXISTS"
            " (SELECT 1 FROM watch WHERE watch.workspace = workspace.id)"
        )
        names = contents.drop_unused(db)
    contents.drop_files(names)
    database.shrink()
    left = contents.disk()
    return Pruned(surplus=count, freed=max(before - left, 0), left=left)


def _prune(db: apsw.Connection, contents: Contents, bounds: Bounds) -> tuple[Pruned, list[bytes]]:
    orphaned = aged = surplus = 0
    workspaces: list[Any] = db.execute("SELECT id, root FROM workspace").fetchall()
    for id, raw in workspaces:
        if bounds.gone_roots and not Path(os.fsdecode(raw)).is_dir():
            db.execute("DELETE FROM checkpoint WHERE workspace = ?", (id,))
            orphaned += db.changes()
            _end_dead(db, "id = ?", id)
            _forget(db, "id = ?", id)
    if bounds.oldest is not None:
        db.execute("DELETE FROM checkpoint WHERE at < ?", (bounds.oldest,))
        aged = db.changes()
        _end_dead(db, "used_at < ?", bounds.oldest)
        _forget(db, "used_at < ?", bounds.oldest)
    left: list[Any] = db.execute("SELECT id FROM workspace").fetchall()
    for (id,) in left:
        surplus += drop_surplus(db, id, bounds.most_snapshots)
    names = contents.drop_unused(db)
    oversize = 0
    if bounds.most_bytes is not None and _total(db) > bounds.most_bytes:
        more, oversize = _shrink(db, contents, bounds.most_bytes, None)
        names += more
    db.execute(
        "DELETE FROM workspace WHERE"
        " NOT EXISTS (SELECT 1 FROM checkpoint WHERE checkpoint.workspace = workspace.id)"
        " AND NOT EXISTS (SELECT 1 FROM known WHERE known.workspace = workspace.id)"
        " AND NOT EXISTS (SELECT 1 FROM watch WHERE watch.workspace = workspace.id)"
    )
    done = Pruned(aged=aged, surplus=surplus, orphaned=orphaned, oversize=oversize)
    return done, names


def _shrink(
    db: apsw.Connection, contents: Contents, most: int, keep: int | None
) -> tuple[list[bytes], int]:
    """Delete the oldest checkpoints, then what is known of unwatched workspaces, until no more
    than `most` bytes are left or nothing else may go."""
    names = contents.drop_unused(db)
    gone = 0
    while _total(db) > most:
        db.execute(
            "DELETE FROM checkpoint WHERE id IN (SELECT id FROM checkpoint"
            " WHERE id < coalesce(?, id + 1) ORDER BY at, id LIMIT ?)",
            (keep, _STEP),
        )
        changes = db.changes()
        if not changes:
            break
        gone += changes
        names += contents.drop_unused(db)
    if _total(db) > most:
        _end_dead(db, "1")
        _forget(db, "1")
        names += contents.drop_unused(db)
    return names, gone


def _end_dead(db: apsw.Connection, which: str, *values: Any) -> None:
    """Give up the commands of killed processes in the workspaces `which`: what they changed is put
    down by the next command there, and until then what they began with is held."""
    rows: list[Any] = db.execute(
        f"SELECT id, owner FROM watch WHERE workspace IN (SELECT id FROM workspace WHERE {which})",
        values,
    ).fetchall()
    dead = ((id,) for id, owner in rows if not is_alive(ProcessIdentity.parse(owner)))
    db.executemany("DELETE FROM watch WHERE id = ?", dead)


def _forget(db: apsw.Connection, which: str, *values: Any) -> None:
    """Forget what is known of the workspaces `which`, but for those where a command is running."""
    db.execute(f"UPDATE workspace SET version = version + 1 WHERE {which}", values)
    db.execute(
        "DELETE FROM known WHERE workspace IN (SELECT id FROM workspace AS w"
        f" WHERE {which} AND NOT EXISTS (SELECT 1 FROM watch WHERE watch.workspace = w.id))",
        values,
    )


def _total(db: apsw.Connection) -> int:
    return int(db.execute("SELECT bytes FROM total").get)
