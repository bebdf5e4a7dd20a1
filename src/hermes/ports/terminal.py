"""Where commands run. Every back end must be able to kill what it started, escapees included."""

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

from hermes.core.errors import ToolError
from hermes.core.ids import SessionId

SPILL_BYTES: Final = 50_000_000
"""How much of a long output its file holds at most."""

Sink = Callable[[bytes], None]
"""Takes output piece by piece, as it comes."""

Input = Literal["none", "pipe", "tty"]
"""What a job reads from: nothing, a pipe, or a terminal of its own (30 rows, 120 columns)."""


class NoFolder(ToolError):
    """The folder a command was to run in does not exist; nothing was run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """What a finished command left.

    `output` is stdout and stderr in the order they came, as bytes, at most the `limit` asked for:
    the first 40 % and the last 60 % of it when `total` says that there was more; `characters` are
    those of the whole, if it is UTF-8. `cwd` is where the
    shell ended, or None if it did not say: then nothing that the command changed in its shell was
    kept. `timed_out` commands were killed, with their children. `moved_to` is where the command ran
    instead if the folder asked for was gone. `spill` is a file with the whole output, as it came,
    when that was longer than `limit` (its first SPILL_BYTES; None if it could not be written); it
    belongs to the caller. `refused` says what of a failure may be the sandbox's doing; `notes` are
    further sentences for the model.
    """

    output_head: bytes
    output_tail: bytes
    total: int
    characters: int
    exit_code: int
    cwd: str | None
    timed_out: bool
    moved_to: str | None = None
    spill: str | None = None
    refused: str | None = None
    notes: tuple[str, ...] = ()


class Job(Protocol):
    """A program that runs beside the conversation, with all that comes of it."""

    @property
    def pid(self) -> int:
        """Its process number as commands of its session see it; 0 until `stream` has begun."""
        ...

    @property
    def channel(self) -> socket.socket | None:
        """For a program made by `program`: the other end of its standard input, non-blocking."""
        ...

    @property
    def errors(self) -> int | None:
        """For a program made by `program`: a descriptor to read its standard error from,
        non-blocking."""
        ...

    async def stream(self, sink: Sink) -> int:
        """Pass its output to `sink` until it ends; its exit status, negative for a signal.

        Raises OSError if it could not start, ToolError if nobody knows how it ended. One caller.
        """
        ...

    async def write(self, data: bytes) -> None:
        """Give it input; raises ToolError if it takes none (any more). Waits while it is full."""
        ...

    async def close_input(self) -> None:
        """End its input: of a pipe by closing it, of a terminal by Ctrl-D."""
        ...

    async def end(self) -> None:
        """End it and all that came of it; returns when nothing is left, within a second."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Detached:
    """A program that outlives Hermes; `pid` is of this machine, `started` in clock ticks since
    boot (field 22 of proc_pid_stat(5)), which tells it from a later process of the same number."""

    pid: int
    started: int


class TerminalBackend(Protocol):
    """Runs shell commands for sessions; exported variables last from one command to the next."""

    async def run(
        self,
        session: SessionId,
        command: str,
        *,
        cwd: str,
        timeout: float,
        limit: int,
        fall_back: bool = True,
        sink: Sink | None = None,
        outside: bool = False,
    ) -> CommandResult:
        """Run `command` with bash in `cwd` and wait for the shell to exit.

        `timeout` is seconds. Returns when the shell exits (plus a short drain), whoever still
        holds its output. Cancelling kills the whole process tree within a second. If `cwd` is
        gone, the command runs in the nearest folder above it that is there; without `fall_back`
        NoFolder is raised. `sink` is given the output as it comes. `outside` runs it without the
        sandbox, in the same environment; only a person may allow that, for one command.
        """
        ...

    async def start(
        self, session: SessionId, command: str, *, cwd: str, stdin: Input = "pipe"
    ) -> Job:
        """Start `command` with bash in `cwd` beside the conversation, in the session's environment.

        It ends with the session or with Hermes. Raises ToolError if it cannot be started.
        """
        ...

    async def program(
        self, session: SessionId, arguments: Sequence[str], *, cwd: str, env: Mapping[str, str]
    ) -> Job:
        """Start a program (absolute path first) where the session's commands run.

        Its standard input is a socket, see `Job.channel`; `env` is added to the session's
        environment, exported variables included. It ends with the session or with Hermes.
        """
        ...

    async def detach(
        self, session: SessionId, command: str, *, cwd: str, output: Path, status: Path
    ) -> Detached:
        """Start `command` so that it outlives Hermes. Its output goes to the end of the file
        `output`, and its exit status into the file `status` when it has ended by itself."""
        ...

    def running(self, program: Detached) -> bool:
        """Whether that very program is still running."""
        ...

    async def end_detached(self, program: Detached) -> None:
        """End it and all that came of it, within a second; nothing if it is gone."""
        ...

    async def forget(self, session: SessionId) -> None:
        """End all that is still running for `session` and drop its variables."""
        ...
