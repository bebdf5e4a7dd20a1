"""The same turn on the real demo model: structure and side effects, never wording."""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

from hermes.app.build import App
from hermes.core.entries import AssistantEntry, Entry, ToolBatchEntry, UserEntry
from hermes.core.events import EntryAdded, SessionEvent, TextDelta, TurnEnded
from hermes.core.ids import SessionId
from hermes.core.inputs import Interrupt, Submit
from hermes.core.people import Origin
from hermes.ports.session import AgentSession
from hermes.surfaces.cli.services import RunChoice
from hermes.system.env import Environment
from hermes.system.locks import is_alive, process_identity
from hermes.system.paths import Home
from program import Program

pytestmark = pytest.mark.localmodel

CLI = Origin(surface="cli")
DEMO = RunChoice(surface="cli", demo=True)
CALLS = "What does setup.cfg say?"
"""The demo's own example of a call, so that it is certain to be followed."""
LONG = "Tell me a very long story about a dog"

# One thread: with more, a busy machine makes the engine crawl (see models.local.server).
CONFIG = "model:\n  local:\n    threads: 1\nagent:\n  api_max_retries: 1\n"

KEEPER = """
import sys
from pathlib import Path
import anyio
from hermes.app.route import DEMO_WINDOW
from hermes.models.local.server import LocalServer

async def main(model, home):
    local = LocalServer(
        model, state_dir=home / "locks", log=home / "log", context=DEMO_WINDOW, threads=1
    )
    await local.ready()
    print("ready", flush=True)
    await anyio.to_thread.run_sync(sys.stdin.read)
    await local.aclose()

anyio.run(main, Path(sys.argv[1]), Path(sys.argv[2]))
"""
"""Another Hermes of the same home that keeps the model's process for all tests."""


def furnished(root: Path, model: Path) -> Path:
    """A home with the demo model and one thread for it."""
    (root / "models").mkdir(parents=True)
    for name in (model.name, f"{model.name}.sha256"):
        (root / "models" / name).symlink_to(model.with_name(name))
    (root / "config.yaml").write_text(CONFIG, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def shared_home(demo_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home whose model runs already, in a process of its own."""
    root = furnished(tmp_path_factory.mktemp("shared") / "home", demo_model)
    command = [sys.executable, "-c", KEEPER, root / "models" / demo_model.name, root]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as keeper:
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == "ready\n"
        yield root
        keeper.communicate("")


@pytest.fixture
def own_home(demo_model: Path, tmp_path: Path) -> Path:
    """A home whose model is not running."""
    return furnished(tmp_path / "home", demo_model)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of the test."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def app(home: Path) -> App:
    env = Environment({"HERMES_HOME": str(home), "HOME": str(home.parent)})
    return App(env, Home.locate(env), argparse.Namespace())


@asynccontextmanager
async def session(home: Path, id: SessionId | None = None) -> AsyncIterator[AgentSession]:
    async with (
        app(home).host(DEMO) as host,
        host.open(id, CLI, cwd=str(Path.cwd())) as live,
    ):
        yield live


async def turn(
    live: AgentSession, text: str, on: Callable[[SessionEvent], Any] | None = None
) -> tuple[TurnEnded, list[Entry]]:
    """Run one turn and show each event to `on`; the turn's end, and its entries."""
    seen: list[Entry] = []
    async with live.events() as events:
        await live.send(Submit(text=text, origin=CLI))
        async for event in events:
            if on is not None and (awaitable := on(event)) is not None:
                await awaitable
            if isinstance(event, EntryAdded):
                seen.append(event.entry)
            if isinstance(event, TurnEnded):
                return event, seen
    raise AssertionError("the session closed before the turn ended")


def replies(entries: list[Entry]) -> list[AssistantEntry]:
    return [entry for entry in entries if isinstance(entry, AssistantEntry)]


def pid_of(home: Path) -> int:
    """The process of the model that runs in `home`."""
    (state,) = (home / "locks").glob("local-*.json")
    pid: int = json.loads(state.read_text(encoding="utf-8"))["pid"]
    return pid


def runs(pid: int) -> bool:
    try:
        return is_alive(process_identity(pid))
    except ProcessLookupError:
        return False


def cpu(pid: int) -> int:
    """The CPU time of a process so far, in ticks (proc(5), fields 14 and 15)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def demo(home: Path, cwd: Path, *arguments: str) -> tuple[bytes, bytes, dict[str, Any]]:
    """Run `hermes ARGUMENTS` to its good end; stdout, stderr and the usage file."""
    usage = cwd / "usage.json"
    program = Program(home=home, cwd=cwd)
    done = program.run(*arguments, "--demo", "--usage-file", str(usage))
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr, json.loads(usage.read_bytes())


async def test_a_turn_finishes_with_text_and_counts_its_tokens(
    shared_home: Path, folder: Path
) -> None:
    async with session(shared_home) as live:
        ended, entries = await turn(live, "Hello")
    assert (ended.why, ended.detail) == ("finished", "")
    assert ended.text.strip()
    assert [type(entry) for entry in entries] == [UserEntry, AssistantEntry]
    assert ended.usage == replies(entries)[0].usage
    assert ended.usage.output > 0
    assert ended.usage.cost_usd == 0.0


async def test_prompt_tools_and_examples_cost_600_tokens_at_most(
    shared_home: Path, folder: Path
) -> None:
    async with session(shared_home) as live:
        ended, _ = await turn(live, "Hello")
    assert 100 < ended.usage.input <= 600


async def test_each_request_is_read_from_the_cache_up_to_where_the_last_one_ended(
    shared_home: Path, folder: Path
) -> None:
    """The engine compares tokens from the start, so this is the proof that the prefix is stable."""
    (folder / "setup.cfg").write_text("port = 8080\n", encoding="utf-8")
    made: list[AssistantEntry] = []
    async with session(shared_home) as live:
        for text in ("Hello", CALLS, "Thank you"):
            made += replies((await turn(live, text))[1])
    async with session(shared_home, live.id) as again:
        assert again.id == live.id
        made += replies((await turn(again, "And now?"))[1])
    assert len(made) >= 4
    for before, after in pairwise(made):
        assert before.usage.input <= after.usage.cached < after.usage.input
    cached = [reply.usage.cached for reply in made]
    assert cached == sorted(set(cached))


async def test_a_tool_runs_and_its_result_goes_back_to_the_model(
    shared_home: Path, folder: Path
) -> None:
    (folder / "setup.cfg").write_text("port = 8080\n", encoding="utf-8")
    async with session(shared_home) as live:
        ended, entries = await turn(live, CALLS)
    assert ended.why == "finished"
    assert [type(e) for e in entries] == [
        UserEntry,
        AssistantEntry,
        ToolBatchEntry,
        AssistantEntry,
    ]
    batch = entries[2]
    assert isinstance(batch, ToolBatchEntry)
    assert batch.results[0].outcome == "ok"
    assert "port = 8080" in batch.results[0].content
    first, last = replies(entries)
    assert [call.tool for call in first.calls] == ["read_file"]
    assert last.usage.input > first.usage.input + first.usage.output + 30


async def test_the_demo_has_one_tool_and_it_does_not_leave_the_folder_by_a_link(
    shared_home: Path, folder: Path
) -> None:
    (folder.parent / "outside.txt").write_text("the password is swordfish\n", encoding="utf-8")
    (folder / "setup.cfg").symlink_to("../outside.txt")
    _, tools = app(shared_home).prompt(DEMO)
    assert [tool.name for tool in tools] == ["read_file"]
    async with session(shared_home) as live:
        _, entries = await turn(live, CALLS)
    (batch,) = (entry for entry in entries if isinstance(entry, ToolBatchEntry))
    assert batch.results[0].outcome == "failed"
    assert str(folder) in batch.results[0].content
    assert "swordfish" not in repr(entries)


async def test_stop_ends_the_making_of_text_and_the_next_turn_works(
    shared_home: Path, folder: Path
) -> None:
    async with session(shared_home) as live:

        async def stop(event: SessionEvent) -> None:
            if isinstance(event, TextDelta):
                await live.send(Interrupt())

        ended, _ = await turn(live, LONG, on=stop)
        with anyio.fail_after(2):
            await quiet(pid_of(shared_home))
        after, _ = await turn(live, "Hello")
    assert ended.why == "interrupted"
    assert after.why == "finished"


async def quiet(pid: int) -> None:
    """Return when a process has used no CPU for a fifth of a second."""
    before = -1
    while before != (before := cpu(pid)):
        await anyio.sleep(0.2)


async def test_a_crash_of_the_model_is_told_in_one_sentence_and_the_next_turn_works(
    own_home: Path, folder: Path
) -> None:
    async with session(own_home) as live:

        def crash(event: SessionEvent) -> None:
            if isinstance(event, TextDelta) and runs(pid := pid_of(own_home)):
                os.kill(pid, signal.SIGKILL)

        ended, _ = await turn(live, LONG, on=crash)
        after, _ = await turn(live, "Hello")
    assert ended.why == "failed"
    assert "The local model's process ended" in ended.detail + ended.text
    assert after.why == "finished"


async def test_the_model_dies_with_hermes_and_the_session_goes_on(
    own_home: Path, folder: Path
) -> None:
    with Program(home=own_home, cwd=folder).start("chat", "--demo", "-q", LONG) as process:
        try:
            with anyio.fail_after(60):
                while not list(own_home.glob("locks/local-*.json")):
                    await anyio.sleep(0.02)
            pid = pid_of(own_home)
            assert runs(pid)
        finally:
            process.kill()
    with anyio.fail_after(2):
        while runs(pid):
            await anyio.sleep(0.02)
    out, _, usage = demo(own_home, folder, "chat", "--continue", "-q", "Hello")
    assert out.strip()
    assert usage["completed"] is True
    assert usage["input_tokens"] > 0 == usage["cache_read_tokens"]


def test_the_quick_start_answers_on_stdout_and_names_the_demo_beside_it(
    shared_home: Path, folder: Path
) -> None:
    out, err, first = demo(shared_home, folder, "chat", "-q", "Hello")
    assert out.strip()
    assert b"demo" not in out
    assert b"demo model" in err
    id = err.decode().split("session ")[1].split()[0]
    _, _, second = demo(shared_home, folder, "chat", "--resume", id, "-q", "And now?")
    assert second["cache_read_tokens"] >= first["input_tokens"] > 0


def test_the_demo_does_not_stand_in_for_a_provider_that_fails(
    own_home: Path, folder: Path, unused_port: int
) -> None:
    program = Program(home=own_home, cwd=folder)
    program.configure(f"http://127.0.0.1:{unused_port}/v1")
    done = program.run("chat", "--demo", "-q", "Hello")
    assert (done.returncode, done.stdout) == (1, b"")
    assert str(unused_port) in done.stderr.decode()
    assert not list(own_home.glob("locks/local-*"))


@pytest.fixture
def unused_port() -> Iterator[int]:
    """A port at which nobody answers: it is bound and does not listen."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]
