"""Checkpoints and restores in words, for the verbs and the chat, and as JSON."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from difflib import unified_diff
from pathlib import Path
from typing import Any

from hermes.core.errors import StoreError, UserError
from hermes.ports.undo import (
    ChangedFile,
    CheckpointHistory,
    CheckpointRow,
    FileState,
    GapNote,
    Pruned,
    Restored,
    WorkspaceRow,
)
from hermes.surfaces.kit.plain import printable
from hermes.system.i18n import t

Redact = Callable[[str], str]


def listed(root: str, rows: tuple[CheckpointRow, ...]) -> list[str]:
    """The checkpoints of a workspace, one a line, under its name."""
    lines = [t("checkpoints.workspace" if rows else "checkpoints.none", root=printable(root))]
    for row in rows:
        missed = t("checkpoints.missed", count=row.missed) if row.missed else ""
        lines.append(
            t(
                "checkpoints.row",
                number=row.number,
                at=_time(row.at),
                files=row.files,
                tools=", ".join(row.tools),
                missed=missed,
            )
        )
        lines += [_gap(gap) for gap in row.gaps]
    return lines


def listed_json(root: str, rows: tuple[CheckpointRow, ...]) -> dict[str, Any]:
    return {
        "root": root,
        "checkpoints": [
            {
                "number": row.number,
                "at": row.at,
                "session": row.session,
                "tools": list(row.tools),
                "files": row.files,
                "missed": row.missed,
                "bytes": row.bytes,
                "gaps": [{"tool": g.tool, "code": g.code, "detail": g.detail} for g in row.gaps],
            }
            for row in rows
        ],
    }


def status(rows: tuple[WorkspaceRow, ...]) -> list[str]:
    """What each workspace takes."""
    return [
        t(
            "checkpoints.status" if row.exists else "checkpoints.status_gone",
            bytes=row.bytes,
            count=row.checkpoints,
            root=printable(row.root),
        )
        for row in rows
    ]


def status_json(row: WorkspaceRow) -> dict[str, Any]:
    return {
        "root": row.root,
        "checkpoints": row.checkpoints,
        "bytes": row.bytes,
        "exists": row.exists,
    }


def shown(files: tuple[ChangedFile, ...]) -> list[str]:
    """What happened to each file of a checkpoint."""
    return [
        _not_covered(file)
        if file.was is None
        else t("checkpoints.file", deed=_deed(file), path=printable(file.path))
        for file in files
    ]


def shown_json(file: ChangedFile) -> dict[str, Any]:
    return {
        "path": file.path,
        "tool": file.tool,
        "deed": None if file.was is None else _deed(file),
        "was": _state(file.was),
        "left": _state(file.left),
        "mixed": file.mixed,
        "not_covered": file.not_covered,
        "detail": file.detail,
    }


async def diffs(
    history: CheckpointHistory, root: str, number: int, path: str, redact: Redact
) -> list[dict[str, Any]]:
    """How each file, or the one at `path`, differs now from what was captured: `diff` is text,
    None if there can be none, and then `note` says why. Raises UserError if `path` is not one."""
    files = await history.files(root, number)
    if path:
        files = tuple(file for file in files if file.path in _names(path))
        if not files:
            raise UserError(
                t("checkpoints.no_file", path=printable(path), number=number),
                hint=t("checkpoints.no_file_hint", number=number),
            )
    return [await _diff(file, history, redact) for file in files]


def _names(path: str) -> tuple[str, str]:
    """`path` as it is written, and with the links of its folder followed."""
    here = Path(os.path.abspath(path))  # noqa: PTH100
    return str(here), str(here.parent.resolve() / here.name)


async def _diff(file: ChangedFile, history: CheckpointHistory, redact: Redact) -> dict[str, Any]:
    result: dict[str, Any] = {"path": file.path, "diff": None, "note": ""}
    if file.was is None:
        return result | {"note": _not_covered(file)}
    try:
        old = await history.content(file.was.sha256) if file.was.sha256 else b""
        new = _now(file.path)
    except (OSError, StoreError) as e:
        reason = (e.strerror or str(e)) if isinstance(e, OSError) else str(e)
        return result | {"note": t("checkpoints.unread", path=printable(file.path), reason=reason)}
    if b"\0" in old or b"\0" in new:
        note = t("checkpoints.binary", path=printable(file.path), size=len(old))
        return result | {"note": note}
    before, after = (data.decode("utf-8", "replace").splitlines(True) for data in (old, new))
    name = printable(file.path)
    rows = unified_diff(before, after, f"a/{name}", f"b/{name}")
    return result | {"diff": redact("".join(r if r.endswith("\n") else f"{r}\n" for r in rows))}


def restored(done: Restored, *, dry_run: bool, command: str) -> tuple[list[str], list[str]]:
    """What a restore did, and what it could not do; `command` is what undoes it."""
    did, not_done = [], []
    for outcome in done.outcomes:
        path = printable(outcome.path)
        if outcome.deed:
            did.append(t("checkpoints.done", path=path, deed=outcome.deed))
        elif outcome.hindrance:
            why, detail = outcome.hindrance.replace("_", " "), printable(outcome.detail)
            not_done.append(t("checkpoints.not_done", path=path, why=why, detail=detail).rstrip())
    if dry_run:
        did.append(t("checkpoints.would"))
    elif done.undo is not None:
        did.append(t("checkpoints.restored", count=len(did), command=command, undo=done.undo))
    else:
        did.append(t("checkpoints.nothing_restored"))
    return did, not_done


def restored_json(done: Restored, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "complete": done.complete,
        "undo": done.undo,
        "files": [
            {"path": o.path, "deed": o.deed, "hindrance": o.hindrance, "detail": o.detail}
            for o in done.outcomes
        ],
    }


def pruned(done: Pruned) -> str:
    return t("checkpoints.pruned", count=done.checkpoints, freed=done.freed, left=done.left)


def pruned_json(done: Pruned, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "checkpoints": done.checkpoints,
        "aged": done.aged,
        "surplus": done.surplus,
        "orphaned": done.orphaned,
        "oversize": done.oversize,
        "freed": done.freed,
        "left": done.left,
    }


def _gap(gap: GapNote) -> str:
    detail = printable(gap.detail)
    if (gap.tool, gap.code) == ("restore", "cut_off"):
        return t("checkpoints.cut_off", words=detail)
    return t("checkpoints.gap", what=gap.code, detail=detail).rstrip()


def _state(state: FileState | None) -> dict[str, Any] | None:
    if state is None:
        return None
    sha = state.sha256.hex() if state.sha256 else None
    return {"kind": state.kind, "sha256": sha, "size": state.size, "mode": state.mode}


def _now(path: str) -> bytes:
    if os.path.islink(path):  # noqa: PTH114
        return os.fsencode(os.readlink(path))  # noqa: PTH115
    return Path(path).read_bytes() if Path(path).is_file() else b""


def _deed(file: ChangedFile) -> str:
    if file.was is not None and file.was.kind == "nothing":
        return "made"
    return "removed" if file.left is not None and file.left.kind == "nothing" else "changed"


def _not_covered(file: ChangedFile) -> str:
    reason = (file.not_covered or "").replace("_", " ")
    path, detail = printable(file.path), printable(file.detail)
    return t("checkpoints.not_covered", path=path, reason=reason, detail=detail).rstrip()


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
