"""Which ripgrep searches this machine: the system's, else the packaged one."""

import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hermes.ports.files import Output
from hermes.system.program import running


@dataclass(frozen=True)
class Ripgrep:
    """`path` is the PATH to look in; the packaged program lies beside Python's own."""

    path: str

    @cached_property
    def program(self) -> str | None:
        """The program's path; None if there is none."""
        beside = str(Path(sys.executable).parent)
        return shutil.which("rg", path=self.path) or shutil.which("rg", path=beside)

    @asynccontextmanager
    async def run(self, arguments: Sequence[str]) -> AsyncIterator[Output | None]:
        """See `ports.files.Files.ripgrep`."""
        if self.program is None:
            yield None
            return
        async with running([self.program, *arguments], env={"PATH": self.path}) as output:
            yield output
