"""What `stat` says in a shell, in the words of the `Files` port."""

import re
import stat
from typing import Final

from hermes.ports.files import SETTLED_SECONDS, FileKind, FileStat

SECOND: Final = 1_000_000_000

KINDS: Final[dict[int, FileKind]] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
}

FRACTION: Final = re.compile(rb"\.(\d{1,9})")


def kind_of(mode: int) -> FileKind:
    return KINDS.get(stat.S_IFMT(mode), "device")


def nanoseconds(seconds: bytes, text: bytes) -> int:
    """Whole `seconds` with the fraction that stands in `text`, if that machine tells it."""
    found = FRACTION.search(text)
    return int(seconds) * SECOND + (int(found[1].ljust(9, b"0")) if found else 0)


def parse_stat(line: bytes, now: int) -> FileStat:
    """The `FileStat` of one line of `st` (see `scripts`), `now` in seconds of that machine."""
    raw, size, links, device, inode, changed, altered, times = line.split(b" ", 7)
    mode = int(raw, 16)
    first, _, second = times.partition(b"|")
    mtime, ctime = nanoseconds(changed, first), nanoseconds(altered, second)
    return FileStat(
        kind=kind_of(mode),
        size=int(size),
        mode=stat.S_IMODE(mode),
        links=int(links),
        mtime=mtime,
        identity=(int(device), int(inode), int(size), mtime, ctime),
        settled=max(mtime, ctime) < (now - SETTLED_SECONDS) * SECOND,
    )
