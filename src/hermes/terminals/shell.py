"""One serving shell: commands go in, output, status and state come out; see `shell_script`.

Its files lie in a folder that only Hermes writes: FIFOs `out-N` and `dump-N`, which the forks of
the shell write to, and `run-N` and `adopt-N`, which they read.
"""

import fcntl
import os
import selectors
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
from anyio import CancelScope

from hermes.core.errors import ToolError
from hermes.ports.terminal import Sink
from hermes.system.process import ENDED_WITHIN, ProcessTree, Reaper, drained
from hermes.terminals.shell_script import (
    ADOPT,
    NOTHING,
    READY,
    REPLIES,
    REQUESTS,
    RUN,
    State,
    adoption,
    read_dump,
    serve,
)

PIPE: Final = 1 << 20
"""Bytes that a pipe may hold; Linux allows as much by default."""

DUMP: Final = 4 << 20
"""Bytes of state at most; a larger one is not carried on."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended; `state` is None if it left none."""

    status: int | None
    state: State | None


class Shell:
    """A bash that serves commands, one at a time; made by `Shell.start`."""

    def __init__(self, tree: ProcessTree, requests: int, replies: int, folder: Path, name: str):
        self._tree = tree
        self._requests = requests
        self._replies = replies
        self._folder = folder
        self._name = name
        self._out = -1
        self._said = b""
        self._dumped = bytearray()
        self._buffer = bytearray(PIPE)
        self.state = NOTHING
        self._make("out")
        self._make("dump")
        # Opened for both ways, it is never at its end, whoever writes to it.
        self._dump = os.open(self._path("dump"), os.O_RDWR | os.O_NONBLOCK)
        _widen(self._dump)
        self._events = selectors.DefaultSelector()
        for fd in (self._replies, self._dump, tree.control):
            self._events.register(fd, selectors.EVENT_READ)

    @classmethod
    def start(
        cls,
        reaper: Reaper,
        bash: str,
        *,
        folder: Path,
        name: str,
        cwd: str,
        env: Mapping[str, str],
        login: bool,
        files: tuple[str, ...],
    ) -> "Shell":
        """Start one; `login` reads the profile, `files` are read after it. Raises OSError."""
        theirs, requests = os.pipe()
        replies, out = os.pipe()
        os.set_blocking(replies, False)
        text = serve(folder, name, files)
        options = ["--login"] if login else ["--noprofile"]
        try:
            tree = reaper.start(
                [bash, *options, "--norc", "-c", text, "bash"],
                cwd=cwd,
                env=env,
                fds={REQUESTS: theirs, REPLIES: out},
            )
        except BaseException:
            os.close(requests)
            os.close(replies)
            raise
        finally:
            os.close(theirs)
            os.close(out)
        return cls(tree, requests, replies, folder, name)

    async def ready(self) -> None:
        """Wait until it serves; raises OSError or ToolError if it has ended before."""
        while self._reply() != READY:
            if self._tree.status() is not None:
                raise ToolError("the shell ended while it started")
            await self._ready()
            self._tree.hear()

    def adopt(self, state: State) -> None:
        """Bring it into `state`."""
        if state is self.state:
            return
        self._write("adopt", adoption(state, self.state))
        self._ask(ADOPT)
        self.state = state

    async def run(self, command: bytes, cwd: str, sink: Sink, timeout: float) -> Ended:
        """Run `command` in `cwd`; if `timeout` seconds pass, end it: `status` is None then.

        Cancelling ends it too.
        """
        self._write("run", os.fsencode(cwd) + b"\0" + command + b"\0")
        self._read_dump()
        self._dumped.clear()
        since = _ticks()
        self._open()
        status: int | None = None
        cut = False
        try:
            self._ask(RUN)
            with anyio.move_on_after(timeout) as scope:
                status = await self._status(sink)
            cut = scope.cancelled_caught
        except BaseException:
            await self._end_call(since, _nothing)
            self._close()
            raise
        if cut:
            status = await self._end_call(since, sink)
        if not self.alive:
            # The command may have outlived its shell.
            await self._tree.end()
        await self._drain(sink)
        left = self._take_dump()
        return Ended(None if cut else status, left)

    @property
    def alive(self) -> bool:
        """Whether it can run another command."""
        try:
            return self._tree.status() is None
        except (OSError, ToolError):
            return False

    async def close(self) -> None:
        """End it and all that came of it."""
        await self._tree.end()
        self._release()

    async def _status(self, sink: Sink) -> int:
        """The status of the running command, or of the shell if that has ended."""
        while True:
            if (reply := self._reply()) is not None:
                return int(reply)
            if (status := self._tree.status()) is not None:
                return status
            await self._ready()
            self._take(sink)

    async def _end_call(self, since: int, sink: Sink) -> int | None:
        """End the running command; if that does not help in time, the shell with it."""
        self._tree.end_call(since)
        with CancelScope(shield=True):
            with anyio.move_on_after(ENDED_WITHIN), suppress(ToolError):
                status = await self._status(sink)
                while self._tree.ending and self._tree.status() is None:
                    await self._ready()
                    self._take(sink)
                return status
            await self._tree.end()
        return None

    async def _drain(self, sink: Sink) -> None:
        """Take the rest of the output; if somebody still holds it, hand it to the keeper."""

        def take() -> bool:
            self._take(sink)
            # Only now: a FIFO that nobody has opened yet looks like one at its end.
            self._read(sink)
            return self._out >= 0

        with CancelScope(shield=True):
            await drained(self._ready, take)
        self._close()

    def _take(self, sink: Sink) -> None:
        for key, _ in self._events.select(0):
            if key.fd == self._out:
                self._read(sink)
            elif key.fd == self._dump:
                self._read_dump()
            elif key.fd != self._replies:
                self._tree.hear()
                if self._tree.status() is not None:
                    self._events.unregister(key.fileobj)

    def _read(self, sink: Sink) -> None:
        while self._out >= 0:
            try:
                size = os.readv(self._out, [self._buffer])
            except BlockingIOError:
                return
            if not size:
                self._events.unregister(self._out)
                os.close(self._out)
                self._out = -1
                return
            sink(bytes(memoryview(self._buffer)[:size]))

    def _read_dump(self) -> None:
        with suppress(BlockingIOError):
            while True:
                self._dumped += os.read(self._dump, PIPE)
                if len(self._dumped) > DUMP:
                    self._dumped.clear()

    def _take_dump(self) -> State | None:
        """The state that the last command left; the shell is brought into it at once, while the
        model thinks."""
        self._read_dump()
        state = read_dump(bytes(self._dumped))
        if state is None:
            return None
        if state == self.state:
            return self.state
        if self._tree.status() is None:
            self.adopt(state)
        return state

    def _reply(self) -> str | None:
        with suppress(BlockingIOError):
            self._said += os.read(self._replies, 64)
        line, newline, rest = self._said.partition(b"\n")
        if not newline:
            return None
        self._said = rest
        return line.decode()

    def _ask(self, request: bytes) -> None:
        with suppress(BrokenPipeError):  # It has ended, which shows in its status.
            os.write(self._requests, request)

    async def _ready(self) -> None:
        await anyio.wait_readable(self._events.fileno())

    def _open(self) -> None:
        self._out = os.open(self._path("out"), os.O_RDONLY | os.O_NONBLOCK)
        _widen(self._out)
        self._events.register(self._out, selectors.EVENT_READ)

    def _close(self) -> None:
        """Stop listening to the output; who still writes to it must neither stop nor be heard by
        the next command."""
        if self._out < 0:
            return
        self._events.unregister(self._out)
        self._tree.drop(self._out)
        self._out = -1
        self._path("out").unlink(missing_ok=True)
        self._make("out")

    def _release(self) -> None:
        self._events.close()
        for fd in (self._requests, self._replies, self._dump, self._out):
            if fd >= 0:
                os.close(fd)
        for part in ("out", "dump", "run", "adopt"):
            self._path(part).unlink(missing_ok=True)

    def _make(self, part: str) -> None:
        os.mkfifo(self._path(part), 0o600)

    def _write(self, part: str, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW
        fd = os.open(self._path(part), flags, 0o600)
        try:
            # Emptying a file first would make ext4 wait for the disk.
            os.pwrite(fd, data, 0)
            os.ftruncate(fd, len(data))
        finally:
            os.close(fd)

    def _path(self, part: str) -> Path:
        return self._folder / f"{part}-{self._name}"


def _widen(fd: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE)


def _ticks() -> int:
    """Clock ticks since boot, in which Linux tells when a process started."""
    if sys.platform != "linux":
        return 0
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def _nothing(_: bytes) -> None:
    return
