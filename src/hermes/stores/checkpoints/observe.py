"""What stands at a path on this machine, read so that it is one moment's content or none."""

import errno
import hashlib
import os
import stat
import struct
from typing import Final

from msgspec import Struct

from hermes.ports.files import SETTLED_SECONDS
from hermes.ports.undo import FileState, NotCovered, StateKind

ATTEMPTS: Final = 3
_CHUNK: Final = 1 << 20
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_IDENTITY: Final = struct.Struct("=QQQqq")


class Seen(Struct, frozen=True, kw_only=True):
    """A path as it was seen. With a `reason` why not, `state` is None.

    `data` is a file's content or a link's target. `identity` and `settled` are as in
    `ports.files.FileStat`, packed; empty where nothing stands.
    """

    state: FileState | None
    data: bytes = b""
    identity: bytes = b""
    settled: bool = False
    reason: NotCovered | None = None
    detail: str = ""


NOTHING: Final = FileState(kind="nothing")


def identity(found: os.stat_result) -> bytes:
    """What changes whenever the file does, once it is settled."""
    return _IDENTITY.pack(
        found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    )


def inode(identity: bytes) -> bytes:
    """The part of an identity that says which file it is: device and number."""
    return identity[:16]


def settled(found: os.stat_result, now: float) -> bool:
    return max(found.st_mtime_ns, found.st_ctime_ns) < (now - SETTLED_SECONDS) * 1e9


def look(path: bytes, *, limit: int | None, now: float) -> Seen:
    """See what stands at `path`; a file of more than `limit` bytes is not read. Never raises."""
    try:
        for _ in range(ATTEMPTS):
            found = os.lstat(path)
            if stat.S_ISLNK(found.st_mode):
                return _seen("link", os.readlink(path), found, now)  # noqa: PTH115
            if not stat.S_ISREG(found.st_mode):
                return Seen(state=None, reason="not_a_file")
            if limit is not None and found.st_size > limit:
                return Seen(
                    state=None,
                    identity=identity(found),
                    reason="too_large",
                    detail=str(found.st_size),
                )
            data = _read(path, found, limit)
            if data is not None:
                return _seen("file", data, found, now)
    except OSError as e:
        if e.errno in (errno.ENOENT, errno.ENOTDIR):
            return Seen(state=NOTHING)
        return Seen(state=None, reason="unreadable", detail=(e.strerror or str(e)).lower())
    except ValueError:
        return Seen(state=None, reason="unreadable", detail="the path contains a NUL character")
    return Seen(state=None, reason="changing")


def missing_folders(path: bytes) -> int:
    """How many of the folders above `path` are not there."""
    count = 0
    folder = os.path.dirname(path)  # noqa: PTH120
    while len(folder) > 1 and not os.path.lexists(folder):
        count += 1
        folder = os.path.dirname(folder)  # noqa: PTH120
    return count


def _seen(kind: StateKind, data: bytes, found: os.stat_result, now: float) -> Seen:
    state = FileState(
        kind=kind,
        sha256=hashlib.sha256(data).digest(),
        size=len(data),
        mode=stat.S_IMODE(found.st_mode) if kind == "file" else 0,
    )
    return Seen(state=state, data=data, identity=identity(found), settled=settled(found, now))


def _read(path: bytes, found: os.stat_result, limit: int | None) -> bytes | None:
    """The content, or None if it is not that of `found` from end to end."""
    fd = os.open(path, _OPEN)
    try:
        if identity(os.fstat(fd)) != identity(found):
            return None
        pieces = []
        length = 0
        while piece := os.read(fd, _CHUNK):
            pieces.append(piece)
            length += len(piece)
            if limit is not None and length > limit:
                return None
        if identity(os.fstat(fd)) != identity(found):
            return None
    finally:
        os.close(fd)
    return b"".join(pieces)


def is_file(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode)
