"""The files of this machine, natively; implements `ports.files.Files`."""

import os
import stat
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar, final

import anyio
from anyio.from_thread import check_cancelled

from hermes.core.clock import Clock
from hermes.ports.files import (
    Change,
    Committed,
    FileFault,
    FileStat,
    Output,
    Page,
    Tree,
    TreeEntry,
)
from hermes.terminals.commit_record import unfinished
from hermes.terminals.local_commit import commit, settle
from hermes.terminals.local_pages import Pages
from hermes.terminals.local_stat import fault, file_stat, kind_of, open_regular
from hermes.terminals.ripgrep import Ripgrep

T = TypeVar("T")

CHUNK = 1 << 20


@final
class LocalFiles:
    """`records` is a folder of the home for commits under way; `ripgrep` says how to start it."""

    def __init__(self, *, home: str | None, records: Path, clock: Clock, ripgrep: Ripgrep) -> None:
        self._home = home
        self._records = records
        self._clock = clock
        self._ripgrep = ripgrep
        self._pages = Pages(clock)

    @property
    def home(self) -> str | None:
        return self._home

    async def locate(self, raw: str, cwd: str, *, entry: bool = False) -> str:
        return await self._look(lambda: self._locate(raw, cwd, entry))

    async def named(self, raw: str, cwd: str) -> tuple[str, ...]:
        return await self._look(lambda: self._named(raw, cwd))

    async def stat(self, path: str) -> FileStat | None:
        return await self._look(lambda: self._stat(path))

    async def read(self, path: str, *, limit: int) -> tuple[bytes, FileStat]:
        return await self._look(lambda: self._read(path, limit))

    async def page(self, path: str, *, first: int, lines: int, width: int) -> Page:
        return await self._look(
            lambda: self._pages.page(path, first=first, lines=lines, width=width)
        )

    async def link(self, path: str) -> str:
        return await self._look(lambda: _guarded(path, os.readlink))

    async def names(self, folder: str) -> tuple[str, ...]:
        return await self._look(lambda: tuple(sorted(_guarded(folder, os.listdir))))

    async def tree(self, root: str, *, limit: int, folders: bool = False) -> Tree:
        return await self._look(lambda: _tree(root, limit, folders))

    async def commit(self, changes: Sequence[Change]) -> Committed:
        if not changes:
            return Committed(folders=(), written={})

        # Never abandoned: when the turn goes on, it is done or it is not.
        return await anyio.to_thread.run_sync(commit, changes, self._records)

    @asynccontextmanager
    async def ripgrep(self, arguments: Sequence[str]) -> AsyncIterator[Output | None]:
        async with self._ripgrep.run(arguments) as output:
            yield output

    async def _look(self, work: Callable[[], T]) -> T:
        """`work` in a thread that is left to itself when cancelled: it changes nothing."""

        def settled() -> T:
            self._settle()
            return work()

        return await anyio.to_thread.run_sync(settled, abandon_on_cancel=True)

    def _settle(self) -> None:
        if unfinished(self._records):
            settle(self._records)

    def _named(self, raw: str, cwd: str) -> tuple[str, ...]:
        meant = self._locate(raw, cwd, False)
        return tuple(dict.fromkeys((meant, self._locate(raw, cwd, True))))

    def _locate(self, raw: str, cwd: str, entry: bool) -> str:
        if "\0" in raw:
            raise FileFault("bad_path", raw, "the path contains a NUL character")
        path = self._expanded(raw)
        path = os.path.join(cwd, path)  # noqa: PTH118  pathlib drops a final slash
        name = os.path.basename(path)  # noqa: PTH119
        try:
            if entry and name not in ("", ".", ".."):
                parent = os.path.realpath(os.path.dirname(path))  # noqa: PTH120
                return os.path.join(parent, name)  # noqa: PTH118
            found = os.path.realpath(path)
            if stat.S_ISLNK(os.lstat(found).st_mode):
                raise FileFault("bad_path", found, "is a link that leads back to itself")
        except FileNotFoundError:
            pass
        except NotADirectoryError:
            pass
        except (OSError, ValueError) as e:
            raise fault(raw, e) from e
        return found

    def _expanded(self, raw: str) -> str:
        if raw == "~" or raw.startswith("~/"):
            if self._home is None:
                raise FileFault("bad_path", raw, "there is no home folder for ~")
            return self._home + raw[1:]
        if raw.startswith("~"):
            return os.path.expanduser(raw)  # noqa: PTH111  ~user; unknown ones stay as they are
        return raw

    def _stat(self, path: str) -> FileStat | None:
        try:
            return file_stat(os.lstat(path), self._clock)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            return None
        except (OSError, ValueError) as e:
            raise fault(path, e) from e

    def _read(self, path: str, limit: int) -> tuple[bytes, FileStat]:
        fd = open_regular(path)
        try:
            before = os.fstat(fd)
            if before.st_size > limit:
                raise FileFault("too_large", path, f"has {before.st_size} bytes")
            parts: list[bytes] = []
            size = 0
            while part := os.read(fd, max(CHUNK, before.st_size + 1 - size)):
                parts.append(part)
                size += len(part)
                check_cancelled()
                if size > limit:
                    raise FileFault("too_large", path, f"has more than {limit} bytes")
            after = os.fstat(fd)
        except OSError as e:
            raise fault(path, e) from e
        finally:
            os.close(fd)
        if after.st_size and (after.st_mtime_ns, size) != (before.st_mtime_ns, before.st_size):
            raise FileFault("changed", path, "was changed while it was read")
        return parts[0] if len(parts) == 1 else b"".join(parts), file_stat(after, self._clock)


def _guarded(path: str, look: Callable[[str], T]) -> T:
    try:
        return look(path)
    except (OSError, ValueError) as e:
        raise fault(path, e) from e


def _tree(root: str, limit: int, only_folders: bool) -> Tree:
    entries: list[TreeEntry] = []
    skipped: list[tuple[str, str]] = []
    folders = [root]
    while folders:
        folder = folders.pop()
        check_cancelled()
        try:
            found = os.scandir(folder)
        except (OSError, ValueError) as e:
            problem = fault(folder, e)
            if folder == root:
                raise problem from e
            skipped.append((folder, problem.reason))
            continue
        with found:
            for each in found:
                if only_folders and not each.is_dir(follow_symlinks=False):
                    continue
                if len(entries) == limit:
                    return Tree(entries=tuple(entries), skipped=tuple(skipped), complete=False)
                entry = _entry(each)
                if entry is None:
                    continue
                entries.append(entry)
                if entry.kind == "folder":
                    folders.append(entry.path)
    return Tree(entries=tuple(entries), skipped=tuple(skipped), complete=True)


def _entry(found: os.DirEntry[str]) -> TreeEntry | None:
    try:
        at = found.stat(follow_symlinks=False)
    except OSError:
        # It went away while its folder was listed.
        return None
    return TreeEntry(
        path=found.path, kind=kind_of(at.st_mode), size=at.st_size, mtime=at.st_mtime_ns
    )
