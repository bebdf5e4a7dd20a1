"""The rows of checkpoints: written inside a caller's transaction, read as the port's records."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw

from hermes.ports.undo import (
    ChangedFile,
    CheckpointRow,
    FileState,
    GapCode,
    GapNote,
    NotCovered,
    StateKind,
    WorkspaceRow,
)

_LEFT: Final = """
    left_kind = :kind, left_sha = :sha, left_size = :size, left_mode = :mode,
    mixed = mixed OR (
        left_kind IS NOT NULL AND :was_kind IS NOT NULL
        AND (left_kind, left_sha, left_mode) IS NOT (:kind, :sha, :mode)
        AND (left_kind, left_sha, left_mode) IS NOT (:was_kind, :was_sha, :was_mode)
    )
"""
"""A tool left something again. That it was not what the same turn had left there before, says that
somebody else changed it in between."""


class Turn(NamedTuple):
    """Whose checkpoint it is."""

    session: str
    turn: str


class Was(NamedTuple):
    """The old state of a file, or why there is none."""

    state: FileState | None
    reason: NotCovered | None = None
    detail: str = ""
    new_folders: int = 0
    inode: bytes = b""


def workspace_id(db: apsw.Connection, root: str, now: float) -> int:
    """The workspace's row, made if need be."""
    return int(
        db.execute(
            "INSERT INTO workspace (root, used_at) VALUES (?, ?)"
            " ON CONFLICT (root) DO UPDATE SET used_at = excluded.used_at RETURNING id",
            (os.fsencode(root), now),
        ).get
    )


def find_workspace(db: apsw.Connection, root: str) -> int | None:
    found: int | None = db.execute(
        "SELECT id FROM workspace WHERE root = ?", (os.fsencode(root),)
    ).get
    return found


def checkpoint_id(
    db: apsw.Connection, workspace: int, turn: Turn, now: float, *, most: int | None
) -> int:
    """The turn's checkpoint in a workspace, made if need be; then the oldest beyond `most` go."""
    found: int | None = db.execute(
        "SELECT id FROM checkpoint WHERE workspace = ? AND session = ? AND turn = ?",
        (workspace, *turn),
    ).get
    if found is not None:
        return found
    number = db.execute(
        "UPDATE workspace SET last_number = last_number + 1 WHERE id = ? RETURNING last_number",
        (workspace,),
    ).get
    db.execute(
        "INSERT INTO checkpoint (workspace, number, session, turn, at) VALUES (?, ?, ?, ?, ?)",
        (workspace, number, *turn, now),
    )
    made = db.last_insert_rowid()
    if most is not None:
        drop_surplus(db, workspace, most)
    return made


def drop_surplus(db: apsw.Connection, workspace: int, most: int) -> int:
    """Delete the oldest checkpoints beyond `most`; those that only say that something is not
    covered are counted apart, so that they never push out one that has files."""
    gone = 0
    for has in ("EXISTS", "NOT EXISTS"):
        db.execute(
            f"""DELETE FROM checkpoint WHERE id IN (
                SELECT id FROM checkpoint AS c WHERE workspace = ? AND id != (
                    SELECT max(id) FROM checkpoint WHERE workspace = c.workspace
                ) AND {has} (SELECT 1 FROM file WHERE checkpoint = c.id)
                ORDER BY number DESC LIMIT -1 OFFSET ?)""",
            (workspace, max(most - 1, 0)),
        )
        gone += db.changes()
    return gone


def add_file(db: apsw.Connection, checkpoint: int, path: bytes, tool: str, was: Was) -> None:
    """Note the old state of a file, unless the checkpoint has it already."""
    state = was.state
    db.execute(
        "INSERT INTO file (checkpoint, path, tool, kind, sha, size, mode, reason, detail,"
        " new_folders, inode) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            checkpoint,
            path,
            tool,
            state.kind if state else None,
            state.sha256 if state else None,
            state.size if state else 0,
            state.mode if state else 0,
            was.reason,
            was.detail,
            was.new_folders,
            was.inode,
        ),
    )


def set_left(
    db: apsw.Connection,
    checkpoint: int,
    path: bytes,
    left: FileState,
    was: FileState | None = None,
) -> None:
    """Note what a tool left of a file that the checkpoint has; `was` is what it changed."""
    db.execute(
        f"UPDATE file SET {_LEFT} WHERE checkpoint = :checkpoint AND path = :path",
        {
            "kind": left.kind,
            "sha": left.sha256,
            "size": left.size,
            "mode": left.mode,
            "was_kind": was.kind if was else None,
            "was_sha": was.sha256 if was else None,
            "was_mode": was.mode if was else 0,
            "checkpoint": checkpoint,
            "path": path,
        },
    )


def set_left_unknown(db: apsw.Connection, checkpoint: int, path: bytes) -> None:
    """Note that the file was changed again, and that what was left is not known."""
    db.execute(
        "UPDATE file SET left_kind = NULL, left_sha = NULL WHERE checkpoint = ? AND path = ?",
        (checkpoint, path),
    )


def set_mixed(db: apsw.Connection, checkpoint: int, path: bytes) -> None:
    """Note that somebody else has changed the file since the turn last did."""
    db.execute("UPDATE file SET mixed = 1 WHERE checkpoint = ? AND path = ?", (checkpoint, path))


def add_gap(db: apsw.Connection, checkpoint: int, tool: str, code: GapCode, detail: str) -> None:
    db.execute(
        "INSERT INTO gap VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (checkpoint, tool, code, detail),
    )


def files_of(
    db: apsw.Connection, workspace: int, *, first: int, last: int | None
) -> list[tuple[int, ChangedFile]]:
    """The files of the checkpoints numbered `first` to `last` (None: all later ones), each with
    its checkpoint's number, in the order of both."""
    rows = db.execute(
        "SELECT c.number, f.path, f.tool, f.kind, f.sha, f.size, f.mode, f.reason, f.detail,"
        " f.new_folders, f.left_kind, f.left_sha, f.left_size, f.left_mode, f.mixed"
        " FROM checkpoint AS c JOIN file AS f ON f.checkpoint = c.id"
        " WHERE c.workspace = ? AND c.number >= ? AND (c.number <= ? OR ?)"
        " ORDER BY c.number, f.path",
        (workspace, first, last, last is None),
    )
    return [(int(row[0]), _changed(row[1:])) for row in rows]


def inodes(db: apsw.Connection, workspace: int, *, first: int) -> dict[tuple[int, str], bytes]:
    """Which files the old ones of `files_of` were, by number and path."""
    rows = db.execute(
        "SELECT c.number, f.path, f.inode FROM checkpoint AS c JOIN file AS f"
        " ON f.checkpoint = c.id WHERE c.workspace = ? AND c.number >= ?",
        (workspace, first),
    )
    return {(number, os.fsdecode(path)): inode for number, path, inode in rows}


def has_number(db: apsw.Connection, workspace: int, number: int) -> bool:
    return numbered(db, workspace, number) is not None


def numbered(db: apsw.Connection, workspace: int, number: int) -> int | None:
    """The row of a checkpoint."""
    found: int | None = db.execute(
        "SELECT id FROM checkpoint WHERE workspace = ? AND number = ?", (workspace, number)
    ).get
    return found


def cut_off(db: apsw.Connection, workspace: int, tool: str) -> frozenset[int]:
    """The numbers of the checkpoints in which `tool` did not come to its end."""
    rows: list[Any] = db.execute(
        "SELECT c.number FROM checkpoint AS c JOIN gap AS g ON g.checkpoint = c.id"
        " WHERE c.workspace = ? AND g.tool = ? AND g.code = 'cut_off'",
        (workspace, tool),
    ).fetchall()
    return frozenset(number for (number,) in rows)


def end_gap(db: apsw.Connection, checkpoint: int, tool: str, code: GapCode) -> None:
    """The gap is closed."""
    db.execute(
        "DELETE FROM gap WHERE checkpoint = ? AND tool = ? AND code = ?", (checkpoint, tool, code)
    )


def list_checkpoints(db: apsw.Connection, workspace: int) -> list[CheckpointRow]:
    """The checkpoints of a workspace, the newest first."""
    rows: list[Any] = db.execute(
        "SELECT id, number, at, session FROM checkpoint WHERE workspace = ? ORDER BY number DESC",
        (workspace,),
    ).fetchall()
    return [_row(db, *row) for row in rows]


def list_workspaces(db: apsw.Connection) -> list[WorkspaceRow]:
    """Every workspace, the last used first."""
    rows: list[Any] = db.execute(
        """SELECT w.root,
            (SELECT count(*) FROM checkpoint WHERE workspace = w.id),
            (SELECT coalesce(sum(stored), 0) FROM content WHERE sha IN (
                SELECT sha FROM known WHERE workspace = w.id
                UNION SELECT f.sha FROM file AS f JOIN checkpoint AS c ON f.checkpoint = c.id
                WHERE c.workspace = w.id))
        FROM workspace AS w ORDER BY w.used_at DESC"""
    ).fetchall()
    return [
        WorkspaceRow(
            root=os.fsdecode(root),
            checkpoints=count,
            bytes=size,
            exists=Path(os.fsdecode(root)).is_dir(),
        )
        for root, count, size in rows
    ]


def _row(db: apsw.Connection, id: int, number: int, at: float, session: str) -> CheckpointRow:
    counted: Any = db.execute(
        "SELECT count(*), count(*) - count(kind) FROM file WHERE checkpoint = ?", (id,)
    ).get
    files, missed = counted
    size = db.execute(
        "SELECT coalesce(sum(stored), 0) FROM content"
        " WHERE sha IN (SELECT sha FROM file WHERE checkpoint = ?)",
        (id,),
    ).get
    gaps = [
        GapNote(tool=tool, code=code, detail=detail)
        for tool, code, detail in db.execute(
            "SELECT tool, code, detail FROM gap WHERE checkpoint = ? ORDER BY tool, code", (id,)
        )
    ]
    tools: Iterable[tuple[str]] = db.execute(
        "SELECT DISTINCT tool FROM file WHERE checkpoint = ?", (id,)
    )
    names = {tool for (tool,) in tools} | {gap.tool for gap in gaps}
    return CheckpointRow(
        number=number,
        at=at,
        session=session,
        tools=tuple(sorted(names)),
        files=files,
        missed=missed,
        bytes=size,
        gaps=tuple(gaps),
    )


def _changed(row: tuple[Any, ...]) -> ChangedFile:
    path, tool, kind, sha, size, mode, reason, detail, new_folders, *left, mixed = row
    return ChangedFile(
        path=os.fsdecode(path),
        tool=tool,
        was=_state(kind, sha, size, mode),
        left=_state(*left),
        mixed=bool(mixed),
        not_covered=reason,
        detail=detail,
        new_folders=new_folders,
    )


def _state(kind: StateKind | None, sha: bytes | None, size: int, mode: int) -> FileState | None:
    return None if kind is None else FileState(kind=kind, sha256=sha, size=size, mode=mode)
