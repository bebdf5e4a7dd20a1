"""Where commands run. Every back end must be able to kill what it started, escapees included."""

from dataclasses import dataclass
from typing import Final, Protocol

from hermes.core.ids import SessionId

SPILL_BYTES: Final = 50_000_000
"""How much of a long output its file holds at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """What a finished command left.

    `output` is stdout and stderr in the order they came, as bytes, at most the `limit` asked for:
    the first 40 % and the last 60 % of it when `total` says that there was more. `cwd` is where the
    shell ended, or None if it did not say. `timed_out` commands were killed, with their children.
    `moved_to` is where the command ran instead if the folder asked for was gone. `spill` is a file
    with the whole output, as it came, when that was longer than `limit` (its first SPILL_BYTES;
    None if it could not be written); it belongs to the caller.
    """

    output_head: bytes
    output_tail: bytes
    total: int
    exit_code: int
    cwd: str | None
    timed_out: bool
    moved_to: str | None = None
    spill: str | None = None


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
    ) -> CommandResult:
        """Run `command` with bash in `cwd` and wait for the shell to exit.

        `timeout` is seconds. Returns when the shell exits (plus a short drain), whoever still
        holds its output. Cancelling kills the whole process tree within a second. If `cwd` is
        gone, the command runs in the nearest folder above it that is there; without `fall_back`
        ToolError is raised and nothing is run.
        """
        ...

    async def forget(self, session: SessionId) -> None:
        """End all that is still running for `session` and drop its variables."""
        ...
