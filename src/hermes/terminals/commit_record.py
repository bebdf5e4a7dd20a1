"""What a commit is about to do, written down first, so that a crash in the middle can be undone.

A record is a JSON file that its process keeps locked; the kernel drops the lock with the process.
What it names is enough to put everything back: for each path the file that held the old state, or
the inode of what was new.
"""

import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

log = logging.getLogger("hermes.terminals")

SUFFIX: Final = ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One change. `aside` is where the old file waits: renamed or linked there, or for
    `overwrite` (a file that must keep its inode) copied. `staged` is the new file's first name.
    `inode` (device, number) is that of what is new at `path`, or was moved there. `old` and `new`
    are the sha256, in hex, that an overwritten file had and gets.
    """

    kind: Literal["create", "replace", "overwrite", "remove", "move"]
    path: str
    staged: str = ""
    aside: str = ""
    source: str = ""
    inode: tuple[int, int] = (0, 0)
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The steps in order, and the folders that were made for them, outermost first. `done` tells
    that all is as it was to be, and only the old files are still to be dropped."""

    steps: tuple[Step, ...]
    folders: tuple[str, ...]
    done: bool = False


class OpenRecord:
    """A record on disk, locked by this process."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / f"{os.urandom(8).hex()}{SUFFIX}"
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC
        self._fd = os.open(self._path, flags, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def write(self, record: Record, *, durable: bool) -> None:
        """Replace what it says. An empty or cut record means that nothing was begun."""
        steps = [{name: getattr(step, name) for name in Step.__slots__} for step in record.steps]
        told = {"steps": steps, "folders": record.folders, "done": record.done}
        data = json.dumps(told).encode("ascii")
        os.pwrite(self._fd, data, 0)
        os.ftruncate(self._fd, len(data))
        if durable:
            os.fsync(self._fd)

    def close(self, *, keep: bool = False) -> None:
        """Let go of it: the commit is through, or undone, unless it must be kept to be undone."""
        if not keep:
            self._path.unlink(missing_ok=True)
        os.close(self._fd)


def abandoned(folder: Path) -> Iterator[tuple[Path, int]]:
    """Records that no process holds, each with a descriptor that locks it now; the caller
    closes it."""
    for path in _records(folder):
        try:
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            continue
        if path.exists():
            yield path, fd
        else:
            os.close(fd)


def unfinished(folder: Path) -> bool:
    """Whether any commit is under way, or was cut off. Costs one look at a folder."""
    return next(_records(folder), None) is not None


def _records(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            yield from [Path(e.path) for e in entries if e.name.endswith(SUFFIX)]
    except FileNotFoundError:
        return


def parse(data: bytes) -> Record | None:
    """The record that `data` holds, None if it was cut while it was written."""
    try:
        raw = json.loads(data)
        steps = tuple(Step(**{**s, "inode": tuple(s["inode"])}) for s in raw["steps"])
        return Record(steps=steps, folders=tuple(raw["folders"]), done=raw["done"])
    except (ValueError, KeyError, TypeError):
        return None


def tidy(record: Record) -> None:
    """Drop what a commit that is through has no more use for."""
    for step in record.steps:
        for name in (step.aside, step.staged):
            if name:
                with suppress(OSError):
                    Path(name).unlink(missing_ok=True)


def undo(record: Record) -> tuple[str, ...]:
    """Put back what was before `record`, in reverse; doing it twice does no more than once.

    Returns the paths that somebody has changed since: those are left alone, and what was there
    before them is kept beside them.
    """
    foreign = [step.path for step in reversed(record.steps) if not _undo(step)]
    for step in record.steps:
        if step.staged:
            Path(step.staged).unlink(missing_ok=True)
        if step.kind == "overwrite" and step.path not in foreign:
            Path(step.aside).unlink(missing_ok=True)
    for folder in reversed(record.folders):
        with suppress(OSError):
            Path(folder).rmdir()
    return tuple(foreign)


def _undo(step: Step) -> bool:
    match step.kind:
        case "create":
            if _inode(step.path) == step.inode:
                Path(step.path).unlink()
        case "replace" | "remove":
            return _put_back(step)
        case "overwrite":
            return _write_back(step)
        case "move":
            if _inode(step.source) is None and _inode(step.path) == step.inode:
                Path(step.path).rename(step.source)
    return True


def _put_back(step: Step) -> bool:
    aside = _inode(step.aside)
    if aside is None:
        return True
    there = _inode(step.path)
    if there == aside:
        # Linked aside, and not yet replaced.
        Path(step.aside).unlink()
    elif there is None or there == step.inode:
        Path(step.aside).rename(step.path)
    else:
        return False
    return True


def _write_back(step: Step) -> bool:
    try:
        now = Path(step.path).read_bytes()
    except FileNotFoundError:
        return False
    digest = hashlib.sha256(now).hexdigest()
    if digest == step.old:
        return True
    try:
        old = Path(step.aside).read_bytes()
    except FileNotFoundError:
        return True
    if hashlib.sha256(old).hexdigest() != step.old:
        # Cut while it was copied, so nothing was overwritten yet: what differs is somebody's.
        return False
    if digest != step.new and not _half(step, now, old):
        return False
    overwrite(step.path, old)
    return True


def _half(step: Step, now: bytes, old: bytes) -> bool:
    """Whether `now` is what a write of the new content over the old one left in the middle."""
    try:
        new = Path(step.staged).read_bytes()
    except FileNotFoundError:
        return False
    pairs = enumerate(zip(now, new, strict=False))
    written = next((at for at, (a, b) in pairs if a != b), min(len(now), len(new)))
    return now == new[:written] + old[written:] or now == new[:written]


def overwrite(path: str, data: bytes) -> None:
    """Write `data` into the file at `path`, which keeps its inode."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.ftruncate(fd, len(data))
        os.fsync(fd)
    finally:
        os.close(fd)


def _inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
