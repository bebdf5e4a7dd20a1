"""Real tools for the loop, an address where nobody answers, and a measured stop."""

import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio

from hands import hands
from hermes.app.terminal import RunTerminal
from hermes.core.clock import SystemClock
from hermes.core.events import TurnEnded
from hermes.core.ids import SessionId
from hermes.core.inputs import Interrupt
from hermes.ports.session import AgentSession
from hermes.safety.paths import PathPolicy
from hermes.safety.redact import Redactor
from hermes.system.config.settings import Settings
from hermes.system.paths import Home
from hermes.terminals.environment import child_environment
from hermes.terminals.local import LocalTerminal
from rig import Rig


def file_tools(rig: Rig) -> None:
    """Give `rig` the file tools."""
    policy = PathPolicy(home=rig.folder / "home", user=rig.folder)
    rig.tools |= hands(policy, records=rig.folder / "records")


@asynccontextmanager
async def terminal_tool(rig: Rig, settings: Settings | None = None) -> AsyncIterator[None]:
    """Give `rig` the tools that run programs, which end with the block."""
    home = Home(rig.folder / "home", rig.folder)
    home.prepare()
    backend = LocalTerminal(
        env=child_environment(os.environ, ()),
        state_dir=rig.folder / "state",
        spill_dir=rig.folder / "spill",
        clock=SystemClock(),
    )
    terminal = RunTerminal(
        backend,
        home=home,
        settings=settings or Settings(),
        redactor=Redactor(enabled=False, secrets=()),
        checkpoints=None,
        clock=SystemClock(),
    )
    async with terminal:

        async def tell(session: SessionId, text: str) -> None:
            if rig.tell is not None:
                await rig.tell(session, text)

        terminal.tell = tell
        rig.opened, rig.forget = terminal.opened, terminal.forget
        rig.tools["terminal"] = terminal.terminal()
        rig.tools["process"] = terminal.process()
        rig.tools.setdefault("execute_code", terminal.execute_code())
        yield


@contextmanager
def deaf_address() -> Iterator[str]:
    """A base URL to which no connection is ever completed: its backlog is full."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting: list[socket.socket] = []
        for _ in range(4):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
            waiting.append(client)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            for client in waiting:
                client.close()


async def stop(session: AgentSession) -> tuple[TurnEnded, float]:
    """Interrupt the running turn; how it ended, and how many seconds that took."""
    async with session.events() as events:
        start = anyio.current_time()
        await session.send(Interrupt())
        with anyio.fail_after(30):
            async for event in events:
                if isinstance(event, TurnEnded):
                    return event, anyio.current_time() - start
    raise AssertionError("the session closed before the turn ended")


def sparse_file(path: Path, gigabytes: int) -> None:
    """A text file whose end is far away and takes no space."""
    with path.open("wb") as file:
        file.write(b"line\n" * 4096)
        file.truncate(gigabytes << 30)
