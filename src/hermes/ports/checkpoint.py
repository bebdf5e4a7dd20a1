"""The old state of what tools change, kept so that it can be brought back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hermes.core.ids import SessionId, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOrigin:
    """On whose behalf something is changed: `tool` in a turn whose working folder is `cwd`."""

    session: SessionId
    turn: TurnId
    tool: str
    cwd: str


class CommandWatch(Protocol):
    """A command that may change files, from before it runs until after."""

    async def ended(self) -> None:
        """Note what the command changed, made and removed. Never raises; what could not be
        covered is written down as such."""
        ...


class Checkpoints(Protocol):
    """Captures the state of files before a tool changes them, once per turn and file.

    Nothing here may stop a tool: what cannot be captured (too large, unreadable, no space) is
    written down as not covered, and shown so.
    """

    async def before(self, origin: ChangeOrigin, paths: Sequence[str]) -> None:
        """Capture what stands at `paths` now (a file, a link, or nothing), durably, unless this
        turn has already."""
        ...

    async def after(self, origin: ChangeOrigin, left: Mapping[str, bytes | None]) -> None:
        """Note what the tool left: sha256 by path, None where it left nothing."""
        ...

    async def command(self, origin: ChangeOrigin, command: str) -> CommandWatch | None:
        """Capture the workspace around `origin.cwd` before `command`; None if the command is
        proven to change nothing."""
        ...
