"""The loop put together as the program does, with real parts."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hermes.agent.host import Host
from hermes.agent.limits import Limits, Parts
from hermes.core.clock import SystemClock
from hermes.core.entries import Entry
from hermes.core.events import SessionEvent, TurnEnded, TurnStarted
from hermes.core.ids import RandomIds, SessionId
from hermes.core.inputs import Submit
from hermes.core.people import Origin
from hermes.core.usage import FREE
from hermes.models.body import Deadlines
from hermes.models.dialects.chat_completions import ChatCompletions
from hermes.models.provider import HttpProvider
from hermes.ports.hooks import Hooks
from hermes.ports.model import Route
from hermes.ports.session import AgentSession
from hermes.ports.store import Journal
from hermes.ports.tool import Tool
from hermes.prompts.assemble import Assembler
from hermes.safety.chain import ApprovalGuard
from hermes.safety.paths import PathPolicy
from hermes.sdk.testing.model_server import ScriptedModel
from hermes.stores.blobs import BlobStore
from hermes.stores.sqlite.store import SqliteStore
from hermes.system.http import http_transport
from hermes.system.lazy import load

CLI = Origin(surface="cli")
PERSON = Origin(surface="cli", person=True)


def route(base_url: str, **changes: Any) -> Route:
    return replace(
        Route(
            name="custom/scripted",
            provider="custom",
            model="scripted",
            dialect="chat_completions",
            base_url=base_url,
            key="",
            window=None,
            max_output=None,
            price=FREE,
        ),
        **changes,
    )


async def _nothing(_: SessionId) -> None:
    return None


@dataclass
class Rig:
    """The loop with a real store, over HTTP to a scripted model."""

    folder: Path
    tools: dict[str, Tool] = field(default_factory=dict)
    limits: Limits = field(default_factory=lambda: Limits(attempts=1))
    yolo: bool = True
    first_byte: float = 20.0
    idle: float = 20.0
    route: dict[str, Any] = field(default_factory=dict)
    journal: Callable[[SqliteStore], Journal] = field(default=lambda store: store)
    opened: Callable[[SessionId], Awaitable[None]] = _nothing
    forget: Callable[[SessionId], Awaitable[None]] = _nothing
    tell: Callable[[SessionId, str], Awaitable[bool]] | None = None
    hooks: Hooks | None = None
    approvals: dict[str, Any] = field(default_factory=dict)

    def guard(self, policy: PathPolicy) -> ApprovalGuard:
        """The guard; `approvals` are further arguments of it."""
        made = {"classifier": self.classifier, **self.approvals}
        return ApprovalGuard(policy=policy, off=self.yolo, **made)

    def classifier(self) -> Any:
        """What parses commands."""
        make = load("hermes.safety.commands.classify:Classifier")
        return make(home=self.folder, hermes_home=self.folder / "home")

    @asynccontextmanager
    async def store(self) -> AsyncIterator[SqliteStore]:
        store = await SqliteStore.open(self.folder / "hermes.db", clock=SystemClock())
        try:
            yield store
        finally:
            await store.aclose()

    @asynccontextmanager
    async def host(self, base_url: str) -> AsyncIterator[Host]:
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(self.store())
            ids = RandomIds(os.urandom)
            where = route(base_url, **self.route)
            provider = HttpProvider(
                where,
                ChatCompletions(),
                lambda: http_transport(base_url, {}),
                ids,
                Deadlines(first_byte=self.first_byte, idle=self.idle),
            )
            stack.push_async_callback(provider.aclose)
            blobs = BlobStore(self.folder / "blobs")
            policy = PathPolicy(home=self.folder / "home", user=self.folder)

            async def spill(data: bytes) -> Path:
                return blobs.put(data)

            parts = Parts(
                store=store,
                journal=self.journal(store),
                model=where.name,
                tools=self.tools,
                guard=self.guard(policy),
                assembler=Assembler(soul=self.folder / "SOUL.md", profile="full", system="Test"),
                spill=spill,
                redact=lambda text: text,
                clock=SystemClock(),
                ids=ids,
                limits=self.limits,
                hooks=self.hooks,
            )
            host = Host(parts, provider, opened=self.opened, forget=self.forget)
            self.tell = host.tell
            yield host

    @asynccontextmanager
    async def session(
        self, model: ScriptedModel, id: SessionId | None = None, origin: Origin = CLI
    ) -> AsyncIterator[AgentSession]:
        async with (
            self.host(model.base_url) as host,
            host.open(id, origin, cwd=str(self.folder)) as session,
        ):
            yield session

    async def entries(self, id: SessionId) -> list[Entry]:
        async with self.store() as store:
            return [receipt.value async for receipt in store.read(id)]


async def say(
    session: AgentSession,
    text: str,
    *,
    origin: Origin = CLI,
    on: Callable[[SessionEvent], Any] | None = None,
) -> TurnEnded:
    """Submit `text` and follow the events to the end of its turn."""
    async with session.events() as events:
        number = await session.send(Submit(text=text, origin=origin))
        ours = False
        async for event in events:
            if on is not None and (awaitable := on(event)) is not None:
                await awaitable
            if isinstance(event, TurnStarted):
                ours = event.input == number
            if ours and isinstance(event, TurnEnded):
                return event
    raise AssertionError("the session closed before the turn ended")
