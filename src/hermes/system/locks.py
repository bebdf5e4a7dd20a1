"""Locks between processes, and names for processes that a reused pid cannot fake.

A lock dies with its holder: the kernel drops it, whatever killed the process.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

import anyio

from hermes.core.errors import UserError
from hermes.system.i18n import t

_POLL = 0.02
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """A process, told apart from every other one that ever had its pid.

    `started` is in clock ticks since boot (field 22 of /proc/<pid>/stat). Where there is no /proc,
    `boot` is empty and `started` 0: such an identity is weak, because a reused pid looks alive.
    """

    boot: str
    pid: int
    started: int

    @property
    def weak(self) -> bool:
        return not self.boot

    def __str__(self) -> str:
        return f"{self.boot}:{self.pid}:{self.started}"

    @classmethod
    def parse(cls, text: str) -> "ProcessIdentity":
        """The identity that `str` made into `text`; raises ValueError."""
        boot, pid, started = text.strip().split(":")
        return cls(boot=boot, pid=int(pid), started=int(started))


def process_identity(pid: int | None = None) -> ProcessIdentity:
    """The identity of this process, or of the running process `pid`.

    Raises ProcessLookupError if there is no such process.
    """
    pid = os.getpid() if pid is None else pid
    boot = _boot_id()
    if not boot:
        if not _pid_exists(pid):
            raise ProcessLookupError(pid)
        return ProcessIdentity(boot="", pid=pid, started=0)
    started = _started(pid)
    if started is None:
        raise ProcessLookupError(pid)
    return ProcessIdentity(boot=boot, pid=pid, started=started)


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether that very process still runs; a zombie does not. Asks the kernel only."""
    if identity.weak:
        return _pid_exists(identity.pid)
    return identity.boot == _boot_id() and identity.started == _started(identity.pid)


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return ""


def _started(pid: int) -> int | None:
    try:
        # proc(5): the command in parentheses may hold anything, so count from the last ")".
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in {b"Z", b"X"} else int(fields[19])


def _pid_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@final
class FileLock:
    """An advisory lock on a file of its own, exclusive between processes and within one.

    The file stays when the lock is released: removing it would let two processes lock two files
    of one name. It holds the identity of its last holder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._fd is not None

    def try_acquire(self) -> bool:
        """Take the lock if it is free; raises OSError if the file cannot be opened."""
        if self._fd is not None:
            return False
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        # Who holds it is only told for people; a full disk must not take the lock away.
        with contextlib.suppress(OSError):
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{process_identity()}\n".encode(), 0)
        return True

    def release(self) -> None:
        """Give the lock back; does nothing if it is not held."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def owner(self) -> ProcessIdentity | None:
        """The last holder if it is still alive, for telling a person; the lock itself decides."""
        try:
            identity = ProcessIdentity.parse(self.path.read_text("ascii"))
        except (OSError, ValueError):
            return None
        return identity if is_alive(identity) else None

    @contextlib.contextmanager
    def hold(self, timeout: float) -> Iterator[None]:
        """Hold the lock, waiting at most `timeout` seconds; raises UserError naming the holder."""
        deadline = time.monotonic() + timeout
        while not self.try_acquire():
            if time.monotonic() >= deadline:
                raise self._refusal(timeout)
            time.sleep(_POLL)
        try:
            yield
        finally:
            self.release()

    @contextlib.asynccontextmanager
    async def held_for(self, timeout: float) -> AsyncIterator[None]:
        """`hold` for a task: other tasks go on while this one waits."""
        deadline = time.monotonic() + timeout
        while not self.try_acquire():
            if time.monotonic() >= deadline:
                raise self._refusal(timeout)
            await anyio.sleep(_POLL)
        try:
            yield
        finally:
            self.release()

    def _refusal(self, seconds: float) -> UserError:
        owner = self.owner()
        message = (
            t("files.locked_by_unknown", path=self.path, seconds=seconds)
            if owner is None
            else t("files.locked", path=self.path, pid=owner.pid, seconds=seconds)
        )
        return UserError(message, hint=t("files.locked_hint"))
