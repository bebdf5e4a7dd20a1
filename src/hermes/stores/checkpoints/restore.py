"""Bringing files back: decided file by file, captured first, then changed.

What a restore is about to do is written down together with the state before it, under the gap
`cut_off`, which its end takes away. So the same restore, run again after a kill, finds out of every
file whether it was done, and does the rest.
"""

import hashlib
import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import final

import anyio
import apsw

from hermes.core.errors import Corrupt
from hermes.ports.files import Change, FileFault, Files, Remove, Write
from hermes.ports.undo import Restored
from hermes.stores.checkpoints import observe, records
from hermes.stores.checkpoints.keep import Keeper, Old
from hermes.stores.checkpoints.plan import TOOL, Planner, Request, Step
from hermes.stores.checkpoints.records import Turn


@final
class Restorer:
    """Restores on behalf of the person: the paths that tools may not write are no matter here."""

    def __init__(self, keeper: Keeper, files: Files) -> None:
        self._keeper = keeper
        self._files = files
        self._planner = Planner(keeper)

    async def restore(self, request: Request, *, turn: Turn, dry_run: bool) -> Restored:
        """Do it, or with `dry_run` say what would be done; `turn` names the state before it.

        Raises UserError, StoreError; what the file system refuses is in the result.
        """
        # A use of the files, so that a commit that was cut off is no more in sight.
        with suppress(FileFault):
            await self._files.stat(request.root)
        steps = await anyio.to_thread.run_sync(self._planner.plan, request)
        if not dry_run:
            await anyio.to_thread.run_sync(_drop_folders, [step for step in steps if step.half])
        if dry_run or not any(step.outcome.deed for step in steps):
            return Restored(outcomes=tuple(s.outcome for s in steps), undo=None)
        # From here on to the end: half a restore is worse than a late one.
        with anyio.CancelScope(shield=True):
            work = partial(self._capture, request, turn, steps)
            undo, steps = await anyio.to_thread.run_sync(work)
            for some in _in_order(steps):
                steps = await self._commit(steps, some)
            steps = await anyio.to_thread.run_sync(self._finish, steps)
            await anyio.to_thread.run_sync(self._note, request, turn, steps)
        done = any(step.outcome.deed for step in steps)
        return Restored(outcomes=tuple(s.outcome for s in steps), undo=undo if done else None)

    def _capture(
        self, request: Request, turn: Turn, steps: list[Step]
    ) -> tuple[int | None, list[Step]]:
        """Capture what stands there now, and note what shall; a file whose present state cannot be
        brought back afterwards is left alone."""
        keeper = self._keeper
        acting = [step for step in steps if step.outcome.deed]
        olds = [Old(s.path, s.now, observe.missing_folders(os.fsencode(s.path))) for s in acting]

        def intend(db: apsw.Connection, checkpoint: int) -> None:
            for step in acting:
                records.set_left(db, checkpoint, os.fsencode(step.path), step.to)
            records.add_gap(db, checkpoint, TOOL, "cut_off", _words(request))

        with keeper.database.look() as db:
            workspace = records.find_workspace(db, request.root) or 0
            keep = records.numbered(db, workspace, request.number)
        checkpoint = keeper.put(request.root, turn, TOOL, olds, keep=keep, also=intend)
        with keeper.database.look() as db:
            number: int = db.execute(
                "SELECT number FROM checkpoint WHERE id = ?", (checkpoint,)
            ).get
            covered = "SELECT path FROM file WHERE checkpoint = ? AND kind IS NOT NULL"
            kept = {os.fsdecode(path) for (path,) in db.execute(covered, (checkpoint,))}
        if request.overwrite:
            return number, steps
        return number, [
            step
            if not step.outcome.deed or (step.path in kept and self._proven(step))
            else step.hindered("not_kept")
            for step in steps
        ]

    def _proven(self, step: Step) -> bool:
        """Whether the present content is in the store, whoever put it there."""
        if step.now.state is not None and step.now.state.sha256 is not None:
            try:
                self._keeper.contents.get(step.now.state.sha256)
            except Corrupt:
                return False
        return True

    async def _commit(self, steps: list[Step], some: Sequence[Step]) -> list[Step]:
        """Carry out `some` of the steps, all or none of them."""
        writers = [step for step in some if not step.follows]
        changes = await anyio.to_thread.run_sync(lambda: [self._change(step) for step in writers])
        try:
            await self._files.commit(changes)
        except FileFault as fault:
            detail = f"{fault.path}: {fault.reason}"
            return [s.hindered("refused", detail) if s in some else s for s in steps]
        return steps

    def _change(self, step: Step) -> Change:
        now = step.now.state
        expect = now.sha256 if now is not None and now.kind == "file" else None
        if step.outcome.deed == "removed":
            return Remove(path=step.path, expect=expect)
        # What exists keeps its mode, which is then changed; what is made has it from the start.
        like = self._like(step.to.mode) if expect is None else None
        return Write(path=step.path, data=step.data, expect=expect, like=like)

    def _like(self, mode: int) -> str:
        """An empty file of this mode."""
        folder = self._keeper.database.folder / "modes"
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / f"{mode:04o}"
        path.touch(mode=0o600)
        path.chmod(mode)
        return str(path)

    def _finish(self, steps: list[Step]) -> list[Step]:
        """Links, permissions, and the folders that have no more use."""
        return [_finished(step) if step.outcome.deed else step for step in steps]

    def _note(self, request: Request, turn: Turn, steps: Sequence[Step]) -> None:
        with self._keeper.database.change() as db:
            checkpoint = self._keeper.checkpoint(db, request.root, turn)
            for step in steps:
                if not step.outcome.deed:
                    db.execute(
                        "DELETE FROM file WHERE checkpoint = ? AND path = ?",
                        (checkpoint, os.fsencode(step.path)),
                    )
            records.end_gap(db, checkpoint, TOOL, "cut_off")
            db.execute(
                "DELETE FROM checkpoint WHERE id = ? AND NOT EXISTS"
                " (SELECT 1 FROM file WHERE checkpoint = ?)",
                (checkpoint, checkpoint),
            )
            workspace = records.find_workspace(db, request.root) or 0
            records.drop_surplus(db, workspace, self._keeper.limits.snapshots)


def _words(request: Request) -> str:
    """The words after `restore` that ask for the same."""
    paths = [os.path.abspath(path) for path in request.paths]  # noqa: PTH100
    options = ["--only"] * request.only + ["--overwrite"] * request.overwrite
    return shlex.join([str(request.number), *paths, *options])


def _swaps(step: Step) -> bool:
    """Whether a link goes or comes, or a file of several names leaves them, which is no matter of a
    commit."""
    was_link = step.now.state is not None and step.now.state.kind == "link"
    written = step.outcome.deed == "written"
    return step.outcome.deed == "linked" or (written and (was_link or step.apart))


def _in_order(steps: Sequence[Step]) -> list[list[Step]]:
    """What is committed, part by part: files that stand where a folder has to be go first."""
    plain = [s for s in steps if s.outcome.deed in ("removed", "written") and not _swaps(s)]
    made = [s.path for s in steps if s.outcome.deed in ("written", "linked")]
    in_the_way = [
        step
        for step in plain
        if step.outcome.deed == "removed" and any(p.startswith(f"{step.path}/") for p in made)
    ]
    rest = [step for step in plain if step not in in_the_way]
    return [part for part in (in_the_way, rest) if part]


def _finished(step: Step) -> Step:
    path = step.path
    try:
        if _swaps(step):
            _swap(step)
        elif step.outcome.deed in ("written", "mode"):
            found = os.lstat(path)
            if observe.is_file(found) and found.st_mode & 0o7777 != step.to.mode:
                os.chmod(path, step.to.mode)  # noqa: PTH101
        elif step.outcome.deed == "removed":
            _drop_folders([step])
    except OSError as e:
        return step.hindered("refused", (e.strerror or str(e)).lower())
    return step


def _drop_folders(steps: Sequence[Step]) -> None:
    """Take away the folders that were made for files that are gone."""
    for step in steps:
        folder = Path(step.path).parent
        with suppress(OSError):  # not empty: somebody else uses it
            for _ in range(step.new_folders):
                with suppress(FileNotFoundError):
                    folder.rmdir()
                folder = folder.parent


def _swap(step: Step) -> None:
    """Put a link in the place of what stands there, or a file of its own, in one step,
    unless something else stands there by now."""
    path = Path(step.path)
    seen = observe.look(os.fsencode(step.path), limit=None, now=0.0)
    if seen.state != step.now.state:
        raise OSError("it has just been changed")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Always the same name, so that one that a kill left is taken away by the next attempt.
    digest = hashlib.sha256(os.fsencode(step.path)).hexdigest()
    temporary = path.parent / f".hermes-{digest[:16]}.tmp"
    temporary.unlink(missing_ok=True)
    try:
        if step.to.kind == "link":
            temporary.symlink_to(os.fsdecode(step.data))
        else:
            with open(temporary, "xb", opener=partial(os.open, mode=0o600)) as file:
                file.write(step.data)
            temporary.chmod(step.to.mode)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
