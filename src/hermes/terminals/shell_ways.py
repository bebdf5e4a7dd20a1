"""The files and pipes over which a serving shell and Hermes speak; see `shell`."""

import errno
import fcntl
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

PIPE: Final = 1 << 20
"""Bytes that a pipe may hold; Linux allows as much by default."""

FIFOS: Final = ("out", "dump")
FILES: Final = ("run", "adopt")


class Ways:
    """What belongs to the shell `name`, in the `folder` of a session. Raises OSError if it cannot
    be made.

    `requests` and `replies` are Hermes's ends of two pipes, `shell_ends` the other ones. `dump` is
    the FIFO for states.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._open: set[int] = set()
        self._files: dict[str, int] = {}
        try:
            for part in FIFOS:
                os.mkfifo(self.path(part), 0o600)
            for part in FILES:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
                self._files[part] = self._kept(os.open(self.path(part), flags, 0o600))
            # Opened for both ways, it is never at its end, whoever writes to it.
            self.dump = self._kept(os.open(self.path("dump"), os.O_RDWR | os.O_NONBLOCK))
            _widen(self.dump)
            theirs, self.requests = map(self._kept, os.pipe())
            self.replies, out = map(self._kept, os.pipe())
            self.shell_ends = theirs, out
            os.set_blocking(self.replies, False)
        except BaseException:
            self.close()
            raise

    def path(self, part: str) -> Path:
        """Where one of FIFOS or FILES is."""
        return self._folder / f"{part}-{self._name}"

    def write(self, part: str, data: bytes) -> None:
        """Put `data` into one of FILES; raises OSError if it does not get in whole."""
        fd = self._files[part]
        # Emptying a file first would make ext4 wait for the disk.
        left, at = memoryview(data), 0
        while left:
            size = os.pwrite(fd, left, at)
            left, at = left[size:], at + size
        os.ftruncate(fd, at)

    def whole(self) -> bool:
        """Whether nobody has taken a file away."""
        try:
            fifos = all(stat.S_ISFIFO(self.path(part).lstat().st_mode) for part in FIFOS)
        except OSError:
            return False
        return fifos and all(os.fstat(fd).st_nlink for fd in self._files.values())

    def open_out(self) -> int:
        """The FIFO for output, opened for reading; raises OSError."""
        out = os.open(self.path("out"), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        if not stat.S_ISFIFO(os.fstat(out).st_mode):
            os.close(out)
            raise OSError(errno.EINVAL, "the way out of the shell was tampered with")
        _widen(out)
        return out

    def renew_out(self) -> None:
        """Have another FIFO for output, which nobody writes to yet."""
        with suppress(OSError):  # Without one `whole` is false.
            self.path("out").unlink(missing_ok=True)
            os.mkfifo(self.path("out"), 0o600)

    def close_shell_ends(self) -> None:
        """Once the shell has them."""
        for fd in self.shell_ends:
            self._open.discard(fd)
            os.close(fd)

    def close_requests(self) -> None:
        """Ask for nothing more: the shell exits."""
        self._open.discard(self.requests)
        os.close(self.requests)

    def close(self) -> None:
        """Close and remove everything."""
        while self._open:
            os.close(self._open.pop())
        for part in (*FIFOS, *FILES):
            with suppress(OSError):
                self.path(part).unlink(missing_ok=True)

    def _kept(self, fd: int) -> int:
        self._open.add(fd)
        return fd


def _widen(fd: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE)
