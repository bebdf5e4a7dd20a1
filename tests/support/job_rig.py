"""One Hermes for background commands: its tools over a folder, and what it told its sessions."""

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from hermes.core.clock import SystemClock
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.people import Origin
from hermes.ports.tool import SessionState, Tool, ToolContext
from hermes.system.tasks import SideTasks
from hermes.terminals.environment import child_environment
from hermes.terminals.local import LocalTerminal
from hermes.tools.terminal.command import Terminal
from hermes.tools.terminal.jobs import Jobs
from hermes.tools.terminal.process import Process
from hermes.tools.terminal.receipts import Receipts

ONE, TWO = SessionId("s-one"), SessionId("s-two")
Call = Callable[..., Awaitable[dict[str, Any]]]


def redact(output: str, command: str) -> str:
    return output.replace("hunter2", "***")


class Hermes:
    """One Hermes over a folder, and what it told its sessions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = folder / "place"
        self.place.mkdir(exist_ok=True)
        self.told: list[tuple[SessionId, str]] = []
        self.heard = anyio.Event()
        self.closed: set[SessionId] = set()
        self._tasks = SideTasks()
        self._states: dict[SessionId, SessionState] = {}
        self._backend = LocalTerminal(
            env=child_environment(os.environ, ()),
            state_dir=folder / "state",
            spill_dir=folder / "spill",
            clock=SystemClock(),
        )

    async def __aenter__(self) -> "Hermes":
        await self._tasks.__aenter__()
        self.jobs = Jobs(
            backend=self._backend,
            receipts=Receipts(self.folder / "receipts", redact),
            redact=redact,
            tell=self._tell,
            clock=SystemClock(),
            tasks=self._tasks.group,
            watch_pause=1,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tasks.__aexit__()
        await self._backend.aclose()

    async def _tell(self, session: SessionId, text: str) -> bool:
        if session in self.closed:
            return False
        self.told.append((session, text))
        self.heard.set()
        return True

    async def next(self, count: int = 1) -> list[str]:
        """What was told, once it is `count` messages."""
        with anyio.fail_after(20):
            while len(self.told) < count:
                self.heard = anyio.Event()
                await self.heard.wait()
        return [text for _, text in self.told]

    async def close(self, session: SessionId) -> None:
        self.closed.add(session)
        await self.jobs.forget(session)
        await self._backend.forget(session)

    async def run(
        self, command: str, *, session: SessionId = ONE, surface: str = "cli", **options: object
    ) -> dict[str, Any]:
        """A call of `terminal`."""
        tool = Terminal(
            backend=self._backend, redact=redact, jobs=self.jobs, refusal=lambda _: None
        )
        return await self._call(tool, {"command": command, **options}, session, surface)

    async def start(self, command: str, **options: Any) -> str:
        """The id of a background command."""
        answer = await self.run(command, background=True, **options)
        assert answer["error"] is None, answer
        return str(answer["session_id"])

    async def act(
        self, action: str, id: str | None = None, *, session: SessionId = ONE, **options: object
    ) -> dict[str, Any]:
        """A call of `process`."""
        tool = Process(self.jobs, redact, SystemClock(), default_wait=20, taken_within=1)
        named = {} if id is None else {"session_id": id}
        return await self._call(tool, {"action": action, **named, **options}, session, "cli")

    async def _call(
        self, tool: Tool, arguments: dict[str, object], session: SessionId, surface: str
    ) -> dict[str, Any]:
        state = self._states.setdefault(session, SessionState(str(self.place)))
        context = ToolContext(
            session=session,
            turn=TurnId("t"),
            call=CallId("c"),
            origin=Origin(surface=surface),
            state=state,
        )
        output = await tool.run(arguments, context)
        keys: dict[str, Any] = json.loads(output.content)
        return keys


def there(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


async def read_fifo(path: Path) -> str:
    return await to_thread.run_sync(path.read_text, "utf-8", abandon_on_cancel=True)
