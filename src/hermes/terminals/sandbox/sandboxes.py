"""Which engine makes the sandboxes here, and a sandbox for each session."""

import os
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self, final

import anyio

from hermes.core.errors import Bug, ConfigError, ToolError
from hermes.safety.paths import PathPolicy
from hermes.system.config.sections import LocalTerminalSection
from hermes.system.i18n import t
from hermes.system.program import running
from hermes.terminals.sandbox import bubblewrap, landlock, stores
from hermes.terminals.sandbox.jail import Engine, Jail
from hermes.terminals.sandbox.plan import Plan, Planner, tmux_folder

PATIENCE: Final = 5.0
"""Seconds for the attempt to start an engine; it takes 5 to 30 ms."""

PROXY_PORT: Final = 3128
"""Where the way out is in a network of its own; nothing else listens there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The engine, its program, and for each better engine why it was not taken."""

    engine: Engine
    program: str = ""
    landlock: int = 0
    passed_over: Mapping[str, str]


@final
class Sandboxes:
    """Makes the sandboxes of one Hermes process; enter it if the network is an allow list.

    `env` is Hermes's own environment; `runtime_dir` a folder that Hermes and commands share (it is
    writable inside at every level), and is made if it is missing. `choice` is the engine if that is
    known; else it is tried. Raises ConfigError for a name in
    `expose` or `network_allow` that means nothing.
    """

    def __init__(
        self,
        *,
        policy: PathPolicy,
        settings: LocalTerminalSection,
        env: Mapping[str, str],
        runtime_dir: Path,
        choice: Choice | None = None,
    ) -> None:
        stores.check(settings.expose)
        if settings.network == "allow-list":
            # lazy: few need it, and it brings what knows addresses
            from hermes.terminals.sandbox.proxy import listed

            listed(settings.network_allow)
        elif settings.network_allow:
            raise ConfigError(t("sandbox.allow_without_list"), hint=t("sandbox.allow_hint"))
        self._policy = policy
        self.settings = settings
        self._env = env
        self._runtime = runtime_dir
        self._choice = choice
        self._warned = False
        self._proxy_port = 0
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        if self.settings.network == "allow-list" and self.settings.sandbox != "off":
            await self._open_network(await self.choice())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    @property
    def people(self) -> tuple[Path, ...]:
        """The homes with stores that may be exposed."""
        return self._policy.people

    @property
    def agent(self) -> str:
        """The socket of the SSH agent, which commands may use; "" if there is none."""
        return self._env.get("SSH_AUTH_SOCK", "")

    async def choice(self) -> Choice:
        """The best engine that works here; tried once."""
        if self._choice is None:
            self._choice = await self._choose()
        return self._choice

    async def jail(self, workspace: Path) -> Jail:
        """The sandbox for commands that work in `workspace`.

        Raises ToolError if the level or the network policy cannot do without an engine and none
        works. `protect` goes on without one, and says so once, in `warning`.
        """
        level, network = self.settings.sandbox, self.settings.network
        if level == "off":
            return Jail(engine="none", level=level)
        choice = await self.choice()
        if choice.engine == "none":
            return self._without(choice)
        self._make_folders(choice)
        if self.settings.network == "allow-list" and not self._proxy_port:
            raise Bug("the sandboxes of an allow list were not entered")
        plan = self.plan(workspace)
        return Jail(
            engine=choice.engine,
            level=level,
            network=network,
            before=self._before(choice),
            words=self._words(choice, plan),
            env=self._variables(choice),
            plan=plan,
            home=str(self._policy.user or ""),
            people=self.people,
            exposed=self.settings.expose,
        )

    def plan(self, workspace: Path) -> Plan:
        """What a sandbox for `workspace` shows, whatever the engine."""
        people, names = self.people, self.settings.expose
        planner = Planner(
            self._policy,
            exposed=[path for name in names for path in stores.paths_of(name, people)],
            scratch=[Path("/tmp"), *([Path(d)] if (d := self._env.get("TMPDIR")) else [])],
            own=[self._runtime],
            agent=Path(self.agent) if self.agent else None,
        )
        return planner.plan(self.settings.sandbox, workspace)

    async def _choose(self) -> Choice:
        passed_over: dict[str, str] = {}
        if sys.platform == "linux":
            program = bubblewrap.find(self._env.get("PATH", ""))
            why = await _try(program)
            version = landlock.version() if why else 0
            if program and not why:
                return Choice(engine="bubblewrap", program=program, passed_over=passed_over)
            passed_over["bubblewrap"] = why
            if version:
                return Choice(engine="landlock", landlock=version, passed_over=passed_over)
            passed_over["landlock"] = t("sandbox.no_landlock")
        else:
            passed_over["bubblewrap"] = passed_over["landlock"] = t("sandbox.not_linux")
        return Choice(engine="none", passed_over=passed_over)

    def _make_folders(self, choice: Choice) -> None:
        self._runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
        if choice.engine == "bubblewrap":
            # What is there can be covered before a server of the person's opens its socket in it.
            Path(tmux_folder()).mkdir(mode=0o700, exist_ok=True)

    def _without(self, choice: Choice) -> Jail:
        level, network = self.settings.sandbox, self.settings.network
        why = "; ".join(f"{engine}: {reason}" for engine, reason in choice.passed_over.items())
        if level != "protect" or network != "open":
            asked = level if level != "protect" else f"network {network}"
            raise ToolError(t("sandbox.refused", asked=asked, why=why), hint=t("sandbox.install"))
        warning = None if self._warned else t("sandbox.warning", why=why)
        self._warned = True
        return Jail(engine="none", level=level, warning=warning)

    def _before(self, choice: Choice) -> tuple[str, ...]:
        if choice.engine != "bubblewrap":
            return ()
        return (choice.program, *bubblewrap.arguments(network=self.settings.network == "open"))

    def _words(self, choice: Choice, plan: Plan) -> tuple[str, ...]:
        network = self.settings.network
        if choice.engine == "bubblewrap":
            way = (f"bridge={PROXY_PORT}:{self._socket}",) if network == "allow-list" else ()
            return ("scope", "die", *way, *bubblewrap.words(plan))
        words = landlock.words(plan)
        if os.geteuid() == 0:
            words.append(f"caps={','.join(map(str, bubblewrap.KEPT_CAPABILITIES.values()))}")
        if network != "open":
            words.append("tcp")
        if network == "allow-list":
            words.append(f"tcp={self._proxy_port}")
        return tuple(words)

    def _variables(self, choice: Choice) -> dict[str, str | None]:
        exposed = self.settings.expose
        closed = dict.fromkeys(n for n, door in stores.VARIABLES.items() if door not in exposed)
        if self.settings.network != "allow-list":
            return closed
        port = PROXY_PORT if choice.engine == "bubblewrap" else self._proxy_port
        way = f"http://127.0.0.1:{port}"
        # Servers of its own are inside; one that is listed is meant as it is outside.
        listed = {entry.rpartition(":")[0] or entry for entry in self.settings.network_allow}
        inside = ",".join(h for h in ("localhost", "127.0.0.1", "::1") if h not in listed)
        names = {"HTTP_PROXY": way, "HTTPS_PROXY": way, "ALL_PROXY": way, "NO_PROXY": inside}
        return {**closed, **names, **{name.lower(): value for name, value in names.items()}}

    @property
    def _socket(self) -> Path:
        return self._runtime / f"proxy-{os.getpid()}.sock"

    async def _open_network(self, choice: Choice) -> None:
        if choice.engine == "none":
            return
        if choice.engine == "landlock" and choice.landlock < landlock.NETWORK:
            raise ToolError(t("sandbox.no_tcp"), hint=t("sandbox.install"))
        # lazy: as above
        from hermes.terminals.sandbox.proxy import serving

        self._runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
        where = self._socket if choice.engine == "bubblewrap" else None
        listed = self.settings.network_allow
        self._proxy_port = await self._stack.enter_async_context(serving(listed, where))


async def _try(program: str | None) -> str:
    """Why `program` cannot make a sandbox here, or nothing. Only its exit status is believed."""
    if program is None:
        return t("sandbox.no_bubblewrap")
    try:
        with anyio.fail_after(PATIENCE):
            async with running(bubblewrap.probe(program), env={}) as started:
                code, said = await started.end()
    except (OSError, TimeoutError) as e:
        return str(e) or t("sandbox.slow")
    return "" if code == 0 else said.strip().splitlines()[0] if said.strip() else f"exit {code}"
