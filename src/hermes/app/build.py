"""The parts, put together: the only place where rooms meet.

Nothing is opened before a command asks for it, and everything opened is closed in reverse.
"""

import argparse
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from hermes.agent.direct import DirectCalls, direct, everything, nobody
from hermes.agent.host import Host
from hermes.agent.limits import Parts
from hermes.app.checkpoints import RunCheckpoints
from hermes.app.guard import GuardChoice, RunGuard
from hermes.app.limits import limits_of
from hermes.app.policy import path_policy
from hermes.app.route import route_of
from hermes.app.terminal import RunJails, RunTerminal
from hermes.app.tools import Workbench, chosen, reading, registry
from hermes.core.clock import SystemClock
from hermes.core.errors import UserError
from hermes.core.ids import RandomIds
from hermes.core.people import Origin
from hermes.core.prompt import PromptSection
from hermes.core.transcript import ToolSchema
from hermes.ports.guard import Verdict
from hermes.ports.hooks import Hooks
from hermes.ports.model import Route
from hermes.ports.tool import Arguments, Tool, ToolSpec
from hermes.ports.trust import FolderTrust
from hermes.prompts.assemble import Assembler
from hermes.safety.paths import PathPolicy
from hermes.safety.redact import Redactor
from hermes.stores.blobs import BlobStore
from hermes.stores.sqlite.store import SqliteStore
from hermes.surfaces.cli.services import RunChoice
from hermes.system.config.load import Config, load
from hermes.system.config.sections import HooksSection
from hermes.system.env import Environment
from hermes.system.i18n import t
from hermes.system.lazy import load as lazy
from hermes.system.logs import open_logs
from hermes.system.paths import Home
from hermes.system.process import Reaper
from hermes.terminals.environment import child_environment
from hermes.terminals.local import LocalTerminal
from hermes.terminals.local_files import LocalFiles
from hermes.terminals.ripgrep import Ripgrep
from hermes.tools.files.checks.checker import Checker

if TYPE_CHECKING:
    from hermes.ports.hook_book import HookBook
    from hermes.safety.hooks.bus import ShellHooks
    from hermes.stores.checkpoints.store import CheckpointStore
    from hermes.terminals.sandbox.sandboxes import Sandboxes

DEMO_TOOLS = ("read_file",)


class App:
    """The program for one run; see `surfaces.cli.services.Services`."""

    def __init__(self, env: Environment, home: Home, options: argparse.Namespace) -> None:
        self.env = env
        self.home = home
        self.clock = SystemClock()
        self._ids = RandomIds(os.urandom)
        ignore = getattr(options, "safe_mode", False), getattr(options, "ignore_user_config", False)
        self._ignore_file = any(ignore)

    @cached_property
    def _config(self) -> Config:
        return load(self.home, self.env, skip_file=self._ignore_file)

    @cached_property
    def _redactor(self) -> Redactor:
        config = self._config
        return Redactor(
            enabled=config.settings.security.redact_secrets, secrets=config.secret_values()
        )

    def config(self) -> Config:
        return self._config

    def reload(self) -> None:
        for name in ("_config", "_redactor"):
            self.__dict__.pop(name, None)

    def _redact_log(self, text: str) -> str:
        return self._redactor.redact(text, "log")

    def redact(self, text: str) -> str:
        return self._redactor.redact(text)

    def route(self, choice: RunChoice) -> Route | None:
        return route_of(choice, self._config)

    @asynccontextmanager
    async def store(self) -> AsyncIterator[SqliteStore]:
        self.home.prepare()
        durability = self._config.settings.store.durability
        store = await SqliteStore.open(self.home.database, clock=self.clock, durability=durability)
        try:
            yield store
        finally:
            await store.aclose()

    @asynccontextmanager
    async def host(self, choice: RunChoice) -> AsyncIterator[Host]:
        route = self.route(choice)
        if route is None:
            raise UserError(t("cli.no_model_oneshot"))
        async with AsyncExitStack() as stack:
            parts, terminal = await self._parts(choice, route, stack)
            # lazy: HTTP costs more than all the rest, and most verbs make no request
            provider_of = lazy("hermes.app.provider:provider_of")
            provider = await provider_of(route, self.home, self._config, self.env, self._ids)
            stack.push_async_callback(provider.aclose)
            host = Host(
                parts,
                provider,
                opened=terminal.opened,
                forget=terminal.forget,
                new_tools=bool(choice.toolsets) or self._read_only(choice),
            )
            terminal.tell = host.tell
            yield host

    @asynccontextmanager
    async def direct(self, *, cwd: str, approve: bool) -> AsyncIterator[DirectCalls]:
        choice = RunChoice(surface="tools")
        async with AsyncExitStack() as stack:
            parts, terminal = await self._parts(choice, None, stack)
            origin = Origin(surface=choice.surface)
            yield await stack.enter_async_context(
                direct(
                    parts,
                    origin,
                    cwd=cwd,
                    forget=terminal.forget,
                    ask=everything if approve else nobody,
                )
            )

    def prompt(self, choice: RunChoice) -> tuple[tuple[PromptSection, ...], tuple[ToolSchema, ...]]:
        route = self.route(choice)
        tools = self._tools(choice, route, self._hands(choice, route, Reaper()))
        ordered = tuple(tool.spec.schema for _, tool in sorted(tools.items()))
        sections = self._assembler(route).sections(
            origin=Origin(surface=choice.surface),
            cwd=str(Path.cwd()),
            tools=ordered,
            model=route.name if route else "",
            now=self.clock.now(),
        )
        return sections, ordered

    def tools(self) -> tuple[ToolSpec, ...]:
        everything = RunChoice(surface="tools")
        tools = self._tools(everything, None, self._hands(everything, None, Reaper()))
        return tuple(tool.spec for _, tool in sorted(tools.items()))

    async def judge(self, tool: str, arguments: Arguments, *, cwd: str) -> Verdict:
        hands = self._hands(RunChoice(surface="cli"), None, Reaper())
        judged = lazy("hermes.app.chain:verdict_on")
        verdict: Verdict = await judged(self._config, self.env, hands, tool, arguments, cwd)
        return verdict

    def default_route(self, changes: Mapping[str, str]) -> Route | None:
        config = load(self.home, self.env, flags=changes, skip_file=self._ignore_file)
        return route_of(RunChoice(surface="cli"), config)

    async def probe(self, route: Route) -> None:
        await lazy("hermes.app.probe:probe")(
            route, self.env, self._config.settings.model.local.path
        )

    def demo_model(self) -> Path | None:
        found: Path | None = lazy("hermes.models.local.install:installed")(self.home.models)
        return found

    async def install_demo(self) -> Path:
        path: Path = await lazy("hermes.app.provider:fetch_demo")(self.home)
        return path

    def trust(self) -> FolderTrust:
        trust: FolderTrust = lazy("hermes.safety.trust:Trust")(self.home, self.clock)
        return trust

    @asynccontextmanager
    async def hooks(self) -> AsyncIterator["HookBook"]:
        settings = self._config.settings.terminal.local
        async with RunJails(settings, self.sandboxes) as jails:
            hooks = self._shell_hooks(jails if settings.sandbox != "off" else None)
            try:
                yield hooks
            finally:
                await hooks.aclose()

    def _hooks(
        self, choice: RunChoice, terminal: RunTerminal, stack: AsyncExitStack
    ) -> Hooks | None:
        if self._config.settings.hooks == HooksSection():
            project = None if self._ignore_file else self.trust().project(Path.cwd())
            if project is None or project.standing != "trusted":
                return None
        hooks = self._shell_hooks(terminal.jails, accept=choice.accept_hooks)
        stack.push_async_callback(hooks.aclose)
        return hooks

    def _shell_hooks(self, jails: RunJails | None, *, accept: bool = False) -> "ShellHooks":
        # lazy: few people have hooks
        hooks: ShellHooks = lazy("hermes.app.hooks:shell_hooks")(
            self._config,
            self.env,
            None if self._ignore_file else self.trust(),
            jails=jails,
            redact=self.redact,
            clock=self.clock,
            accept=accept,
        )
        return hooks

    async def _parts(
        self, choice: RunChoice, route: Route | None, stack: AsyncExitStack
    ) -> tuple[Parts, RunTerminal]:
        store = await stack.enter_async_context(self.store())
        settings = self._config.settings
        stack.callback(open_logs(self.home, settings.logging, self._redact_log).close)
        reaper = Reaper()
        stack.push_async_callback(reaper.aclose)
        hands = self._hands(choice, route, reaper)
        await stack.enter_async_context(hands.terminal)
        await stack.enter_async_context(hands.checker)
        if hands.checkpoints is not None:
            stack.push_async_callback(hands.checkpoints.aclose)
            await hands.checkpoints.prune_when_due(self.home, settings.checkpoints, self.clock)
        blobs = BlobStore(self.home.blobs)

        async def spill(data: bytes) -> Path:
            return await anyio.to_thread.run_sync(blobs.put, data)

        parts = Parts(
            store=store,
            journal=store,
            model=route.name if route else "direct",
            tools=self._tools(choice, route, hands),
            guard=RunGuard(
                self._config,
                self.env,
                hands,
                GuardChoice(unasked=choice.yolo, route=route, ids=self._ids, stack=stack),
            ),
            assembler=self._assembler(route),
            spill=spill,
            redact=self.redact,
            clock=self.clock,
            ids=self._ids,
            limits=limits_of(settings, choice),
            hooks=self._hooks(choice, hands.terminal, stack),
        )
        return parts, hands.terminal

    @property
    def _shells(self) -> Path:
        """Where shells and Hermes meet."""
        return self.home.cache / "terminal-state"

    def _terminal(self, jails: RunJails) -> LocalTerminal:
        section = self._config.settings.terminal
        return LocalTerminal(
            env=child_environment(self.env, section.env_passthrough),
            state_dir=self._shells,
            spill_dir=self.home.cache / "terminal-output",
            clock=self.clock,
            jails=jails.jail,
            # What a shell has started has read the profile already.
            login=section.auto_source_bashrc and "SHLVL" not in self.env,
            files=section.shell_init_files,
        )

    def _policy(self, choice: RunChoice, route: Route | None) -> PathPolicy:
        demo = route is not None and route.demo
        confine = Path.cwd().resolve() if demo and not choice.toolsets else None
        return path_policy(self.home, self.env, self._config.settings.security, confine)

    def _hands(self, choice: RunChoice, route: Route | None, reaper: Reaper) -> Workbench:
        settings = self._config.settings
        files = self._files()
        policy = self._policy(choice, route)
        jails = RunJails(settings.terminal.local, self.sandboxes)
        checkpoints = (
            RunCheckpoints(lambda: self._checkpoints(files))
            if settings.checkpoints.enabled
            else None
        )
        return Workbench(
            home=self.home,
            settings=settings,
            redactor=self._redactor,
            terminal=RunTerminal(
                self._terminal(jails),
                jails=jails,
                home=self.home,
                settings=settings,
                redactor=self._redactor,
                checkpoints=checkpoints,
                clock=self.clock,
            ),
            policy=policy,
            files=files,
            checker=Checker(
                settings.lsp,
                reaper=reaper,
                env=child_environment(self.env, settings.terminal.env_passthrough),
                clock=self.clock,
                redact=lambda text: self._redactor.redact(text, "file"),
            ),
            checkpoints=checkpoints,
        )

    def _files(self) -> LocalFiles:
        return LocalFiles(
            home=str(self.home.user) if self.home.user else None,
            records=self.home.commits,
            clock=self.clock,
            ripgrep=Ripgrep(self.env.get("PATH", "")),
        )

    def _checkpoints(self, files: LocalFiles) -> "CheckpointStore":
        store: CheckpointStore = lazy("hermes.stores.checkpoints.store:open_store")(
            self.home,
            self._config.settings.checkpoints,
            files=files,
            env=self.env,
            clock=self.clock,
            ids=self._ids,
        )
        return store

    def sandboxes(self) -> "Sandboxes":
        # lazy: most runs start no command
        sandboxes: Sandboxes = lazy("hermes.terminals.sandbox.sandboxes:Sandboxes")(
            policy=path_policy(self.home, self.env, self._config.settings.security, None),
            settings=self._config.settings.terminal.local,
            env=self.env,
            runtime_dir=self._shells,
        )
        return sandboxes

    @asynccontextmanager
    async def checkpoints(self) -> AsyncIterator["CheckpointStore"]:
        store = self._checkpoints(self._files())
        try:
            yield store
        finally:
            await store.aclose()

    def _tools(
        self, choice: RunChoice, route: Route | None, hands: Workbench
    ) -> Mapping[str, Tool]:
        demo = route is not None and route.demo
        names = choice.toolsets or (DEMO_TOOLS if demo else ())
        tools = chosen(registry(hands), names)
        return reading(tools) if self._read_only(choice) else tools

    def _read_only(self, choice: RunChoice) -> bool:
        return choice.read_only or self._config.settings.approvals.read_only

    def _assembler(self, route: Route | None) -> Assembler:
        lean = route is not None and route.demo
        return Assembler(
            soul=self.home.soul,
            profile="lean" if lean else "full",
            system=f"{os.uname().sysname} {os.uname().release}, Python {sys.version.split()[0]}",
        )
