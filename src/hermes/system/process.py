"""Child processes that can always be ended whole: the only place where Hermes starts any.

A command and all that comes of it form a `ProcessTree`, held by a keeper process (`reaper`, where
the protocol is described) that is started with the first command and lives as long as Hermes. The
tree ends when it is told to, and when Hermes ends, be it by `kill -9`. On Linux that includes
processes that left the group and the session (`setsid`, double fork); on other POSIX systems such
escapees are out of reach, and the command's process group is what is ended.
"""

import errno
import os
import selectors
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final
from weakref import WeakSet

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

Sink = Callable[[bytes], None]


def _discard(_: bytes) -> None:
    return


class ProcessTree:
    """A running command and every process that comes of it; made by `Reaper.start`."""

    def __init__(self, control: socket.socket, output: int) -> None:
        self._control = control
        self._output = output
        self._status: int | None = None
        self._failure: OSError | None = None
        self._more = True
        self._events = selectors.DefaultSelector()
        self._events.register(control, selectors.EVENT_READ)
        self._events.register(output, selectors.EVENT_READ)

    async def stream(self, sink: Sink) -> int:
        """Pass output to `sink` until the command ends; its exit status, negative for a signal.

        Returns when the command itself has ended, whoever still holds its output. Raises OSError
        if it could not start and ToolError if its keeper was killed. Call `end` if this is
        cancelled or raises, else `leave`.
        """
        while self._status is None:
            await self._ready()
            self._take(sink)
            if self._failure is not None:
                raise self._failure
            if self._status is None and not self._more:
                raise ToolError(t("terminal.keeper_lost"), hint=t("terminal.keeper_lost_hint"))
        with anyio.move_on_after(DRAIN):
            while self._output >= 0:
                with anyio.move_on_after(QUIET) as quiet:
                    await self._ready()
                if quiet.cancelled_caught:
                    break
                self._take(sink)
        return self._status

    async def end(self, sink: Sink = _discard) -> None:
        """End the tree and wait until it is gone, passing its last output to `sink`."""
        self._order(b"k")
        with CancelScope(shield=True), anyio.move_on_after(ENDED_WITHIN):
            while self._more:
                await self._ready()
                self._take(sink)
        self._close()

    def leave(self) -> bool:
        """Stop listening; whether processes are left that will need `end` one day."""
        if self._status is not None and self._more:
            self._order(b"d")
            self._close_output()
            return True
        self._close()
        return False

    def gone(self) -> bool:
        """Whether nothing of a tree that was left is running any more."""
        if self._more:
            self._take(_discard)
        if not self._more:
            self._close()
        return not self._more

    async def _ready(self) -> None:
        await anyio.wait_readable(self._events.fileno())

    def _take(self, sink: Sink) -> None:
        for key, _ in self._events.select(0):
            if key.fd == self._output:
                self._read(sink)
            else:
                self._hear()
        if not self._more and self._output >= 0:
            self._read(sink)

    def _read(self, sink: Sink) -> None:
        for _ in range(TURNS):
            try:
                data = os.read(self._output, CHUNK)
            except BlockingIOError:
                return
            if not data:
                self._close_output()
                return
            sink(data)

    def _hear(self) -> None:
        try:
            words = self._control.recv(64).split()
        except ConnectionError:
            words = []
        match words:
            case [b"e", status, more]:
                self._status, self._more = int(status), more == b"1"
            case [b"!", number]:
                self._failure = OSError(int(number), os.strerror(int(number)))
                self._more = False
            case _:
                self._more = False
        if not self._more:
            self._events.unregister(self._control)

    def _order(self, order: bytes) -> None:
        try:
            self._control.send(order)
        except OSError:
            return  # It is gone already, which `_hear` will find out.

    def _close_output(self) -> None:
        if self._output >= 0:
            self._events.unregister(self._output)
            os.close(self._output)
            self._output = -1

    def _close(self) -> None:
        self._more = False
        if self._control.fileno() >= 0:
            self._close_output()
            self._events.close()
            self._control.close()


class Reaper:
    """The keeper as Hermes holds it; one for each Hermes process."""

    def __init__(self, python: str = sys.executable) -> None:
        self._python = python
        self._door: socket.socket | None = None
        self._keeper: subprocess.Popen[bytes] | None = None
        self._trees: WeakSet[ProcessTree] = WeakSet()

    def start(self, arguments: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> ProcessTree:
        """Start a command: `arguments[0]` is an absolute path, `env` all of its environment.

        Its standard input is empty; standard output and error come as one stream. That it could
        not start shows in `stream`. Raises OSError if it is longer than REQUEST.
        """
        parts = [cwd, str(len(arguments)), *arguments, *(f"{k}={v}" for k, v in env.items())]
        body = b"\0".join(map(os.fsencode, parts))
        if len(body) > REQUEST:
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
        ours, theirs = socket.socketpair()
        output, write_end = os.pipe()
        try:
            os.set_blocking(output, False)
            ours.setblocking(False)
            # First the request, which fits into the socket, so that a warden wakes only once.
            ours.sendall(len(body).to_bytes(4, "big") + body)
            self._hand_over([theirs.fileno(), write_end, output])
        except BaseException:
            ours.close()
            os.close(output)
            raise
        finally:
            theirs.close()
            os.close(write_end)
        tree = ProcessTree(ours, output)
        self._trees.add(tree)
        return tree

    def warm(self) -> None:
        """Start the keeper now, so that the first command does not wait for it."""
        if self._door is not None:
            return
        self._door, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            script = str(Path(__file__).with_name("reaper.py"))
            self._keeper = subprocess.Popen(
                [self._python, "-I", "-S", script, str(fd)],
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
