"""One file system, wherever it is: the files that a session's tools see.

Paths are absolute text, decoded as `os.fsdecode` does it (bytes that are no UTF-8 become lone
surrogates). Every method raises FileFault for what went wrong; cancelling one leaves nothing
running and nothing half written.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from hermes.core.errors import ToolError

FileKind = Literal["file", "folder", "link", "fifo", "socket", "device"]

FaultCode = Literal[
    "missing",  # there is nothing of this name
    "exists",  # there is something where nothing may be
    "not_a_file",  # a folder, pipe, socket or device where a regular file is needed
    "not_a_folder",
    "denied",  # no permission, or a read-only file system
    "full",  # no space, or over a quota
    "bad_path",  # NUL, too long, a loop of links
    "changed",  # not in the state that was expected
    "too_large",  # more than the limit that was asked for
    "unreachable",  # the machine it lives on does not answer
    "other",
]

SETTLED_SECONDS: Final = 2.0


class FileFault(ToolError):
    """What kept a file from being read or changed; `reason` is the bare cause in words."""

    def __init__(self, code: FaultCode, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.code = code
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStat:
    """What a name stands for. The link itself, if it is one.

    `mode` holds the permission bits. `identity` (device, inode, size, mtime and ctime in
    nanoseconds, as fine as that machine tells) is equal for an unchanged file; only if it was
    `settled` (both times more than SETTLED_SECONDS old when it was taken) does every later change
    show in it. `mtime` is in nanoseconds.
    """

    kind: FileKind
    size: int
    mode: int
    links: int
    mtime: int
    identity: tuple[int, ...]
    settled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Lines of a file, cut out as bytes.

    `lines` are without their final newline (a `\\r` before it stays); each is cut to the width
    that was asked for. `total` counts all lines, an unterminated last one too. `head` is the
    file's first SNIFF_BYTES, `size` the bytes that were there (of a pseudo-file: that were read).
    `ended` tells whether the file's last byte is a newline (true for an empty file). `sha256` is
    of the whole file, or None if it has more than DIGEST_BYTES.
    """

    lines: tuple[bytes, ...]
    total: int
    size: int
    head: bytes
    ended: bool
    sha256: bytes | None
    stat: FileStat


SNIFF_BYTES: Final = 64 << 10
DIGEST_BYTES: Final = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Put `data` at `path`: whole or not at all, verified, folders made as needed.

    `expect` is the sha256 of what must be there, None if nothing may be there. An existing file
    keeps mode, owner, extended attributes and hard links; a new one takes them from `like`, if
    given (the file it is a changed copy of).
    """

    path: str
    data: bytes
    expect: bytes | None
    like: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Take away the file, or the link itself, at `path`. A file must have the sha256 `expect`."""

    path: str
    expect: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Rename the file or link `source` to `target`, where nothing may be."""

    source: str
    target: str


Change = Write | Remove | Move


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What a commit left: the folders it made, outermost first, and the sha256 of each file that
    it wrote, by path."""

    folders: tuple[str, ...]
    written: Mapping[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """Something below a folder, by its whole path; `mtime` in nanoseconds."""

    path: str
    kind: FileKind
    size: int
    mtime: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """What is below a folder, in no order. `skipped` are folders that could not be read, with
    the reason; `complete` is false if there was more than the limit."""

    entries: tuple[TreeEntry, ...]
    skipped: tuple[tuple[str, str], ...]
    complete: bool


class Output(Protocol):
    """The running output of a program."""

    async def receive(self) -> bytes:
        """The next piece of its stdout; empty at its end."""
        ...

    async def end(self) -> tuple[int, str]:
        """Its exit code and what it said on stderr (the first 10,000 bytes); after the end."""
        ...


class Files(Protocol):
    """The files of one machine."""

    @property
    def home(self) -> str | None:
        """The person's home folder there, which `~` stands for."""
        ...

    async def locate(self, raw: str, cwd: str, *, entry: bool = False) -> str:
        """The canonical absolute path of `raw`: `~` expanded, all links followed.

        With `entry` the last component stays as it is, link or not. What does not exist is
        resolved as far as it does. Faults: bad_path.
        """
        ...

    async def named(self, raw: str, cwd: str) -> tuple[str, ...]:
        """Both that `raw` may mean, in one look: the file, as `locate` finds it, and its name
        itself, if that is a link. Faults: bad_path."""
        ...

    async def stat(self, path: str) -> FileStat | None:
        """What stands at `path`, None if nothing does."""
        ...

    async def read(self, path: str, *, limit: int) -> tuple[bytes, FileStat]:
        """All of a regular file. Faults: missing, not_a_file, denied, too_large.

        Never blocks on a pipe or device. A file that grows while it is read gives a fault
        `changed`, never a mixture that is passed off as its content.
        """
        ...

    async def page(self, path: str, *, first: int, lines: int, width: int) -> Page:
        """Lines `first` (from 1) to `first + lines - 1`, each cut to `width` bytes, of a regular
        file of any size. Memory is bounded by the page, not the file. Faults as `read`."""
        ...

    async def link(self, path: str) -> str:
        """Where the link at `path` points, as it is written there. Faults: missing."""
        ...

    async def names(self, folder: str) -> tuple[str, ...]:
        """The names in `folder`, sorted. Faults: missing, not_a_folder, denied."""
        ...

    async def tree(self, root: str, *, limit: int, folders: bool = False) -> Tree:
        """Everything below `root` (hidden things too, links not followed), at most `limit`; with
        `folders` only the folders, which is quicker."""
        ...

    async def commit(self, changes: Sequence[Change]) -> Committed:
        """Make all of `changes` or none of them, also if this process is killed in the middle.

        No path may occur twice. Everything is checked and staged before anything is changed; a
        fault in the middle puts back what was there. What was cut off by a kill is finished or
        undone before the next use of these files. Faults: any; then nothing was changed.
        """
        ...

    def ripgrep(self, arguments: Sequence[str]) -> AbstractAsyncContextManager[Output | None]:
        """Run ripgrep there with `arguments`; None if there is none. Leaving ends it."""
        ...
