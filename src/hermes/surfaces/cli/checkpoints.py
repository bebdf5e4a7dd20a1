"""`hermes checkpoints`: what files held before tools changed them, and bringing it back."""

import argparse
import sys
from datetime import UTC, datetime
from difflib import unified_diff
from pathlib import Path

from hermes.core.errors import UserError
from hermes.ports.undo import ChangedFile, CheckpointHistory, Restored
from hermes.surfaces.cli.services import Services
from hermes.surfaces.kit.plain import printable
from hermes.system.i18n import t


async def list_(options: argparse.Namespace, services: Services) -> int:
    """Print the checkpoints of this folder's workspace, or with `--all` of every one."""
    async with services.checkpoints() as history:
        here = await history.root(str(_here()))
        roots = [row.root for row in await history.workspaces()] if options.all else [here]
        for root in roots:
            rows = await history.checkpoints(root)
            print(t("checkpoints.workspace" if rows else "checkpoints.none", root=printable(root)))
            for row in rows[: options.limit]:
                missed = t("checkpoints.missed", count=row.missed) if row.missed else ""
                print(
                    t(
                        "checkpoints.row",
                        number=row.number,
                        at=_time(row.at),
                        files=row.files,
                        tools=", ".join(row.tools),
                        missed=missed,
                    )
                )
                for gap in row.gaps:
                    print(t("checkpoints.gap", what=gap.code, detail=printable(gap.detail)))
    return 0


async def show(options: argparse.Namespace, services: Services) -> int:
    """Print the files of one checkpoint and what happened to each."""
    async with services.checkpoints() as history:
        root = await history.root(str(_here()))
        for file in await history.files(root, options.number):
            if file.was is None:
                print(_not_covered(file))
            else:
                print(t("checkpoints.file", deed=_deed(file), path=printable(file.path)))
    return 0


async def diff(options: argparse.Namespace, services: Services) -> int:
    """Print how each file differs now from what was captured."""
    wanted = str(_here() / options.path) if options.path else ""
    async with services.checkpoints() as history:
        root = await history.root(str(_here()))
        for file in await history.files(root, options.number):
            if not wanted or file.path == wanted:
                text = await _diff(file, history)
                print(text if options.no_redact else services.redact(text), end="")
    return 0


async def restore(options: argparse.Namespace, services: Services) -> int:
    """Bring files back; 1 if something could not be."""
    async with services.checkpoints() as history:
        root = await history.root(str(_here()))
        done = await history.restore(
            root,
            options.number,
            paths=options.paths,
            only=options.only,
            overwrite=options.overwrite,
            dry_run=options.dry_run,
        )
    _report(done, dry_run=options.dry_run)
    return 0 if done.complete else 1


async def prune(options: argparse.Namespace, services: Services) -> int:
    """Remove what is older or more than is to be kept."""
    async with services.checkpoints() as history:
        done = await history.prune(dry_run=options.dry_run, keep_orphans=options.keep_orphans)
    print(t("checkpoints.pruned", count=done.checkpoints, freed=done.freed, left=done.left))
    return 0


async def clear(options: argparse.Namespace, services: Services) -> int:
    """Remove everything, if the person insists."""
    if not options.force:
        raise UserError(t("checkpoints.clear_sure"))
    async with services.checkpoints() as history:
        done = await history.clear()
    print(t("checkpoints.pruned", count=done.checkpoints, freed=done.freed, left=done.left))
    return 0


def _report(done: Restored, *, dry_run: bool) -> None:
    count = 0
    for outcome in done.outcomes:
        path = printable(outcome.path)
        if outcome.deed:
            count += 1
            print(t("checkpoints.done", path=path, deed=outcome.deed))
        elif outcome.hindrance:
            why, detail = outcome.hindrance.replace("_", " "), printable(outcome.detail)
            print(t("checkpoints.not_done", path=path, why=why, detail=detail), file=sys.stderr)
    if dry_run:
        print(t("checkpoints.would"))
    elif done.undo is not None:
        print(t("checkpoints.restored", count=count, undo=done.undo))
    else:
        print(t("checkpoints.nothing_restored"))


async def _diff(file: ChangedFile, history: CheckpointHistory) -> str:
    if file.was is None:
        return _not_covered(file) + "\n"
    old = await history.content(file.was.sha256) if file.was.sha256 else b""
    new = _now(file.path)
    if b"\0" in old or b"\0" in new:
        return t("checkpoints.binary", path=file.path, size=len(old)) + "\n"
    before, after = (data.decode("utf-8", "replace").splitlines(True) for data in (old, new))
    rows = unified_diff(before, after, f"a/{file.path}", f"b/{file.path}")
    return "".join(row if row.endswith("\n") else f"{row}\n" for row in rows)


def _here() -> Path:
    return Path.cwd()


def _now(path: str) -> bytes:
    return Path(path).read_bytes() if Path(path).is_file() else b""


def _deed(file: ChangedFile) -> str:
    if file.was is not None and file.was.kind == "nothing":
        return "made"
    return "removed" if file.left is not None and file.left.kind == "nothing" else "changed"


def _not_covered(file: ChangedFile) -> str:
    reason = (file.not_covered or "").replace("_", " ")
    return t(
        "checkpoints.not_covered",
        path=printable(file.path),
        reason=reason,
        detail=printable(file.detail),
    )


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
