"""The kernels of a process: one for a session, a few at a time, none idle for long."""

import sys
from pathlib import Path
from typing import Final, Literal

import anyio
from anyio.abc import TaskGroup

from hermes.core.clock import Clock
from hermes.core.errors import ToolError
from hermes.core.ids import SessionId
from hermes.ports.terminal import TerminalBackend
from hermes.tools.code import kernel_program
from hermes.tools.code.kernel import Kernel

Mode = Literal["project", "strict"]
"""`project`: the session's folder and Python; `strict`: a folder of its own and Hermes's Python."""

ENVIRONMENT: Final = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONIOENCODING": "utf-8",
    "PYTHONUTF8": "1",
    "PYTHONUNBUFFERED": "1",
}

SWEEP: Final = 60.0
"""Seconds between two looks for idle kernels."""


class Kernels:
    """Makes kernels when they are needed. `most` at a time, each for `idle` seconds unused.

    `strict_folder` is made when needed.
    """

    def __init__(
        self,
        backend: TerminalBackend,
        *,
        mode: Mode,
        strict_folder: Path,
        most: int,
        idle: float,
        clock: Clock,
        tasks: TaskGroup,
    ) -> None:
        self._backend = backend
        self._mode = mode
        self._strict_folder = strict_folder
        self._most = most
        self._idle = idle
        self._clock = clock
        self._tasks = tasks
        self._kernels: dict[SessionId, Kernel] = {}
        self._sweeping = False

    async def get(self, session: SessionId, cwd: str, *, reset: bool) -> Kernel:
        """The session's kernel, a new one if there is none or `reset`. Raises ToolError."""
        kernel = self._kernels.get(session)
        if kernel is not None and (reset or not kernel.alive):
            await self.end(session)
            kernel = None
        if kernel is None:
            await self._make_room()
            kernel = await self._start(session, cwd)
            self._kernels[session] = kernel
        if not self._sweeping:
            self._sweeping = True
            self._tasks.start_soon(self._sweep)
        kernel.used_at = self._clock.now()
        return kernel

    async def end(self, session: SessionId) -> bool:
        """End the session's kernel; whether there was one."""
        kernel = self._kernels.pop(session, None)
        if kernel is not None:
            await kernel.end()
        return kernel is not None

    async def _start(self, session: SessionId, cwd: str) -> Kernel:
        # The python3 that the session's own PATH finds: that of an activated environment.
        python, place = ["/usr/bin/env", "python3"], cwd
        if self._mode == "strict":
            python, place = [sys.executable], str(self._strict_folder)
            self._strict_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        program = [*python, str(Path(kernel_program.__file__))]
        job = await self._backend.program(session, program, cwd=place, env=ENVIRONMENT)
        return Kernel(job, self._tasks)

    async def _make_room(self) -> None:
        """End the kernel that was not used for the longest time, if there are too many. Raises
        ToolError if all of them run code."""
        while len(self._kernels) >= self._most:
            idle = [session for session, kernel in self._kernels.items() if not kernel.busy]
            if not idle:
                raise ToolError(
                    f"{self._most} kernels run code for other sessions, which is the most there "
                    "may be; nothing was run. Try again later, or use terminal."
                )
            await self.end(min(idle, key=lambda each: self._kernels[each].used_at))

    async def _sweep(self) -> None:
        while self._kernels:
            await anyio.sleep(SWEEP)
            now = self._clock.now()
            for kernel in self._kernels.values():
                kernel.used_at = now if kernel.busy else kernel.used_at
            oldest = now - self._idle
            for session in [s for s, k in self._kernels.items() if k.used_at < oldest]:
                await self.end(session)
        self._sweeping = False
