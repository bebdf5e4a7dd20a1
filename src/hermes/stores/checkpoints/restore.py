"""Bringing files back: decided file by file, captured first, then changed all at once."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final, final

import anyio

from hermes.core.errors import Corrupt, UserError
from hermes.ports.files import Change, FileFault, Files, Remove, Write
from hermes.ports.undo import ChangedFile, Deed, FileState, Hindrance, Outcome, Restored
from hermes.stores.checkpoints import observe, records
from hermes.stores.checkpoints.keep import Keeper, Old
from hermes.stores.checkpoints.records import Turn
from hermes.stores.checkpoints.workspaces import is_below, real
from hermes.system.i18n import t

TOOL: Final = "restore"
"""The tool of the checkpoint that a restore makes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be brought back; see `ports.undo.CheckpointHistory.restore`."""

    root: str
    number: int
    paths: Sequence[str]
    only: bool
    overwrite: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One file: what stands there, what shall, and what comes of it."""

    outcome: Outcome
    now: observe.Seen
    to: FileState
    data: bytes = b""
    new_folders: int = 0


@final
class Restorer:
    """Restores on behalf of the person: the paths that tools may not write are no matter here."""

    def __init__(self, keeper: Keeper, files: Files) -> None:
        self._keeper = keeper
        self._files = files

    async def restore(self, request: Request, *, turn: Turn, dry_run: bool) -> Restored:
        """Do it, or with `dry_run` say what would be done; `turn` names the state before it.

        Raises UserError, StoreError; what the file system refuses is in the result.
        """
        steps = await anyio.to_thread.run_sync(self._plan, request)
        if dry_run or not any(step.outcome.deed for step in steps):
            return Restored(outcomes=tuple(s.outcome for s in steps), undo=None)
        # From here on to the end: half a restore is worse than a late one.
        with anyio.CancelScope(shield=True):
            work = partial(self._capture, request, turn, steps)
            undo, steps = await anyio.to_thread.run_sync(work)
            try:
                await self._commit(steps)
            except FileFault as fault:
                steps = [_refused(step, fault) for step in steps]
            else:
                steps = await anyio.to_thread.run_sync(self._finish, steps)
            await anyio.to_thread.run_sync(self._note, request, turn, steps)
        done = any(step.outcome.deed for step in steps)
        return Restored(outcomes=tuple(s.outcome for s in steps), undo=undo if done else None)

    def _plan(self, request: Request) -> list[_Step]:
        with self._keeper.database.look() as db:
            workspace = records.find_workspace(db, request.root)
            if workspace is None or not records.has_number(db, workspace, request.number):
                raise UserError(
                    t("checkpoints.no_number", number=request.number, root=request.root),
                    hint=t("checkpoints.no_number_hint"),
                )
            last = request.number if request.only else None
            rows = records.files_of(db, workspace, first=request.number, last=last)
        chains: dict[str, list[ChangedFile]] = {}
        for _, row in rows:
            chains.setdefault(row.path, []).append(row)
        wanted = [os.path.abspath(path) for path in request.paths]  # noqa: PTH100
        wanted += [real(path) for path in wanted]
        return [
            self._step(path, chain, overwrite=request.overwrite)
            for path, chain in sorted(chains.items())
            if not wanted or any(is_below(path, one) for one in wanted)
        ]

    def _step(self, path: str, chain: list[ChangedFile], *, overwrite: bool) -> _Step:
        first, last = chain[0], chain[-1]
        now = observe.look(os.fsencode(path), limit=None, now=self._keeper.clock.now())
        stays = partial(_Step, now=now, to=first.was or observe.NOTHING)

        def hindered(hindrance: Hindrance, detail: str = "") -> _Step:
            return stays(outcome=Outcome(path=path, hindrance=hindrance, detail=detail))

        if first.was is None:
            return hindered("not_covered", first.not_covered or "")
        if real(path) != path:
            return hindered("moved", os.path.dirname(real(path)))  # noqa: PTH120
        if now.state is None:
            known: Hindrance = "not_a_file" if now.reason == "not_a_file" else "unreadable"
            return hindered(known, now.detail)
        if now.state == first.was:
            return stays(outcome=Outcome(path=path))
        if not overwrite and (hindrance := _edited(chain, now.state)):
            return hindered(hindrance)
        if self._keeper.is_private(path):
            return hindered("not_kept")
        if now.state.size > self._keeper.limits.file and not overwrite:
            return hindered("not_kept", str(now.state.size))
        data = b""
        if first.was.sha256 is not None and not _same_content(now.state, first.was):
            try:
                data = self._keeper.contents.get(first.was.sha256)
            except Corrupt:
                return hindered("damaged")
        deed = _deed(now.state, first.was)
        if deed == "mode" and not overwrite and last.left and last.left.mode != now.state.mode:
            return hindered("edited_after")
        return stays(
            outcome=Outcome(path=path, deed=deed), data=data, new_folders=first.new_folders
        )

    def _capture(
        self, request: Request, turn: Turn, steps: list[_Step]
    ) -> tuple[int | None, list[_Step]]:
        """Capture what stands there now; a file for which that fails is left alone."""
        keeper = self._keeper
        acting = [step for step in steps if step.outcome.deed]
        olds = [
            Old(s.outcome.path, s.now, observe.missing_folders(os.fsencode(s.outcome.path)))
            for s in acting
        ]
        checkpoint = keeper.put(request.root, turn, TOOL, olds)
        with keeper.database.look() as db:
            number: int = db.execute(
                "SELECT number FROM checkpoint WHERE id = ?", (checkpoint,)
            ).get
            kept = {
                os.fsdecode(path)
                for (path,) in db.execute(
                    "SELECT path FROM file WHERE checkpoint = ? AND kind IS NOT NULL",
                    (checkpoint,),
                )
            }
        result = [
            replace(s, outcome=Outcome(path=s.outcome.path, hindrance="not_kept"))
            if s.outcome.deed and s.outcome.path not in kept and not request.overwrite
            else s
            for s in steps
        ]
        return number, result

    async def _commit(self, steps: Sequence[_Step]) -> None:
        """Remove and write files. A link that has to give way to a file goes first, with all that
        is removed; links are made at the end."""
        gone: list[Change] = []
        changes: list[Change] = []
        for step in steps:
            path, now = step.outcome.path, step.now.state
            if not step.outcome.deed or now is None:
                continue
            expect = now.sha256 if now.kind == "file" else None
            if step.outcome.deed == "removed":
                changes.append(Remove(path=path, expect=expect))
            elif step.outcome.deed == "written":
                if now.kind == "link":
                    gone.append(Remove(path=path, expect=None))
                changes.append(Write(path=path, data=step.data, expect=expect))
        if gone:
            await self._files.commit(gone)
        if changes:
            await self._files.commit(changes)

    def _finish(self, steps: list[_Step]) -> list[_Step]:
        """Links, permissions, and the folders that have no more use."""
        return [self._finished(step) if step.outcome.deed else step for step in steps]

    @staticmethod
    def _finished(step: _Step) -> _Step:
        path = step.outcome.path
        try:
            if step.outcome.deed == "linked":
                _link(path, step)
            elif step.outcome.deed in ("written", "mode"):
                found = os.lstat(path)
                if observe.is_file(found) and found.st_mode & 0o7777 != step.to.mode:
                    os.chmod(path, step.to.mode)  # noqa: PTH101
            elif step.outcome.deed == "removed":
                folder = Path(path).parent
                with suppress(OSError):  # not empty: somebody else uses it
                    for _ in range(step.new_folders):
                        folder.rmdir()
                        folder = folder.parent
        except OSError as e:
            return _refused(step, e)
        return step

    def _note(self, request: Request, turn: Turn, steps: Sequence[_Step]) -> None:
        with self._keeper.database.change() as db:
            checkpoint = self._keeper.checkpoint(db, request.root, turn)
            for step in steps:
                path = os.fsencode(step.outcome.path)
                if step.outcome.deed:
                    records.set_left(db, checkpoint, path, step.to)
                else:
                    db.execute(
                        "DELETE FROM file WHERE checkpoint = ? AND path = ?", (checkpoint, path)
                    )
            db.execute(
                "DELETE FROM checkpoint WHERE id = ? AND NOT EXISTS"
                " (SELECT 1 FROM file WHERE checkpoint = ?)",
                (checkpoint, checkpoint),
            )


def _edited(chain: Sequence[ChangedFile], now: FileState) -> Hindrance | None:
    """Whether anybody but the agent changed the file since the first of `chain`."""
    last = chain[-1].left
    if last is None:
        return "unknown"
    if not _same_content(last, now):
        return "edited_after"
    if any(change.mixed for change in chain):
        return "edited_between"
    for before, after in pairwise(chain):
        if before.left is None or after.was is None:
            return "unknown"
        if not _same_content(before.left, after.was):
            return "edited_between"
    return None


def _same_content(one: FileState, other: FileState) -> bool:
    return (one.kind, one.sha256) == (other.kind, other.sha256)


def _deed(now: FileState, to: FileState) -> Deed:
    if to.kind == "nothing":
        return "removed"
    if to.kind == "link":
        return "linked"
    return "mode" if _same_content(now, to) else "written"


def _refused(step: _Step, why: FileFault | OSError) -> _Step:
    if not step.outcome.deed:
        return step
    if isinstance(why, FileFault):
        detail = f"{why.path}: {why.reason}"
    else:
        detail = (why.strerror or str(why)).lower()
    outcome = Outcome(path=step.outcome.path, hindrance="refused", detail=detail)
    return replace(step, outcome=outcome)


def _link(path: str, step: _Step) -> None:
    """Put a link back in one step, unless something else stands there by now."""
    seen = observe.look(os.fsencode(path), limit=None, now=0.0)
    if seen.state != step.now.state:
        raise OSError("it has just been changed")
    folder = Path(path).parent
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".hermes-{os.urandom(8).hex()}.tmp"
    temporary.symlink_to(os.fsdecode(step.data))
    try:
        temporary.replace(path)
    except OSError:
        temporary.unlink()
        raise
