"""A program of a session that runs beside the conversation, on this machine."""

import errno
import os
import socket
import sys
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, final

import anyio
from anyio import CancelScope

from hermes.core.errors import ToolError
from hermes.ports.terminal import Detached, Input, Sink
from hermes.system.i18n import t
from hermes.system.process import ProcessTree
from hermes.terminals import detached
from hermes.terminals.local_shells import Shells, remove
from hermes.terminals.shell_script import BESIDE, LASTING, PROGRAM, quoted

ROWS, COLUMNS = 30, 120
"""The size of a job's terminal."""

OUTLIVE: Final = (sys.executable, "-I", "-S", str(Path(__file__).with_name("outlive.py")))

END_OF_TEXT = b"\x04"
"""Ctrl-D: what a terminal takes for the end of the input."""


@final
class LocalJob:
    """Implements `ports.terminal.Job`; `files` are removed when it has ended."""

    def __init__(
        self,
        tree: ProcessTree,
        files: Sequence[Path] = (),
        *,
        source: int = -1,
        terminal: bool = False,
        channel: socket.socket | None = None,
        errors: int | None = None,
    ) -> None:
        self._tree = tree
        self._files = files
        self._source = source
        self._terminal = terminal
        self.channel = channel
        self.errors = errors

    @property
    def pid(self) -> int:
        return self._tree.pid

    async def started(self) -> None:
        """Wait until it runs; raises OSError if it cannot be started, and is ended then."""
        try:
            await self._tree.started()
        except BaseException:
            with CancelScope(shield=True):
                await self.end()
            raise

    async def stream(self, sink: Sink) -> int:
        try:
            status = await self._tree.stream(sink)
        except (OSError, ToolError):
            with CancelScope(shield=True):
                await self.end()
            raise
        self._release()
        self._tree.leave()
        return status

    async def write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                if self._source < 0:
                    raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
                if written := self._write_now(left):
                    left = left[written:]
                else:
                    await anyio.wait_writable(self._source)
            except (OSError, anyio.ClosedResourceError) as e:
                raise ToolError(t("terminal.no_input"), hint=t("terminal.no_input_hint")) from e

    def _write_now(self, data: memoryview) -> int:
        try:
            return os.write(self._source, data)
        except BlockingIOError:
            return 0

    async def close_input(self) -> None:
        if self._terminal:
            await self.write(END_OF_TEXT)
        else:
            self._close_source()

    async def end(self) -> None:
        await self._tree.end()
        self._release()

    def _release(self) -> None:
        self._close_source()
        if self.channel is not None and self.channel.fileno() >= 0:
            anyio.notify_closing(self.channel)
            self.channel.close()
        if self.errors is not None:
            anyio.notify_closing(self.errors)
            os.close(self.errors)
            self.errors = None
        remove(self._files)

    def _close_source(self) -> None:
        if self._source >= 0:
            anyio.notify_closing(self._source)
            os.close(self._source)
            self._source = -1


async def start_job(shells: Shells, command: str, place: str, stdin: Input) -> LocalJob:
    """Start a command beside the conversation, in the state of its session. Raises OSError and
    ToolError."""
    state, run = files = shells.job_files(os.fsencode(command))
    text = BESIDE.format(state=quoted(str(state)), run=quoted(str(run)))
    words = [shells.bash, "-c", text, "bash"]
    source = -1
    try:
        if stdin == "tty":
            master, slave = os.openpty()
            termios.tcsetwinsize(slave, (ROWS, COLUMNS))
            source = os.dup(master)
            env = {"TERM": "xterm-256color"} | shells.env
            tree = shells.reaper.start_on_terminal(
                words, cwd=place, env=env, master=master, slave=slave
            )
        elif stdin == "pipe":
            theirs, source = os.pipe()
            try:
                tree = shells.reaper.start(words, cwd=place, env=shells.env, fds={0: theirs})
            finally:
                os.close(theirs)
        else:
            tree = shells.reaper.start(words, cwd=place, env=shells.env)
        if source >= 0:
            os.set_blocking(source, False)
    except BaseException:
        remove(files)
        if source >= 0:
            os.close(source)
        raise
    job = LocalJob(tree, files, source=source, terminal=stdin == "tty")
    await job.started()
    return job


async def start_program(
    shells: Shells, arguments: Sequence[str], place: str, env: Mapping[str, str]
) -> LocalJob:
    """Start a program whose standard input is a socket. Raises OSError and ToolError."""
    state, _ = files = shells.job_files(b"")
    text = PROGRAM.format(state=quoted(str(state)))
    words = [*(f"{name}={value}" for name, value in env.items()), *arguments]
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    errors, said = os.pipe()
    os.set_blocking(errors, False)
    try:
        with theirs, os.fdopen(said, "wb"):
            tree = shells.reaper.start(
                [shells.bash, "-c", text, "bash", *words],
                cwd=place,
                env=shells.env,
                fds={0: theirs.fileno(), 2: said},
            )
    except BaseException:
        remove(files)
        ours.close()
        os.close(errors)
        raise
    job = LocalJob(tree, files, channel=ours, errors=errors)
    await job.started()
    return job


def start_detached(
    shells: Shells, command: str, place: str, *, output: Path, status: Path
) -> Detached:
    """Start a command that outlives Hermes. Raises OSError."""
    state, run = files = shells.job_files(os.fsencode(command))
    text = LASTING.format(
        cwd=quoted(place),
        state=detached.STATE,
        run=detached.COMMAND,
        status=detached.STATUS,
    )
    try:
        return detached.start(
            shells.jail.argv([*OUTLIVE, shells.bash, "-c", text, "bash"]),
            env=shells.env,
            output=output,
            status=status,
            state=state,
            run=run,
        )
    finally:
        remove(files)
