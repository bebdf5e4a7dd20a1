"""Programs that check a text: found on PATH, run apart from the workspace, ended whole."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import anyio

from hermes.core.errors import ToolError
from hermes.system.process import Reaper

OUTPUT: Final = 100_000
"""Bytes of a program's output that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a program said (stdout and stderr as one) and its exit status; None: out of time."""

    status: int | None
    output: str


class Runner(Protocol):
    """What can run a checking program."""

    def find(self, name: str) -> str | None:
        """The absolute path of the program `name`, or None if it is not installed."""
        ...

    async def check(
        self, program: str, arguments: Sequence[str], file: str, text: str, *, timeout: float
    ) -> Ran:
        """Run `program` with `arguments` and a file `file` (a bare name) that holds `text`.

        The file lies in a folder of its own outside any workspace, which is the program's working
        folder, so that no configuration of the workspace takes part. Cancelling ends the program
        and all it started. Raises OSError or ToolError if it could not run.
        """
        ...


class Programs:
    """Implements `Runner` with the keeper of child processes; `env` is all they see."""

    def __init__(self, reaper: Reaper, env: Mapping[str, str]) -> None:
        self._reaper = reaper
        self._env = dict(env)
        # A relative entry would find a program of the workspace's choosing.
        entries = self._env.get("PATH", "").split(":")
        self._path = ":".join(entry for entry in entries if entry.startswith("/"))

    def find(self, name: str) -> str | None:
        """See `Runner.find`."""
        return shutil.which(name, path=self._path) if self._path else None

    async def check(
        self, program: str, arguments: Sequence[str], file: str, text: str, *, timeout: float
    ) -> Ran:
        """See `Runner.check`."""
        folder = await anyio.to_thread.run_sync(_put, file, text)
        try:
            return await self._run([program, *arguments, file], folder, timeout)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def _run(self, command: Sequence[str], folder: str, timeout: float) -> Ran:
        output = bytearray()

        def take(data: bytes) -> None:
            output.extend(data[: OUTPUT - len(output)])

        tree = self._reaper.start(command, cwd=folder, env=self._env)
        status: int | None = None
        try:
            with anyio.move_on_after(timeout):
                status = await tree.stream(take)
        finally:
            await tree.end()
        return Ran(status=status, output=output.decode("utf-8", "replace"))


def _put(file: str, text: str) -> str:
    folder = tempfile.mkdtemp(prefix="hermes-check-")
    try:
        Path(folder, file).write_bytes(text.encode("utf-8", "surrogateescape"))
    except (OSError, UnicodeEncodeError) as e:
        shutil.rmtree(folder, ignore_errors=True)
        raise ToolError(f"the text could not be put into a temporary file: {e}") from e
    return folder
