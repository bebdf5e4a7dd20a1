"""What the file tools ask before and after they write: one object for a whole Hermes.

Its parts are imported when they are first used: 30 ms that a run which writes no file does not pay.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Self

import anyio

from hermes.core.clock import Clock
from hermes.core.errors import Bug
from hermes.system.config.sections import LspSection
from hermes.system.process import Reaper
from hermes.system.tasks import SideTasks

if TYPE_CHECKING:
    from hermes.tools.files.checks.lint import Lint
    from hermes.tools.files.checks.lsp.pool import LanguageServers
    from hermes.tools.files.checks.programs import Programs

SHORT: Final = 10_000
"""Characters that are parsed at once; a longer text is in a thread, so that nobody waits."""


class Checker:
    """The syntax gate, the linters and the language servers.

    Use as an async context manager: language servers live in it and end with it, within a second.
    `env` is the environment of the programs, which are looked for on its PATH only. What they say
    quotes lines of files, from which `redact` takes secrets.
    """

    def __init__(
        self,
        settings: LspSection,
        *,
        reaper: Reaper,
        env: Mapping[str, str],
        clock: Clock,
        redact: Callable[[str], str],
    ) -> None:
        self._settings = settings
        self._reaper = reaper
        self._env = env
        self._clock = clock
        self._redact = redact
        self._running: Programs | None = None
        self._tasks: SideTasks | None = None
        self._servers: LanguageServers | None = None

    async def __aenter__(self) -> Self:
        self._tasks = await SideTasks().__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks, servers = self._tasks, self._servers
        self._tasks = self._servers = None
        if tasks is None:
            return
        try:
            if servers is not None:
                await servers.aclose()
        finally:
            await tasks.__aexit__()

    async def gate(self, path: str, old: str | None, new: str) -> str | None:
        """See `syntax.gate`."""
        # lazy: see above
        from hermes.tools.files.checks.syntax import gate

        if len(new) <= SHORT:
            return gate(path, old, new)
        return await anyio.to_thread.run_sync(gate, path, old, new, abandon_on_cancel=True)

    async def lint(self, path: str, old: str | None, new: str) -> "Lint":
        """See `lint.lint`."""
        # lazy: see above
        from hermes.tools.files.checks.lint import lint

        said = await lint(path, old, new, self._programs())
        return {key: self._redact(value) for key, value in said.items()}

    async def diagnostics(
        self, path: str, old: str | None, new: str, *, workspace: str
    ) -> str | None:
        """See `lsp.pool.LanguageServers.diagnostics`."""
        if not self._settings.enabled:
            return None
        if self._tasks is None:
            raise Bug("language servers live inside `async with Checker(...)`")
        if self._servers is None:
            # lazy: see above
            from hermes.tools.files.checks.lsp.pool import LanguageServers

            self._servers = LanguageServers(
                self._settings,
                programs=self._programs(),
                reaper=self._reaper,
                env=self._env,
                clock=self._clock,
                group=self._tasks.group,
            )
        found = await self._servers.diagnostics(path, old, new, workspace)
        return None if found is None else self._redact(found)

    def _programs(self) -> "Programs":
        if self._running is None:
            # lazy: see above
            from hermes.tools.files.checks.programs import Programs

            self._running = Programs(self._reaper, self._env)
        return self._running
