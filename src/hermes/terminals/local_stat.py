"""What the operating system says of a file of this machine, in the words of the `Files` port."""

import errno
import os
import stat
from pathlib import Path
from typing import Final

from hermes.core.clock import Clock
from hermes.ports.files import SETTLED_SECONDS, FaultCode, FileFault, FileKind, FileStat

KINDS: Final[dict[int, FileKind]] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
}

CODES: Final[dict[int, FaultCode]] = {
    errno.ENOENT: "missing",
    errno.ENOTDIR: "not_a_folder",
    errno.EISDIR: "not_a_file",
    errno.EEXIST: "exists",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.EROFS: "denied",
    errno.ETXTBSY: "denied",
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EFBIG: "full",
    errno.ENAMETOOLONG: "bad_path",
    errno.ELOOP: "bad_path",
    errno.EINVAL: "bad_path",
}


def fault(path: str, error: OSError | ValueError) -> FileFault:
    """The fault that `error` is for `path`."""
    if isinstance(error, OSError):
        code = CODES.get(error.errno or 0, "other")
        return FileFault(code, path, (error.strerror or str(error)).lower())
    return FileFault("bad_path", path, "the path contains a NUL character")


def kind_of(mode: int) -> FileKind:
    return KINDS.get(stat.S_IFMT(mode), "device")


def file_stat(found: os.stat_result, clock: Clock) -> FileStat:
    changed = max(found.st_mtime_ns, found.st_ctime_ns)
    return FileStat(
        kind=kind_of(found.st_mode),
        size=found.st_size,
        mode=stat.S_IMODE(found.st_mode),
        links=found.st_nlink,
        mtime=found.st_mtime_ns,
        identity=identity(found),
        settled=changed < (clock.now() - SETTLED_SECONDS) * 1e9,
    )


def identity(found: os.stat_result) -> tuple[int, ...]:
    return (
        found.st_dev,
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    )


def open_regular(path: str) -> int:
    """A descriptor to read the regular file at `path`; raises FileFault for anything else.

    Looks before it opens, as opening a device can be an act in itself.
    """
    try:
        found = Path(path).stat()
        if not stat.S_ISREG(found.st_mode):
            raise not_regular(path, found.st_mode)
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        mode = os.fstat(fd).st_mode
    except (OSError, ValueError) as e:
        raise fault(path, e) from e
    if not stat.S_ISREG(mode):
        os.close(fd)
        raise not_regular(path, mode)
    return fd


def not_regular(path: str, mode: int) -> FileFault:
    names = {"folder": "a folder", "fifo": "a named pipe", "socket": "a socket", "link": "a link"}
    return FileFault("not_a_file", path, f"is {names.get(kind_of(mode), 'a device')}, not a file")
