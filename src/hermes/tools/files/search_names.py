"""Which files and folders are searched, and which of them count."""

import os
import posixpath
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import anyio

from hermes.ports.files import FileFault, Files, FileStat, Output, Tree, TreeEntry
from hermes.tools.files.encoding import visible
from hermes.tools.files.globs import Glob
from hermes.tools.files.search_ignored import NAMES, RIPGREP, Ignored

ENTRIES: Final = 200_000
COMPLAINTS: Final = 5


@dataclass(frozen=True, slots=True)
class Root:
    """Where to search: `path` as it is shown, `real` its canonical form."""

    path: str
    real: str
    folder: bool

    def below(self, path: str) -> str:
        """The part of the shown `path` that lies below."""
        return path[len(self.path.rstrip("/")) + 1 :]

    def inside(self, below: str) -> tuple[str, str]:
        """What lies below at `below`, as it is shown and canonical."""
        if not below:
            return self.path, self.real
        return posixpath.join(self.path, below), posixpath.join(self.real, below)


@dataclass(slots=True, kw_only=True)
class Scope:
    """Which paths count. `all_` takes in hidden and ignored ones, `unreadable` says why a canonical
    path may not be read; a file that lies below two roots counts once."""

    glob: Glob | None
    unreadable: Callable[[str], str | None]
    all_: bool = False
    _seen: set[str] = field(default_factory=set)

    def again(self, *, all_: bool | None = None) -> "Scope":
        """The same for a search of its own."""
        return replace(self, all_=self.all_ if all_ is None else all_, _seen=set())

    @property
    def hidden(self) -> bool:
        """Whether hidden things count."""
        return self.all_ or (self.glob is not None and self.glob.hidden)

    def shows(self, below: str) -> bool:
        """Whether the relative path is none that is hidden; what is in `.git` always is."""
        if not (below.startswith(".") or "/." in below):
            return True
        return self.hidden and ".git" not in below.split("/")

    def takes(self, root: Root, below: str) -> Literal["yes", "no", "denied"]:
        """What to do with the hits at a path below `root`."""
        if below and not (self.shows(below) and (self.glob is None or self.glob.match(below))):
            return "no"
        real = root.inside(below)[1]
        if real in self._seen:
            return "no"
        self._seen.add(real)
        return "denied" if self.unreadable(real) else "yes"


@dataclass(slots=True)
class Listing:
    """What is below a root, by relative path, unsorted. `files` have their size and `mtimes` their
    time in nanoseconds, if Python looked. `links` counts those that are not followed."""

    files: dict[str, int] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    mtimes: dict[str, int] = field(default_factory=dict)
    links: int = 0
    notes: list[str] = field(default_factory=list)
    complete: bool = True


def filters(scope: Scope) -> list[str]:
    """The arguments by which ripgrep leaves out most of what does not count."""
    arguments = ["--no-config", *RIPGREP]
    if scope.hidden:
        arguments += ["--hidden", "--glob=!.git"]
    if scope.all_:
        arguments.append("--no-ignore")
    if scope.glob is not None and scope.glob.names:
        # A type, unlike a glob, takes in nothing that is ignored.
        arguments += [f"--type-add=hermes:{name}" for name in scope.glob.names]
        arguments.append("--type=hermes")
    return arguments


async def start(files: Files, root: Root, scope: Scope) -> str | None:
    """The folder below `root`, as a relative path, in which all lies that can count; None if
    nothing can."""
    if not root.folder or scope.glob is None or not scope.glob.folder:
        return ""
    folder = scope.glob.folder
    if ".git" in folder.split("/"):
        return None
    at = ""
    for part in folder.split("/"):
        at = posixpath.join(at, part)
        stat = await _stat(files, root.inside(at)[1])
        if stat is None or stat.kind != "folder":
            return None
    if not scope.all_ and await Ignored(files, root.real).hides(root.inside(at)[1], folder=True):
        return None
    return at


async def listing(files: Files, root: Root, scope: Scope, *, times: bool = False) -> Listing:
    """The files and folders below the folder `root` that may count; with `times` looked at by
    Python, whatever there is."""
    found = Listing()
    at = await start(files, root, scope)
    if at is None:
        return found
    if not times:
        arguments = [*filters(scope), "--files", "--null", "--", root.inside(at)[0]]
        if await _asked(files, arguments, root, at, scope, found):
            return found
    await _walk(files, root, at, scope, found)
    return found


async def _asked(
    files: Files, arguments: list[str], root: Root, at: str, scope: Scope, found: Listing
) -> bool:
    """Fill `found` by ripgrep, which knows no folders, and a look at these meanwhile; False if
    there is no ripgrep."""
    looked: list[Tree | FileFault] = []

    async def look() -> None:
        try:
            looked.append(await files.tree(root.inside(at)[1], limit=ENTRIES, folders=True))
        except FileFault as e:
            looked.append(e)

    async with files.ripgrep(arguments) as output:
        if output is None:
            return False
        async with anyio.create_task_group() as group:
            group.start_soon(look)
            await _read(output, root, scope, found)
    if isinstance(looked[0], FileFault):
        raise looked[0]
    await _folders(files, root, looked[0], scope, found)
    return True


async def _read(output: Output, root: Root, scope: Scope, found: Listing) -> None:
    async for name in records(output):
        below = root.below(os.fsdecode(name))
        if scope.shows(below):
            found.files[below] = 0
    found.notes += complaints((await output.end())[1])


async def _folders(files: Files, root: Root, tree: Tree, scope: Scope, found: Listing) -> None:
    """Add folders: those of the files, and others that `glob` matches and nothing hides."""
    known = {""}
    for below in found.files:
        while (below := posixpath.dirname(below)) not in known:
            known.add(below)
    ignored = Ignored(files, root.real)
    base = len(root.real.rstrip("/")) + 1
    for entry in tree.entries:
        below = entry.path[base:]
        if not scope.shows(below) or (scope.glob is not None and not scope.glob.match(below)):
            continue
        if below in known or scope.all_ or not await ignored.hides(entry.path, folder=True):
            found.folders.append(below)
    found.complete = tree.complete


async def _walk(files: Files, root: Root, at: str, scope: Scope, found: Listing) -> None:
    base = len(root.real.rstrip("/")) + 1
    tree = await files.tree(root.inside(at)[1], limit=ENTRIES)
    marks = (*NAMES, ".git")
    present = {entry.path for entry in tree.entries if posixpath.basename(entry.path) in marks}
    ignored = Ignored(files, root.real, None if at else present)
    for entry in tree.entries:
        below = entry.path[base:]
        folder = entry.kind == "folder"
        if scope.shows(below) and (
            scope.all_ or not await ignored.hides(entry.path, folder=folder)
        ):
            _add(found, below, entry)
    found.notes += [f"not searched: {folder}: {why}" for folder, why in tree.skipped[:COMPLAINTS]]
    if not tree.complete:
        found.notes.append(f"only {ENTRIES} names below {root.path} were looked at")
    found.complete = tree.complete


def _add(found: Listing, below: str, entry: TreeEntry) -> None:
    found.mtimes[below] = entry.mtime
    if entry.kind == "file":
        found.files[below] = entry.size
    elif entry.kind == "folder":
        found.folders.append(below)
    elif entry.kind == "link":
        found.links += 1


async def records(output: Output, end: bytes = b"\0") -> AsyncIterator[bytes]:
    """What a program says, piece by piece as `end` closes them."""
    rest = b""
    while piece := await output.receive():
        *whole, rest = (rest + piece).split(end)
        for each in whole:
            yield each


def complaints(said: str) -> list[str]:
    """What ripgrep could not read, by its stderr."""
    lines = [line.removeprefix("rg: ") for line in said.split("\n") if line.startswith("rg: ")]
    # A rule that is not closed fits nothing, as for git.
    lines = [line for line in lines if "error parsing glob" not in line]
    lines = [re.sub(r" \(os error \d+\)", "", line) for line in lines]
    return [f"not searched: {visible(line)}" for line in lines[:COMPLAINTS]]


async def _stat(files: Files, path: str) -> FileStat | None:
    try:
        return await files.stat(path)
    except FileFault:
        return None
