"""What a sandbox is to the local back end; `terminals.sandbox` makes them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol


class Jail(Protocol):
    """The sandbox of a session."""

    @property
    def env(self) -> Mapping[str, str | None]:
        """What the environment of everything inside gets, None for what it loses."""
        ...

    @property
    def warning(self) -> str | None:
        """A sentence if there is no boundary though one was asked for."""
        ...

    def argv(self, program: Sequence[str]) -> Sequence[str]:
        """What to run in place of `program`, a script of Python with its options."""
        ...

    def appeared(self) -> tuple[str, ...]:
        """Protected paths that the sandbox could not cover and that have come to be."""
        ...

    def hint(self, output: bytes, exit_code: int) -> str | None:
        """A sentence on what of a failure may be the sandbox's doing."""
        ...


class NoJail:
    """No boundary at all."""

    env: Mapping[str, str | None] = {}
    warning: str | None = None

    def argv(self, program: Sequence[str]) -> Sequence[str]:
        return program

    def appeared(self) -> tuple[str, ...]:
        return ()

    def hint(self, output: bytes, exit_code: int) -> str | None:
        return None


async def no_jail(_: Path) -> Jail:
    """Make none."""
    return NoJail()
