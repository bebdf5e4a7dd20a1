"""The language servers of one Hermes: one for each project root and server, started at need.

A language server runs code of the workspace's choosing (plugins, build scripts, configuration), as
an editor's does. See `LanguageServers` for what bounds it.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskGroup

from hermes.core.clock import Clock
from hermes.system.config.sections import LspSection
from hermes.system.i18n import t
from hermes.system.lazy import load
from hermes.system.process import Reaper
from hermes.tools.files.checks.lsp.report import shown
from hermes.tools.files.checks.lsp.servers import (
    ServerSpec,
    project_root,
    server_for,
    specs,
    within,
)
from hermes.tools.files.checks.lsp.transport import BrokenServer, Transport
from hermes.tools.files.checks.problems import SHOWN, Problem, edited_lines, fresh
from hermes.tools.files.checks.programs import Programs

if TYPE_CHECKING:
    from hermes.tools.files.checks.lsp.client import Connection

TEXT_CHARS: Final = 1_000_000
"""A longer document is not sent to a server."""

BROKEN_SECONDS: Final = 30.0
"""How long a server that failed is left alone, doubled with each failure in a row."""

BROKEN_AT_MOST: Final = 600.0

INITIALIZE_SECONDS: Final = 60.0

FULL_SETTLE: Final = 0.5
"""Seconds without news that end the wait for other files, where `wait_mode` is `full`."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Server:
    """One server of one root, running or not. `turn` lets one caller speak to it at a time."""

    spec: ServerSpec
    program: str
    root: str
    turn: anyio.Lock = field(default_factory=anyio.Lock)
    connection: "Connection | None" = None
    changed: anyio.Event = field(default_factory=anyio.Event)
    running: bool = False
    failures: int = 0
    broken_until: float = 0.0
    used: float = 0.0

    def tell(self) -> None:
        """Wake all who wait for a change of state."""
        changed, self.changed = self.changed, anyio.Event()
        changed.set()


class LanguageServers:
    """Diagnostics of the servers that are installed; see `diagnostics`.

    Servers run in `group` and end with it, or by `aclose`. They see `env` only, are found on its
    PATH only, and start only for files inside the workspace of the session, in
    `trusted_workspaces` if that is not empty, and outside `exclude_roots`.
    """

    def __init__(
        self,
        settings: LspSection,
        *,
        programs: Programs,
        reaper: Reaper,
        env: Mapping[str, str],
        clock: Clock,
        group: TaskGroup,
    ) -> None:
        self._settings = settings
        self._programs = programs
        self._reaper = reaper
        self._env = env
        self._clock = clock
        self._group = group
        self._specs = specs(settings.servers)
        self._excluded = self._canonical(settings.exclude_roots)
        self._trusted = self._canonical(settings.trusted_workspaces)
        self._servers: dict[tuple[str, str], _Server] = {}
        self._told = False
        self._closing = False

    async def diagnostics(self, path: str, old: str | None, new: str, workspace: str) -> str | None:
        """The errors that the change from `old` to `new` brought into `path`, a line each.

        None if there are none, no server is installed, or it did not answer in `wait_timeout`
        seconds (plus `warmup_timeout` if it starts with this call; it goes on starting after that).
        All paths are canonical. The file has been written already.
        """
        server = self._server(path, new, workspace)
        if server is None:
            return None
        settings = self._settings
        seconds = settings.wait_timeout + (0 if server.running else settings.warmup_timeout)
        with anyio.move_on_after(seconds):
            async with server.turn:
                self._start(server)
                while server.running and server.connection is None:
                    await server.changed.wait()
                if connection := server.connection:
                    server.used = self._clock.monotonic()
                    with anyio.move_on_after(settings.wait_timeout):
                        return await self._asked(server, connection, path, old, new)
        return None

    async def aclose(self) -> None:
        """Let every server shut down; what has not by then is ended with the group."""
        self._closing = True
        async with anyio.create_task_group() as group:
            for server in self._servers.values():
                if server.connection:
                    group.start_soon(server.connection.stop)

    async def _asked(
        self, server: _Server, connection: "Connection", path: str, old: str | None, new: str
    ) -> str | None:
        """`_delta`, or None as soon as the server has ended."""
        found = None
        async with anyio.create_task_group() as group:

            async def until_gone() -> None:
                while server.connection is connection:
                    await server.changed.wait()
                group.cancel_scope.cancel()

            group.start_soon(until_gone)
            found = await self._delta(server, connection, path, old, new)
            group.cancel_scope.cancel()
        return found

    async def _delta(
        self, server: _Server, connection: "Connection", path: str, old: str | None, new: str
    ) -> str | None:
        language = server.spec.languages[PurePosixPath(path).suffix.casefold()]
        before: list[Problem] | None = []
        if old is not None:
            before = None
            with anyio.move_on_after(self._settings.wait_timeout / 2):
                before = await connection.errors(path, language, old)
        elsewhere = connection.others(path)
        now = await connection.errors(path, language, new)
        server.failures = 0
        if before is None:
            first, last = edited_lines(old or "", new)
            added = [p for p in now if first <= p.line <= last]
        else:
            added = fresh(old or "", new, before, now)
        parts = [shown(added)]
        if self._settings.wait_mode == "full":
            await connection.quiet(FULL_SETTLE)
            parts += [
                shown([p for p in found if p not in elsewhere.get(other, ())], other)
                for other, found in sorted(connection.others(path).items())
            ]
        lines = "\n".join(part for part in parts if part).split("\n")
        if len(lines) > SHOWN:
            lines[SHOWN - 1 :] = [f"... and {len(lines) - SHOWN + 1} more errors"]
        return "\n".join(lines) or None

    def _server(self, path: str, new: str, workspace: str) -> _Server | None:
        if len(new) > TEXT_CHARS or not within(path, workspace):
            return None
        if any(within(path, root) for root in self._excluded):
            return None
        if self._trusted and not any(within(workspace, root) for root in self._trusted):
            return None
        found = server_for(path, self._specs, self._programs.find)
        if found is None or not self._installed():
            return None
        spec, program = found
        key = (project_root(path, spec, workspace), spec.name)
        if key not in self._servers:
            self._servers[key] = _Server(spec=spec, program=program, root=key[0])
        server = self._servers[key]
        if not server.running and self._clock.monotonic() < server.broken_until:
            return None
        return server

    def _installed(self) -> bool:
        if find_spec("pygls") is not None:
            return True
        if not self._told:
            self._told = True
            log.warning("%s %s", t("lsp.not_installed"), t("lsp.not_installed_hint"))
        return False

    def _start(self, server: _Server) -> None:
        if not server.running:
            server.running = True
            self._group.start_soon(self._serve, server)

    async def _serve(self, server: _Server) -> None:
        """Run `server` until it ends, is idle for long, or is cancelled."""
        idle = anyio.CancelScope()
        try:
            # In a thread: the import takes most of a second.
            connect = await anyio.to_thread.run_sync(
                load, "hermes.tools.files.checks.lsp.client:Connection"
            )
            command = [server.program, *server.spec.command[1:]]
            with idle:
                transport = Transport(self._reaper, command, cwd=server.root, env=self._env)
                connection = connect(transport, server.root)
                async with anyio.create_task_group() as group:
                    group.start_soon(self._greet, server, connection)
                    group.start_soon(self._watch, server, idle)
                    reason = await transport.run(connection.receive)
                    self._broken(server, reason)
                    group.cancel_scope.cancel()
        except Exception as e:  # boundary: a server's failure costs its diagnostics, nothing else
            self._broken(server, _reason(e))
        finally:
            server.connection, server.running = None, False
            server.tell()

    async def _greet(self, server: _Server, connection: "Connection") -> None:
        server.used = self._clock.monotonic()
        with anyio.move_on_after(INITIALIZE_SECONDS) as wait:
            await connection.initialize()
        if wait.cancelled_caught:
            raise BrokenServer(f"it was not ready within {INITIALIZE_SECONDS:g} seconds")
        server.connection = connection
        server.tell()

    async def _watch(self, server: _Server, idle: anyio.CancelScope) -> None:
        """End the server when nobody has used it for `idle_timeout` seconds."""
        while True:
            rest = server.used + self._settings.idle_timeout - self._clock.monotonic()
            if rest <= 0 and not server.turn.locked():
                idle.cancel()
            await anyio.sleep(max(rest, 1.0))

    def _broken(self, server: _Server, reason: str) -> None:
        if self._closing:
            return
        seconds = self._settings.broken_retry_seconds
        if not seconds:
            seconds = min(BROKEN_SECONDS * 2**server.failures, BROKEN_AT_MOST)
        server.failures += 1
        server.broken_until = self._clock.monotonic() + seconds
        log.warning("%s", t("lsp.broken", server=server.spec.name, reason=reason, seconds=seconds))

    def _canonical(self, roots: tuple[str, ...]) -> tuple[str, ...]:
        home = self._env.get("HOME", "~")
        return tuple(
            str(PurePosixPath(home, root[2:]) if root.startswith("~/") else root) for root in roots
        )


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
