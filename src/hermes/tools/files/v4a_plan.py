"""What a parsed patch comes to: the final state of each path, or everything that is wrong with it.

Operations are played in order on a picture of the files; nothing is changed here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import anyio

from hermes.ports.files import FileKind
from hermes.tools.files.v4a_hunks import update
from hermes.tools.files.v4a_types import (
    AddFile,
    DeleteFile,
    FaultCode,
    MoveFile,
    Operation,
    Parsed,
    PatchFault,
    Problem,
    UpdateFile,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanProblem:
    """Why a file cannot be had: `message` is a whole sentence, with the path."""

    code: FaultCode
    message: str


class Reader(Protocol):
    """The files as they are before the patch."""

    async def locate(self, path: str, *, entry: bool) -> str | PlanProblem:
        """The canonical name of `path`, which is as it is written in the patch; with `entry` a
        link in its last component stays itself. The other methods take what this gives."""
        ...

    async def kind(self, path: str) -> FileKind | None:
        """What stands at `path`, None if nothing does."""
        ...

    async def text(self, path: str) -> str | PlanProblem:
        """The decoded text of the file at `path`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteText:
    """`path` gets `text`. `created` tells that nothing was there; `like` is the file that this
    is a changed copy of, if it was at another path."""

    path: str
    text: str
    created: bool
    like: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveEntry:
    """Nothing is at `path` any more."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveEntry:
    """What is at `source` goes to `target`, where nothing was, as it is."""

    source: str
    target: str


PlannedChange = WriteText | RemoveEntry | MoveEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Changes to make, no path twice in them; none if all is so already, which `notes` say.

    The lists for the report hold canonical paths in the order of the headers, each once:
    `modified` everything that is changed in any way, `moved` pairs of old and new path.
    """

    changes: tuple[PlannedChange, ...]
    modified: tuple[str, ...]
    created: tuple[str, ...]
    deleted: tuple[str, ...]
    moved: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


async def plan(parsed: Parsed, files: Reader) -> Planned | PatchFault:
    """What `parsed` makes of `files`, or all that is wrong with it."""
    picture = _Picture(files)
    for operation in parsed.operations:
        await picture.play(operation)
    if not picture.problems:
        changes = await picture.changes()
        if not picture.problems and (changes or picture.done):
            return _planned(changes, picture)
    if not picture.problems:
        message = (
            "the patch leaves every file as it is. Lines to remove are led by -, new ones by +."
        )
        picture.problems.append(Problem(code="nothing_to_do", line=1, message=message))
    return PatchFault(problems=tuple(picture.problems))


@dataclass(slots=True)
class _Node:
    """A file in the picture. `origin` is where it was on disk, None if it is new; `text` is None
    as long as nobody asked, `before` what it was at its origin."""

    origin: str | None
    kind: FileKind = "file"
    text: str | None = None
    before: str | None = None


class _Failed(Exception):
    """An operation that cannot be done."""

    def __init__(self, problem: PlanProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class _Picture:
    """Paths that the patch names, and what is there after the operations so far."""

    def __init__(self, files: Reader) -> None:
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.done = 0
        self.named: dict[str, None] = {}
        self._files = files
        self._disk: dict[str, FileKind | None] = {}
        self._nodes: dict[str, _Node | None] = {}

    async def play(self, operation: Operation) -> None:
        try:
            match operation:
                case UpdateFile():
                    await self._update(operation)
                case AddFile():
                    await self._add(operation)
                case DeleteFile():
                    path = await self._locate(operation.path, entry=True)
                    await self._node(path, "Leave its Delete out.")
                    self._nodes[path] = None
                case MoveFile():
                    await self._move(operation.source, operation.target)
        except _Failed as e:
            self._report(operation.line, e.problem)

    async def _update(self, operation: UpdateFile) -> None:
        path = await self._locate(operation.path, entry=False)
        if operation.hunks:
            node = await self._node(path, "Use `*** Add File:` to make it.")
            text = await self._text(path, node)
            # Work in proportion to the file; a turn that is stopped need not wait for it.
            work = partial(update, text, operation.hunks, operation.path)
            made = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
            self.problems += made.problems
            self.notes += made.notes
            self.done += made.done
            if not made.problems:
                node.text = made.text
        if operation.move_to not in (None, operation.path):
            await self._move(operation.path, operation.move_to)

    async def _add(self, operation: AddFile) -> None:
        path = await self._locate(operation.path, entry=False)
        if await self._is_there(path):
            node = self._nodes[path]
            if node is not None and await self._has(path, node, operation.content):
                self.done += 1
                self.notes.append(f"{path} is there already, with this text.")
                return
            message = f"{operation.path} exists. Use `*** Update File:`, or delete it first."
            raise _Failed(PlanProblem(code="exists", message=message))
        self._nodes[path] = _Node(origin=None, text=operation.content)

    async def _move(self, old: str, new: str) -> None:
        source = await self._locate(old, entry=True)
        target = await self._locate(new, entry=True)
        node = await self._node(source, "Look for the file to move with search_files.")
        if await self._is_there(target):
            message = (
                f"{old} cannot be moved: {new} exists. Delete it first, or choose another name."
            )
            raise _Failed(PlanProblem(code="exists", message=message))
        self._nodes[source] = None
        self._nodes[target] = node

    async def changes(self) -> tuple[PlannedChange, ...]:
        """The final states as changes of what is on disk; may find problems."""
        made: list[PlannedChange] = []
        carried: set[str] = set()
        for path, node in self._nodes.items():
            if node is None or node.origin == path:
                continue
            origin = node.origin
            if node.text == node.before and origin is not None:
                if self._nodes[origin] is None and self._disk[path] is None:
                    made.append(MoveEntry(source=origin, target=path))
                    carried.add(origin)
                    continue
                await self._load(path, node)
            made.append(self._write(path, node))
        for path, node in self._nodes.items():
            if node is None and self._disk[path] is not None and path not in carried:
                made.append(RemoveEntry(path=path))
            elif node is not None and node.origin == path and node.text != node.before:
                made.append(self._write(path, node))
        return tuple(made)

    async def _load(self, path: str, node: _Node) -> None:
        try:
            await self._text(path, node)
        except _Failed as e:
            self._report(1, e.problem)

    def _write(self, path: str, node: _Node) -> WriteText:
        like = node.origin if node.origin != path else None
        created = self._disk[path] is None
        return WriteText(path=path, text=node.text or "", created=created, like=like)

    async def _locate(self, path: str, *, entry: bool) -> str:
        found = await self._files.locate(path, entry=entry)
        if isinstance(found, PlanProblem):
            raise _Failed(found)
        self.named[found] = None
        return found

    async def _is_there(self, path: str) -> bool:
        if path not in self._nodes:
            kind = self._disk[path] = await self._files.kind(path)
            self._nodes[path] = None if kind is None else _Node(origin=path, kind=kind)
        return self._nodes[path] is not None

    async def _node(self, path: str, instead: str) -> _Node:
        """The file or link at `path`; `instead` is what to do if there is none."""
        await self._is_there(path)
        node = self._nodes[path]
        if node is None:
            message = f"{path} does not exist. {instead}"
            raise _Failed(PlanProblem(code="missing", message=message))
        if node.kind not in ("file", "link"):
            message = f"{path} is a {node.kind}. Only files can be patched."
            raise _Failed(PlanProblem(code="not_a_file", message=message))
        return node

    async def _text(self, path: str, node: _Node) -> str:
        if node.text is not None:
            return node.text
        if node.kind == "link":
            message = f"{path} is a link that this patch moves. Update the file that it leads to."
            raise _Failed(PlanProblem(code="not_a_file", message=message))
        text = await self._files.text(node.origin or path)
        if isinstance(text, PlanProblem):
            raise _Failed(text)
        node.text = node.before = text
        return text

    async def _has(self, path: str, node: _Node, content: str) -> bool:
        if node.kind != "file":
            return False
        try:
            return await self._text(path, node) == content
        except _Failed:
            return False

    def _report(self, line: int, problem: PlanProblem) -> None:
        self.problems.append(Problem(code=problem.code, line=line, message=problem.message))


def _planned(changes: tuple[PlannedChange, ...], picture: _Picture) -> Planned:
    changed: set[str] = set()
    moved: dict[str, str] = {}
    for change in changes:
        match change:
            case WriteText():
                changed.add(change.path)
                if change.like is not None:
                    moved[change.like] = change.path
            case RemoveEntry():
                changed.add(change.path)
            case MoveEntry():
                changed.update((change.source, change.target))
                moved[change.source] = change.target
    removed = {change.path for change in changes if isinstance(change, RemoveEntry)}
    created = {
        change.path for change in changes if isinstance(change, WriteText) and change.created
    }

    def ordered(paths: Iterable[str]) -> tuple[str, ...]:
        wanted = set(paths)
        return tuple(path for path in picture.named if path in wanted)

    return Planned(
        changes=changes,
        modified=ordered(changed),
        created=ordered(created - set(moved.values())),
        deleted=ordered(removed - set(moved)),
        moved=tuple((path, moved[path]) for path in ordered(moved)),
        notes=tuple(picture.notes),
    )
