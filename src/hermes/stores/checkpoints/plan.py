"""What a restore has to do with each file, and which it leaves alone; nothing is changed here."""

import dataclasses
import os
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Final, final

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import Corrupt, UserError
from hermes.ports.undo import ChangedFile, Deed, FileState, Hindrance, Outcome
from hermes.stores.checkpoints import observe, records
from hermes.stores.checkpoints.keep import Keeper
from hermes.stores.checkpoints.workspaces import is_below, real
from hermes.system.i18n import t

TOOL: Final = "restore"
"""The tool of the checkpoint that a restore makes."""


class Request(Struct, frozen=True, kw_only=True):
    """What is to be brought back; see `ports.undo.CheckpointHistory.restore`."""

    root: str
    number: int
    paths: Sequence[str]
    only: bool
    overwrite: bool


class Step(Struct, frozen=True, kw_only=True):
    """One file: what stands there, what shall, and what comes of it.

    `data` is the content or the link's target that shall be there, empty if that is there already.
    `half` says that the file is gone by a restore that was killed, and perhaps not the folders that
    were made for it. `number` is that of the first checkpoint with it. Of a file of several names,
    `apart` says that it was another one then, so that the others stay as they are, and `follows`
    that it is written by another of its names.
    """

    outcome: Outcome
    now: observe.Seen
    to: FileState
    data: bytes = b""
    new_folders: int = 0
    half: bool = False
    number: int = 0
    apart: bool = False
    follows: bool = False

    @property
    def path(self) -> str:
        return self.outcome.path

    def hindered(self, why: Hindrance, detail: str = "") -> "Step":
        """This step, not done."""
        return replace(self, outcome=Outcome(path=self.path, hindrance=why, detail=detail))


@final
class Planner:
    """Decides file by file. Everything here blocks and raises StoreError."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def plan(self, request: Request) -> list[Step]:
        """The steps by path; raises UserError if there is no such checkpoint."""
        with self._keeper.database.look() as db:
            workspace = records.find_workspace(db, request.root)
            if workspace is None or not records.has_number(db, workspace, request.number):
                raise UserError(
                    t("checkpoints.no_number", number=request.number, root=request.root),
                    hint=t("checkpoints.no_number_hint"),
                )
            rows = records.files_of(db, workspace, first=request.number, last=None)
            cut_off = records.cut_off(db, workspace, TOOL)
            inodes = records.inodes(db, workspace, first=request.number)
        chains: dict[str, list[tuple[int, ChangedFile]]] = {}
        for number, row in rows:
            chains.setdefault(row.path, []).append((number, row))
        wanted = [os.path.abspath(path) for path in request.paths]  # noqa: PTH100
        wanted += [real(path) for path in wanted]
        steps = [
            self._step(path, chain, cut_off, request)
            for path, chain in sorted(chains.items())
            if not wanted or any(is_below(path, one) for one in wanted)
            if not request.only or chain[0][0] == request.number
        ]
        return _not_below_files(_of_several_names(steps, inodes))

    def _step(
        self,
        path: str,
        chain: Sequence[tuple[int, ChangedFile]],
        cut_off: Collection[int],
        request: Request,
    ) -> Step:
        first = chain[0][1]
        now = observe.look(os.fsencode(path), limit=None, now=self._keeper.clock.now())
        to = first.was or observe.NOTHING
        step = Step(
            outcome=Outcome(path=path),
            now=now,
            to=to,
            new_folders=first.new_folders,
            number=chain[0][0],
        )
        if first.was is None:
            return step.hindered("not_covered", first.not_covered or "")
        if real(path) != path:
            return step.hindered("moved", os.path.dirname(real(path)))  # noqa: PTH120
        if now.state is None:
            known: Hindrance = "not_a_file" if now.reason == "not_a_file" else "unreadable"
            return step.hindered(known, now.detail)
        if now.state == to:
            half = to.kind == "nothing" and any(number in cut_off for number, _ in chain)
            return replace(step, half=half)
        if not request.overwrite:
            done = _as_done(chain, cut_off, now.state)
            hindrance = _edited(done, now.state)
            if request.only and not hindrance:
                hindrance = _edited(done[:1], now.state)
            if hindrance:
                return step.hindered(hindrance)
        if self._keeper.is_private(path):
            return step.hindered("not_kept")
        if now.state.size > self._keeper.limits.file and not request.overwrite:
            return step.hindered("not_kept", str(now.state.size))
        data = b""
        if to.sha256 is not None and not _same_content(now.state, to):
            try:
                data = self._keeper.contents.get(to.sha256)
            except Corrupt:
                return step.hindered("damaged")
        return replace(step, outcome=Outcome(path=path, deed=_deed(now.state, to)), data=data)


def _as_done(
    chain: Sequence[tuple[int, ChangedFile]], cut_off: Collection[int], now: FileState
) -> list[ChangedFile]:
    """`chain` with what restores that were killed did: of each file all, all but the mode, or
    nothing, which shows in what was found there afterwards."""
    done: list[ChangedFile] = []
    after = now
    for number, row in reversed(chain):
        if number in cut_off and row.was and row.left:
            if after != row.left and _same_content(after, row.was):
                continue
            if _same_content(after, row.left):
                row = dataclasses.replace(row, left=after)  # noqa: PLW2901
        done.append(row)
        after = row.was or after
    return done[::-1]


def _edited(chain: Sequence[ChangedFile], now: FileState) -> Hindrance | None:
    """Whether anybody but the agent changed the file since the first of `chain`."""
    if not chain:
        return None
    last = chain[-1].left
    if last is None:
        return "unknown"
    if not _same(last, now):
        return "edited_after"
    if any(change.mixed for change in chain):
        return "edited_between"
    for before, after in pairwise(chain):
        if before.left is None or after.was is None:
            return "unknown"
        if not _same(before.left, after.was):
            return "edited_between"
    return None


def _of_several_names(steps: Sequence[Step], inodes: Mapping[tuple[int, str], bytes]) -> list[Step]:
    """A file of several names is written once, through the name that was captured first, if it is
    the same file as then; what was a file of its own becomes one again."""
    writers: dict[bytes, Step] = {}
    result = []
    for step in sorted(steps, key=lambda step: step.number):
        now = step.now.state
        inode = observe.inode(step.now.identity)
        if step.outcome.deed == "written" and now and now.kind == "file" and _links(step) > 1:
            if inode != inodes.get((step.number, step.path)):
                step = replace(step, apart=True)  # noqa: PLW2901
            elif writer := writers.get(inode):
                step = replace(step, to=writer.to, data=writer.data, follows=True)  # noqa: PLW2901
            else:
                writers[inode] = step
        result.append(step)
    return sorted(result, key=lambda step: step.path)


def _links(step: Step) -> int:
    try:
        return os.lstat(step.path).st_nlink
    except OSError:
        return 0


def _not_below_files(steps: Sequence[Step]) -> list[Step]:
    """Without what would have to be made below a file that stays."""
    going = {step.path for step in steps if step.outcome.deed == "removed"}
    result = []
    for step in steps:
        if step.outcome.deed in ("written", "linked"):
            at = os.path.dirname(step.path)  # noqa: PTH120
            while not os.path.lexists(at):
                at = os.path.dirname(at)  # noqa: PTH120
            if not os.path.isdir(at) and at not in going:  # noqa: PTH112
                step = step.hindered("refused", t("checkpoints.not_a_folder", path=at))  # noqa: PLW2901
        result.append(step)
    return result


def _same(one: FileState, other: FileState) -> bool:
    return _same_content(one, other) and one.mode == other.mode


def _same_content(one: FileState, other: FileState) -> bool:
    return (one.kind, one.sha256) == (other.kind, other.sha256)


def _deed(now: FileState, to: FileState) -> Deed:
    if to.kind == "nothing":
        return "removed"
    if to.kind == "link":
        return "linked"
    return "mode" if _same_content(now, to) else "written"
