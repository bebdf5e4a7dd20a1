"""Local terminals in each sandbox that this machine has, and a leash on what they start."""

import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final, Protocol

import anyio
import pytest

from hermes.core.clock import SystemClock
from hermes.core.ids import SessionId
from hermes.ports.terminal import CommandResult, Sink, TerminalBackend
from hermes.safety.paths import PathPolicy
from hermes.system.config.sections import LocalTerminalSection
from hermes.terminals.environment import child_environment
from hermes.terminals.local import LocalTerminal
from hermes.terminals.sandbox.sandboxes import Sandboxes
from sandbox_rig import ENGINES, choice_of

ONE, TWO = SessionId("20250101_000000_000001"), SessionId("20250101_000000_000002")
LIMIT: Final = 50_000
BACKENDS: Final = ("local", *(f"local in {engine}" for engine in ENGINES))
SECRETS: Final = {"MY_TOKEN": "s3cr3t", "AWS_SECRET_ACCESS_KEY": "s3cr3t", "PLAIN": "s3cr3t"}


def local_terminal(
    kind: str, folder: Path, *, env: Mapping[str, str] = {}, state: Path | None = None
) -> LocalTerminal:
    """One of `BACKENDS`, with its folders `state` and `spill` below `folder`."""
    parts = {
        "env": child_environment({**os.environ, **SECRETS}, ()) | dict(env),
        "state_dir": state or folder / "state",
        "spill_dir": folder / "spill",
        "clock": SystemClock(),
    }
    if kind == "local":
        return LocalTerminal(**parts)  # type: ignore[arg-type]
    choice = next(choice_of(engine) for engine in ENGINES if kind.endswith(engine))
    assert not isinstance(choice, str)
    user = folder / "user"
    user.mkdir(exist_ok=True)
    made = Sandboxes(
        policy=PathPolicy(home=user / ".hermes", user=user),
        settings=LocalTerminalSection(),
        env=os.environ,
        runtime_dir=state or folder / "state",
        choice=choice,
    )
    return LocalTerminal(**parts, jails=made.jail)  # type: ignore[arg-type]


class Run(Protocol):
    async def __call__(
        self,
        command: str,
        *,
        session: SessionId = ONE,
        cwd: Path | str | None = None,
        timeout: float = 30,
        limit: int = LIMIT,
        fall_back: bool = True,
        sink: Sink | None = None,
    ) -> CommandResult: ...


async def said(run: Run, command: str, **options: object) -> str:
    """What a command printed."""
    result = await run(command, **options)  # type: ignore[arg-type]
    return result.output_head.decode()


class Leash:
    """A FIFO that tells whether any process still has it open, in whatever namespace.

    Commands take it by `exec 9>PATH`, or for one program by `9>PATH`, and hand it on.
    """

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    async def line(self) -> str:
        """What a holder writes to it; waits for that."""
        with anyio.fail_after(20):
            await anyio.wait_readable(self._fd)
        return os.read(self._fd, 4096).decode()

    def held(self) -> bool:
        """Whether any process has it open."""
        while True:
            try:
                if not os.read(self._fd, 4096):
                    return False
            except BlockingIOError:
                return True

    def close(self) -> None:
        os.close(self._fd)


@pytest.fixture(params=BACKENDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of terminal that this machine can have; its engine is found, which is cached."""
    for engine in ENGINES:
        if request.param.endswith(engine) and isinstance(why := choice_of(engine), str):
            pytest.skip(f"{engine}: {why}")
    return str(request.param)


@pytest.fixture
async def backend(kind: str, tmp_path: Path) -> AsyncIterator[TerminalBackend]:
    terminal = local_terminal(kind, tmp_path)
    yield terminal
    await terminal.aclose()
    assert not list((tmp_path / "state").glob("*"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where commands run."""
    path = tmp_path / "place"
    path.mkdir()
    return path


@pytest.fixture
async def leash(folder: Path) -> AsyncIterator[Leash]:
    made = Leash(folder / "leash")
    yield made
    made.close()


@pytest.fixture
def run(backend: TerminalBackend, folder: Path) -> Run:
    async def run(
        command: str,
        *,
        session: SessionId = ONE,
        cwd: Path | str | None = None,
        timeout: float = 30,
        limit: int = LIMIT,
        fall_back: bool = True,
        sink: Sink | None = None,
    ) -> CommandResult:
        return await backend.run(
            session,
            command,
            cwd=str(cwd or folder),
            timeout=timeout,
            limit=limit,
            fall_back=fall_back,
            sink=sink,
        )

    return run
