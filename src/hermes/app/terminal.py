"""The commands of one run: its shells, its background jobs, and the tools over them.

What only some runs need is loaded when it is first asked for.
"""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from anyio import CancelScope

from hermes.core.clock import Clock
from hermes.core.errors import Bug
from hermes.core.ids import SessionId
from hermes.ports.checkpoint import Checkpoints
from hermes.ports.tool import Tool
from hermes.safety.redact import Redactor
from hermes.system.config.sections import LocalTerminalSection
from hermes.system.config.settings import Settings
from hermes.system.lazy import load as lazy
from hermes.system.paths import Home
from hermes.system.tasks import SideTasks
from hermes.terminals.local import LocalTerminal
from hermes.terminals.local_jail import Jail, no_jail
from hermes.tools.code.specs import EXECUTE_CODE
from hermes.tools.terminal.specs import TERMINAL

if TYPE_CHECKING:
    from hermes.terminals.sandbox.sandboxes import Sandboxes
    from hermes.tools.code.kernels import Kernels
    from hermes.tools.terminal.bulletins import Tell
    from hermes.tools.terminal.jobs import Jobs


RUNNERS: Final = frozenset((TERMINAL.name, EXECUTE_CODE.name))
"""Tools that run programs."""


class RunJails:
    """The sandboxes of a run, made by `make` when the first session needs one."""

    def __init__(self, section: LocalTerminalSection, make: "Callable[[], Sandboxes]") -> None:
        self._section = section
        self._make = make

    async def __aenter__(self) -> Self:
        if self._section.network == "allow-list" and self._section.sandbox != "off":
            # Its way out has to live as long as the run.
            await self._sandboxes.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        if "_sandboxes" in self.__dict__:
            await self._sandboxes.__aexit__(None, None, None)

    async def jail(self, workspace: Path) -> Jail:
        """The sandbox for a session that begins in `workspace`."""
        if self._section.sandbox == "off":
            return await no_jail(workspace)
        return await self._sandboxes.jail(workspace)

    @cached_property
    def _sandboxes(self) -> "Sandboxes":
        return self._make()


class RunTerminal:
    """Shells and jobs, which end when this is left. `tell` puts a text into a session's stream; it
    is set once there are sessions."""

    def __init__(
        self,
        backend: LocalTerminal,
        *,
        jails: RunJails | None = None,
        home: Home,
        settings: Settings,
        redactor: Redactor,
        checkpoints: Checkpoints | None,
        clock: Clock,
    ) -> None:
        self.backend = backend
        self._jails = jails
        self._home = home
        self._settings = settings
        self._redactor = redactor
        self._checkpoints = checkpoints
        self._clock = clock
        self._tasks: SideTasks | None = None
        self.tell: Tell | None = None

    @property
    def jails(self) -> RunJails | None:
        """The sandboxes, entered once this is; None if there are none."""
        return self._jails if self._settings.terminal.local.sandbox != "off" else None

    async def __aenter__(self) -> Self:
        if self._jails is not None:
            await self._jails.__aenter__()
        self._tasks = await SideTasks().__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._tasks is not None:
            await self._tasks.__aexit__()
        with CancelScope(shield=True):
            await self.backend.aclose()
        if self._jails is not None:
            await self._jails.__aexit__()

    async def expect(self, session: SessionId, tool: str, cwd: str) -> None:
        """A session is about to be allowed a tool, or not: get ready if that takes a while."""
        if tool in RUNNERS:
            await self.backend.expect(session, cwd)

    async def opened(self, session: SessionId) -> None:
        """Tell a session that was opened again what became of its commands meanwhile."""
        if self._receipts_folder.is_dir():
            await self._jobs.recover(session)

    async def forget(self, session: SessionId) -> None:
        """End what a session that closes has running, but for what outlives it."""
        if "_kernels" in self.__dict__:
            await self._kernels.end(session)
        if "_jobs" in self.__dict__:
            await self._jobs.forget(session)
        await self.backend.forget(session)

    def terminal(self) -> Tool:
        tool: Tool = lazy("hermes.tools.terminal.command:Terminal")(
            backend=self.backend,
            redact=self._redactor.terminal,
            jobs=self._jobs,
            refusal=_foreground_refusal,
            checkpoints=self._checkpoints,
            default_timeout=self._settings.terminal.timeout,
            max_bytes=self._settings.tool_output.max_bytes,
        )
        return tool

    def process(self) -> Tool:
        tool: Tool = lazy("hermes.tools.terminal.process:Process")(
            self._jobs,
            self._redactor.terminal,
            self._clock,
            default_wait=self._settings.terminal.timeout,
        )
        return tool

    def execute_code(self) -> Tool:
        section = self._settings.code_execution
        tool: Tool = lazy("hermes.tools.code.execute:ExecuteCode")(
            self._kernels,
            lambda text: self._redactor.terminal(text, ""),
            spill_folder=self._home.cache / "exec",
            clock=self._clock,
            timeout=section.timeout,
            most_calls=section.max_tool_calls,
        )
        return tool

    @cached_property
    def _kernels(self) -> "Kernels":
        if self._tasks is None:
            raise Bug("kernels live inside `async with RunTerminal(...)`")
        section = self._settings.code_execution
        kernels: Kernels = lazy("hermes.tools.code.kernels:Kernels")(
            self.backend,
            mode=section.mode,
            strict_folder=self._home.cache / "exec" / "strict",
            most=section.max_session_kernels,
            idle=section.kernel_idle_timeout,
            clock=self._clock,
            tasks=self._tasks.group,
        )
        return kernels

    @property
    def _receipts_folder(self) -> Path:
        return self._home.logs / "process-results"

    @cached_property
    def _jobs(self) -> "Jobs":
        if self._tasks is None:
            raise Bug("jobs live inside `async with RunTerminal(...)`")
        redact = self._redactor.terminal
        jobs: Jobs = lazy("hermes.tools.terminal.jobs:Jobs")(
            backend=self.backend,
            receipts=lazy("hermes.tools.terminal.receipts:Receipts")(self._receipts_folder, redact),
            redact=redact,
            tell=self._told,
            clock=self._clock,
            tasks=self._tasks.group,
        )
        return jobs

    async def _told(self, session: SessionId, text: str) -> bool:
        return self.tell is not None and await self.tell(session, text)


def _foreground_refusal(command: str) -> str | None:
    reason: str | None = lazy("hermes.safety.commands.foreground:foreground_refusal")(command)
    return reason
