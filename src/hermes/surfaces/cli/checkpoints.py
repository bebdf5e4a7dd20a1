"""`hermes checkpoints`: what files held before tools changed them, and bringing it back."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from hermes.core.errors import UserError
from hermes.surfaces.cli import undo_text
from hermes.surfaces.cli.services import Services
from hermes.system.i18n import t

COMMAND: Final = "hermes checkpoints restore"


async def list_(options: argparse.Namespace, services: Services) -> int:
    """Print the checkpoints of this folder's workspace, or with `--all` of every one."""
    _check(options.limit)
    async with services.checkpoints() as history:
        if options.all:
            roots = [row.root for row in await history.workspaces()]
        else:
            roots = [await history.root(_here())]
        found = [(root, (await history.checkpoints(root))[: options.limit]) for root in roots]
    if options.json:
        _put([undo_text.listed_json(root, rows) for root, rows in found])
    else:
        _lines([line for root, rows in found for line in undo_text.listed(root, rows)])
    return 0


async def status(options: argparse.Namespace, services: Services) -> int:
    """Print what each workspace takes, the last used first."""
    _check(options.limit)
    async with services.checkpoints() as history:
        rows = (await history.workspaces())[: options.limit]
    if options.json:
        _put([undo_text.status_json(row) for row in rows])
    else:
        _lines(undo_text.status(rows) or [t("checkpoints.none_at_all")])
    return 0


async def show(options: argparse.Namespace, services: Services) -> int:
    """Print the files of one checkpoint and what happened to each."""
    async with services.checkpoints() as history:
        root = await history.root(_here())
        files = await history.files(root, options.number)
    if options.json:
        shown = [undo_text.shown_json(file) for file in files]
        _put({"root": root, "number": options.number, "files": shown})
    else:
        _lines(undo_text.shown(files))
    return 0


async def diff(options: argparse.Namespace, services: Services) -> int:
    """Print how each file differs now from what was captured."""
    redact = str if options.no_redact else services.redact
    async with services.checkpoints() as history:
        root = await history.root(_here())
        found = await undo_text.diffs(history, root, options.number, options.path, redact)
    if options.json:
        _put({"root": root, "number": options.number, "files": found})
    else:
        for one in found:
            print(one["note"] + "\n" if one["diff"] is None else one["diff"], end="")
    return 0


async def restore(options: argparse.Namespace, services: Services) -> int:
    """Bring files back; 1 if something could not be."""
    async with services.checkpoints() as history:
        done = await history.restore(
            await history.root(_here()),
            options.number,
            paths=options.paths,
            only=options.only,
            overwrite=options.overwrite,
            dry_run=options.dry_run,
        )
    if options.json:
        _put(undo_text.restored_json(done, dry_run=options.dry_run))
    else:
        did, not_done = undo_text.restored(done, dry_run=options.dry_run, command=COMMAND)
        for line in not_done:
            print(line, file=sys.stderr)
        _lines(did)
    return 0 if done.complete else 1


async def prune(options: argparse.Namespace, services: Services) -> int:
    """Remove what is older or more than is to be kept."""
    async with services.checkpoints() as history:
        done = await history.prune(dry_run=options.dry_run, keep_orphans=options.keep_orphans)
    if options.json:
        _put(undo_text.pruned_json(done, dry_run=options.dry_run))
    else:
        print(undo_text.pruned(done))
    return 0


async def clear(options: argparse.Namespace, services: Services) -> int:
    """Remove everything, if the person insists."""
    if not options.force:
        raise UserError(t("checkpoints.clear_sure"))
    async with services.checkpoints() as history:
        done = await history.clear()
    print(undo_text.pruned(done))
    return 0


def _check(limit: int) -> None:
    if limit < 1:
        raise UserError(t("verbs.bad_limit", value=limit), hint=t("verbs.bad_limit_hint"))


def _here() -> str:
    return str(Path.cwd())


def _lines(lines: list[str]) -> None:
    for line in lines:
        print(line)


def _put(value: Any) -> None:
    print(json.dumps(value, indent=2))
