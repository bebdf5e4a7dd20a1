"""One serving shell: commands go in, output, status and state come out; see `shell_script`.

Its files lie in a folder of the session: FIFOs `out-N` and `dump-N`, which the forks of the shell
write to, and `run-N` and `adopt-N`, which they read. Where the sandbox cannot help it, commands may
change that folder: so Hermes writes through descriptors it opened before the first of them, and
takes nothing for a FIFO that is none.
"""

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
from hermes.system.i18n import t
from hermes.system.process import ENDED_WITHIN, TURNS, ProcessTree, Reaper, drained
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
from hermes.terminals.shell_ways import PIPE, Ways

DUMP: Final = 4 << 20
"""Bytes of state at most; a larger one is not carried on."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended; `state` is None if it left none."""

    status: int | None
    state: State | None


class Shell:
    """A bash that serves commands, one at a time; made by `Shell.start`."""

    def __init__(self, tree: ProcessTree, ways: Ways):
        self._tree = tree
        self._ways = ways
        self._out = -1
        self._said = b""
        self._dumped = bytearray()
        self._buffer = bytearray(PIPE)
        self._served = False
        self.state = NOTHING
        self._events = selectors.DefaultSelector()
        for fd in (ways.replies, ways.dump, tree.control):
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
        # While a keeper starts, there is time for the rest.
        reaper.warm()
        ways = Ways(folder, name)
        try:
            tree = reaper.start(
                [bash, "--noprofile", "--norc", "-c", serve(ways.path, files, login=login), "bash"],
                cwd=cwd,
                env=env,
                fds=dict(zip((REQUESTS, REPLIES), ways.shell_ends, strict=True)),
            )
            ways.close_shell_ends()
        except BaseException:
            ways.close()
            raise
        return cls(tree, ways)

    async def ready(self) -> None:
        """Wait until it serves; raises OSError or ToolError if it has ended before."""
        if self._served:
            return
        while self._reply() != READY:
            if self._tree.status() is not None:
                raise ToolError(t("terminal.shell_ended"))
            await self._ready()
            self._tree.hear()
        self._served = True

    def adopt(self, state: State) -> None:
        """Bring it into `state`."""
        if state is self.state:
            return
        self._ways.write("adopt", adoption(state, self.state, move=True) + b"\0")
        self._ask(ADOPT)
        self.state = state

    async def run(self, command: bytes, cwd: str, sink: Sink, timeout: float) -> Ended:
        """Run `command` in `cwd`; if `timeout` seconds pass, end it: `status` is None then.

        Cancelling ends it too.
        """
        self._ways.write("run", os.fsencode(cwd) + b"\0" + command + b"\0")
        self._read_dump()
        self._dumped.clear()
        since = _ticks()
        self._out = self._ways.open_out()
        self._events.register(self._out, selectors.EVENT_READ)
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

    @property
    def whole(self) -> bool:
        """Whether its files are still there."""
        return self._ways.whole()

    async def retire(self) -> None:
        """Have it exit; what its commands left running stays until its reaper is closed."""
        self._ways.close_requests()
        self._events.unregister(self._ways.replies)
        try:
            with anyio.fail_after(ENDED_WITHIN):
                while self._tree.status() is None:
                    await self._ready()
                    self._take(_nothing)
            self._tree.leave()
        except (OSError, ToolError):  # It never started, does not end, or nobody keeps it.
            await self._tree.end()
        finally:
            self._release()

    async def end(self) -> None:
        """End it and all that came of it while `run` is under way, which raises then."""
        await self._tree.end()

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
            elif key.fd == self._ways.dump:
                self._read_dump()
            elif key.fd != self._ways.replies:
                self._tree.hear()
                if self._tree.status() is not None:
                    self._events.unregister(key.fileobj)

    def _read(self, sink: Sink) -> None:
        for _ in range(TURNS):
            if self._out < 0:
                return
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
                self._dumped += os.read(self._ways.dump, PIPE)
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
            with suppress(OSError):  # The next command will be told.
                self.adopt(state)
        return state

    def _reply(self) -> str | None:
        with suppress(BlockingIOError):
            self._said += os.read(self._ways.replies, 64)
        line, newline, rest = self._said.partition(b"\n")
        if not newline:
            return None
        self._said = rest
        return line.decode()

    def _ask(self, request: bytes) -> None:
        with suppress(BrokenPipeError):  # It has ended, which shows in its status.
            os.write(self._ways.requests, request)

    async def _ready(self) -> None:
        await anyio.wait_readable(self._events.fileno())

    def _close(self) -> None:
        """Stop listening to the output; who still writes to it must neither stop nor be heard by
        the next command."""
        if self._out < 0:
            return
        self._events.unregister(self._out)
        self._tree.drop(self._out)
        self._out = -1
        self._ways.renew_out()

    def _release(self) -> None:
        self._events.close()
        self._ways.close()
        if self._out >= 0:
            os.close(self._out)
            self._out = -1


def _ticks() -> int:
    """Clock ticks since boot, in which Linux tells when a process started."""
    if sys.platform != "linux":
        return 0
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def _nothing(_: bytes) -> None:
    return
