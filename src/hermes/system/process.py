"""Child processes that can always be ended whole: the only place where Hermes starts any.

A command and all that comes of it form a `ProcessTree`, held by a keeper process (`keeper/keeper`,
where the protocol is described) that is started with the first command and lives as long as Hermes.
The tree ends when it is told to, and when Hermes ends, be it by `kill -9`. On Linux that includes
processes that left the group and the session (`setsid`, double fork); on other POSIX systems such
escapees are out of reach, and the command's process group is what is ended.
"""

import errno
import os
import selectors
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

import anyio
from anyio import CancelScope

from hermes.core.errors import ToolError
from hermes.system.i18n import t

CHUNK: Final = 65_536
"""Bytes of one read, the size of a Linux pipe."""

TURNS: Final = 16
"""Reads in a row before other tasks get their turn."""

REQUEST: Final = 150_000
"""Bytes of arguments and environment at most: what a socket takes that nobody reads yet (208 KiB on
Linux with its overhead), and more than one argument may be long."""

QUIET: Final = 0.02
"""Seconds without output after the command's end that count as the end of the output."""

DRAIN: Final = 0.1
"""Seconds at most that output is still taken after the command's end."""

ENDED_WITHIN: Final = 2.0
"""Seconds to wait for a tree to be gone; it is after 0.25 at most, unless a disk hangs."""

NO_FDS: Final[Mapping[int, int]] = {}

Sink = Callable[[bytes], None]


def _discard(_: bytes) -> None:
    return


class ProcessTree:
    """A running command and every process that comes of it; made by `Reaper.start`."""

    def __init__(self, control: socket.socket, output: int) -> None:
        self._control = control
        self._output = output
        self._heard = b""
        self._status: int | None = None
        self._failure: OSError | None = None
        self._more = True
        self.pid = 0
        self.ending = False
        self._left = False
        self._events = selectors.DefaultSelector()
        self._events.register(control, selectors.EVENT_READ)
        self._events.register(output, selectors.EVENT_READ)

    async def stream(self, sink: Sink) -> int:
        """Pass output to `sink` until the command ends; its exit status, negative for a signal.

        Returns when the command itself has ended, whoever still holds its output. Raises OSError
        if it could not start and ToolError if its keeper was killed. Call `end` if this is
        cancelled or raises, else `leave`.
        """
        while (status := self.status()) is None:
            await self._ready()
            self._take(sink)

        def take() -> bool:
            self._take(sink)
            return self._output >= 0

        await drained(self._ready, take)
        return status

    def status(self) -> int | None:
        """The exit status as far as it is known; raises as `stream` does."""
        if self._failure is not None:
            raise self._failure
        if self._status is None and not self._more:
            raise ToolError(t("terminal.keeper_lost"), hint=t("terminal.keeper_lost_hint"))
        return self._status

    async def started(self) -> int:
        """Wait until it has started; its process number. Raises as `stream` does."""
        while not self.pid:
            self.status()
            await anyio.wait_readable(self._control)
            self.hear()
        return self.pid

    def end_call(self, since: int) -> None:
        """Of a shell: end its running child, and strays that started at `since` ticks or later.

        `ending` is true until that is done.
        """
        self.ending = True
        self._order(b"c%d\n" % since)

    def drop(self, fd: int) -> None:
        """Have `fd` read to its end by the keeper, and close it here."""
        self._order(b"d", fd)
        os.close(fd)

    @property
    def control(self) -> socket.socket:
        """Readable when there is something for `hear`."""
        return self._control

    async def end(self, sink: Sink = _discard) -> None:
        """End the tree and wait until it is gone, passing its last output to `sink`."""
        self._order(b"k")
        with CancelScope(shield=True), anyio.move_on_after(ENDED_WITHIN):
            while self._more:
                await self._ready()
                if self._more:  # Somebody else may have ended it meanwhile.
                    self._take(sink)
        self._close()

    def leave(self) -> bool:
        """Stop listening; whether processes are left. They stay until `end`, or until the reaper
        closes."""
        self._left = self._status is not None and self._more
        if self._left:
            if self._output >= 0:
                self._order(b"d", self._output)
            self._close_output()
        else:
            self._close()
        return self._left

    def gone(self) -> bool:
        """Whether this is closed, or was left and nothing of it is running any more."""
        if self._left:
            if self._more:
                self._take(_discard)
            if not self._more:
                self._close()
        return self._control.fileno() < 0

    async def _ready(self) -> None:
        with suppress(anyio.ClosedResourceError):
            await anyio.wait_readable(self._events.fileno())

    def _take(self, sink: Sink) -> None:
        for key, _ in self._events.select(0):
            if key.fd == self._output:
                self._read(sink)
            else:
                self.hear()
        if not self._more and self._output >= 0:
            self._read(sink)

    def _read(self, sink: Sink) -> None:
        for _ in range(TURNS):
            try:
                data = os.read(self._output, CHUNK)
            except BlockingIOError:
                return
            except OSError:  # Nobody holds the terminal any more.
                data = b""
            if not data:
                self._close_output()
                return
            sink(data)

    def hear(self) -> None:
        """Take in what the keeper says."""
        try:
            said = self._control.recv(256)
        except BlockingIOError:
            return
        except ConnectionError:
            said = b""
        *lines, self._heard = (self._heard + said).split(b"\n")
        for line in lines:
            match line.split():
                case [b"p", pid]:
                    self.pid = int(pid)
                case [b"c"]:
                    self.ending = False
                case [b"e", status, more]:
                    self._status, self._more = int(status), more == b"1"
                case [b"!", number]:
                    self._failure = OSError(int(number), os.strerror(int(number)))
                    self._more = False
        self._more = self._more and bool(said)
        if not self._more:
            self._events.unregister(self._control)

    def _order(self, order: bytes, *fds: int) -> None:
        try:
            socket.send_fds(self._control, [order], fds)
        except OSError:
            return  # It is gone already, which `hear` will find out.

    def _close_output(self) -> None:
        if self._output >= 0:
            self._events.unregister(self._output)
            os.close(self._output)
            self._output = -1

    def _close(self) -> None:
        self._more = False
        if self._control.fileno() >= 0:
            self._close_output()
            anyio.notify_closing(self._events.fileno())
            self._events.close()
            self._control.close()


async def drained(ready: Callable[[], Awaitable[None]], take: Callable[[], bool]) -> None:
    """Take what still comes after an end: until `take` says that there is no more, until it has
    been quiet for QUIET seconds, or for DRAIN seconds."""
    with anyio.move_on_after(DRAIN):
        while take():
            with anyio.move_on_after(QUIET) as quiet:
                await ready()
            if quiet.cancelled_caught:
                return


class Jail(Protocol):
    """A boundary around a keeper, and so around all that it starts."""

    def argv(self, program: Sequence[str]) -> Sequence[str]:
        """What to run in place of `program`."""
        ...


class Reaper:
    """The keeper as Hermes holds it. There may be several, each for processes that belong together,
    as those of a session do; `jail` is what one runs in."""

    def __init__(self, python: str = sys.executable, *, jail: Jail | None = None) -> None:
        self._python = python
        self._jail = jail
        self._door: socket.socket | None = None
        self._keeper: subprocess.Popen[bytes] | None = None
        self._trees: set[ProcessTree] = set()

    def start(
        self,
        arguments: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        fds: Mapping[int, int] = NO_FDS,
    ) -> ProcessTree:
        """Start a command: `arguments[0]` is an absolute path, `env` all of its environment.

        Standard output and error come as one stream. The command has the descriptor fds[n] as its
        n, at most three; without one for 0 its standard input is empty. That it could not start
        shows in `stream`. Raises OSError if it is longer than REQUEST.
        """
        output, write_end = os.pipe()
        try:
            numbers = " ".join(map(str, fds))
            return self._request([numbers, cwd], arguments, env, [write_end, *fds.values()], output)
        except BaseException:
            os.close(output)
            raise
        finally:
            os.close(write_end)

    def start_on_terminal(
        self, arguments: Sequence[str], *, cwd: str, env: Mapping[str, str], master: int, slave: int
    ) -> ProcessTree:
        """Start a command for which the terminal `slave` is its own, which it and what comes of it
        can open. `master` is read by the tree and closed with it; `slave` is closed."""
        try:
            return self._request(["t", cwd], arguments, env, [slave], master)
        except BaseException:
            os.close(master)
            raise
        finally:
            os.close(slave)

    def _request(
        self,
        head: list[str],
        arguments: Sequence[str],
        env: Mapping[str, str],
        fds: list[int],
        output: int,
    ) -> ProcessTree:
        parts = [*head, str(len(arguments)), *arguments, *(f"{k}={v}" for k, v in env.items())]
        body = b"\0".join(map(os.fsencode, parts))
        if len(body) > REQUEST:
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                os.set_blocking(output, False)
                ours.setblocking(False)
                # First the request, which fits into the socket, so that a warden wakes only once.
                ours.sendall(len(body).to_bytes(4, "big") + body)
                self._hand_over([theirs.fileno(), *fds])
            except BaseException:
                ours.close()
                raise
        tree = ProcessTree(ours, output)
        # Nobody else may hold those that were left; a socket that is forgotten ends its tree.
        self._trees = {each for each in self._trees if not each.gone()} | {tree}
        return tree

    def warm(self) -> None:
        """Start the keeper now, so that the first command does not wait for it."""
        if self._door is not None:
            return
        self._door, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            script = str(Path(__file__).parent / "keeper" / "main.py")
            program = [self._python, "-I", "-S", script, str(fd)]
            self._keeper = subprocess.Popen(
                self._jail.argv(program) if self._jail else program,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                pass_fds=(fd,),
                start_new_session=True,
            )

    async def aclose(self) -> None:
        """End the keeper, and with it everything it started."""
        door, keeper = self._door, self._keeper
        self._door = self._keeper = None
        if door is None or keeper is None:
            return
        with CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for tree in list(self._trees):
                    group.start_soon(tree.end)
            door.shutdown(socket.SHUT_WR)
            # Its end of the socket closes when it exits, and never before its children have.
            with door, anyio.move_on_after(ENDED_WITHIN):
                await anyio.wait_readable(door)
            keeper.kill()
            keeper.wait()

    def _hand_over(self, fds: list[int]) -> None:
        self.warm()
        try:
            self._send(fds)
        except BrokenPipeError:  # Somebody killed the keeper; what it kept is gone with it.
            if self._door is not None and self._keeper is not None:
                self._door.close()
                self._keeper.kill()
                self._keeper.wait()
            self._door = None
            self.warm()
            self._send(fds)

    def _send(self, fds: list[int]) -> None:
        if self._door is not None:
            socket.send_fds(self._door, [b"r"], fds)
