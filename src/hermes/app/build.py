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

from hermes.agent.direct import DirectCalls, direct
from hermes.agent.host import Host
from hermes.agent.limits import Limits, Parts
from hermes.app.checkpoints import RunCheckpoints
from hermes.app.policy import path_policy
from hermes.app.route import route_of
from hermes.app.tools import Workbench, chosen, registry
from hermes.core.clock import SystemClock
from hermes.core.errors import UserError
from hermes.core.ids import RandomIds
from hermes.core.people import Origin
from hermes.core.prompt import PromptSection
from hermes.core.transcript import ToolSchema
from hermes.ports.model import Route
from hermes.ports.tool import Tool, ToolSpec
from hermes.prompts.assemble import Assembler
from hermes.safety.chain import ApprovalGuard
from hermes.safety.paths import PathPolicy
from hermes.safety.redact import Redactor
from hermes.stores.blobs import BlobStore
from hermes.stores.sqlite.store import SqliteStore
from hermes.surfaces.cli.services import RunChoice
from hermes.system.config.load import Config, load
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
    from hermes.stores.checkpoints.store import CheckpointStore

CHAT_STEPS = 500
"""Model calls in a turn of a chat when nothing else is set; one-shots have no limit. The
reference's numbers."""

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
            yield Host(parts, provider, forget=terminal.forget, new_tools=bool(choice.toolsets))

    @asynccontextmanager
    async def direct(self, *, cwd: str, approve: bool) -> AsyncIterator[DirectCalls]:
        choice = RunChoice(surface="tools", yolo=approve)
        async with AsyncExitStack() as stack:
            parts, terminal = await self._parts(choice, None, stack)
            origin = Origin(surface=choice.surface)
            yield await stack.enter_async_context(
                direct(parts, origin, cwd=cwd, forget=terminal.forget)
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

    async def _parts(
        self, choice: RunChoice, route: Route | None, stack: AsyncExitStack
    ) -> tuple[Parts, LocalTerminal]:
        store = await stack.enter_async_context(self.store())
        settings = self._config.settings
        unasked = choice.yolo or settings.approvals.mode == "off"
        stack.callback(open_logs(self.home, settings.logging, self.redact).close)
        reaper = Reaper()
        stack.push_async_callback(reaper.aclose)
        hands = self._hands(choice, route, reaper)
        stack.push_async_callback(hands.terminal.aclose)
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
            guard=ApprovalGuard(policy=hands.policy, off=unasked),
            assembler=self._assembler(route),
            spill=spill,
            redact=self.redact,
            clock=self.clock,
            ids=self._ids,
            limits=self._limits(choice),
        )
        return parts, hands.terminal

    def _terminal(self) -> LocalTerminal:
        passthrough = self._config.settings.terminal.env_passthrough
        return LocalTerminal(
            env=child_environment(self.env, passthrough),
            state_dir=self.home.cache / "terminal-state",
            spill_dir=self.home.cache / "terminal-output",
            clock=self.clock,
        )

    def _policy(self, choice: RunChoice, route: Route | None) -> PathPolicy:
        demo = route is not None and route.demo
        confine = Path.cwd().resolve() if demo and not choice.toolsets else None
        return path_policy(self.home, self.env, self._config.settings.security, confine)

    def _hands(self, choice: RunChoice, route: Route | None, reaper: Reaper) -> Workbench:
        settings = self._config.settings
        files = self._files()
        return Workbench(
            home=self.home,
            settings=settings,
            redactor=self._redactor,
            terminal=self._terminal(),
            policy=self._policy(choice, route),
            files=files,
            checker=Checker(
                settings.lsp,
                reaper=reaper,
                env=child_environment(self.env, settings.terminal.env_passthrough),
                clock=self.clock,
            ),
            checkpoints=RunCheckpoints(lambda: self._checkpoints(files))
            if settings.checkpoints.enabled
            else None,
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
        return chosen(registry(hands), names)

    def _assembler(self, route: Route | None) -> Assembler:
        lean = route is not None and route.demo
        return Assembler(
            soul=self.home.soul,
            profile="lean" if lean else "full",
            system=f"{os.uname().sysname} {os.uname().release}, Python {sys.version.split()[0]}",
        )

    def _limits(self, choice: RunChoice) -> Limits:
        settings = self._config.settings
        steps = choice.max_turns or settings.agent.max_turns
        if steps is None and choice.surface == "cli":
            steps = CHAT_STEPS
        usd = settings.budget.usd
        return Limits(
            steps=None if steps == "unlimited" else steps,
            turn_seconds=settings.request.turn_timeout or settings.agent.run_budget_seconds,
            attempts=settings.agent.api_max_retries,
            approval_seconds=settings.approvals.timeout,
            usd_per_turn=usd.turn,
            usd_per_session=usd.session,
            usd_per_day=usd.day,
            allow_unpriced=settings.budget.unpriced == "allow",
        )
