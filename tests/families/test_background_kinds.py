"""Commands in the background, from their start to what is told of their end: fault families
bg-notify, proc-leak and, for what a stop leaves running, interrupt."""

import fcntl
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import pytest
from anyio import to_thread
from family_parts import stop, terminal_tool

from hermes.core.events import CallState, Question, TurnEnded
from hermes.core.inputs import Answer, Submit
from hermes.ports.session import AgentSession
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import Request, ScriptedModel
from program import Program
from rig import PERSON, Rig, say

pytestmark = pytest.mark.anyio


@pytest.fixture
async def busy_rig(rig: Rig) -> AsyncIterator[Rig]:
    os.mkfifo(rig.folder / "gate")
    async with terminal_tool(rig):
        yield rig


def background(command: str, **options: Any) -> tuple[str, dict[str, Any]]:
    return ("terminal", {"command": command, "background": True, **options})


def act(action: str, id: str) -> tuple[str, dict[str, Any]]:
    return ("process", {"action": action, "session_id": id})


def ids(request: Request) -> list[str]:
    """The background commands of a conversation, in the order of their start."""
    text = json.dumps([m["content"] for m in request.messages if m["role"] == "tool"])
    return list(dict.fromkeys(re.findall(r"proc_[0-9a-f]{12}", text)))


def told(request: Request) -> str:
    """What a conversation holds of Hermes's own words."""
    return "\n".join(str(m["content"]) for m in request.messages if m["role"] == "user")


async def open_gate(rig: Rig) -> None:
    gate = rig.folder / "gate"
    await to_thread.run_sync(gate.write_text, "go\n", "utf-8", abandon_on_cancel=True)


async def then(session: AgentSession, do: Callable[[], Any]) -> TurnEnded:
    """Do something while no turn runs; the end of the turn that begins by itself."""
    async with session.events() as events:
        await do()
        with anyio.fail_after(20):
            async for event in events:
                if isinstance(event, TurnEnded):
                    return event
    raise AssertionError("the session closed before the turn ended")


async def test_an_end_is_read_by_the_turn_that_is_running(busy_rig: Rig) -> None:
    job = "sleep 0.2; echo built; exit 4"

    def script(request: Request) -> replies.Reply | str:
        if "exit code 4" in told(request) + json.dumps(request.messages[-1]):
            return "seen"
        if len(request.messages) < 3:
            return replies.calls(background(job, notify=True))
        return replies.calls(("terminal", {"command": f"sleep 0.2; echo {len(request.messages)}"}))

    with ScriptedModel(script) as model:
        async with busy_rig.session(model) as session:
            assert (await say(session, "go")).text == "seen"
    last = json.dumps(model.requests[-1].messages)
    assert last.count("has ended, exit code 4") == 1
    assert "built" in last


async def test_an_end_begins_a_turn_if_none_runs(busy_rig: Rig) -> None:
    job = background("read x <gate; echo built; exit 4", notify=True)
    with ScriptedModel([replies.calls(job), "started", "it failed"]) as model:
        async with busy_rig.session(model) as session:
            assert (await say(session, "go")).text == "started"
            ended = await then(session, lambda: open_gate(busy_rig))
    assert ended.text == "it failed"
    assert "exit code 4" in model.requests[2].messages[-1]["content"]


async def test_a_turn_that_an_end_begins_asks_the_person_who_has_the_session_open(
    busy_rig: Rig,
) -> None:
    busy_rig.yolo = False
    job = background("read x <gate", notify=True)
    flagged = ("terminal", {"command": "rm -r gate"})
    with ScriptedModel([replies.calls(job), "started", replies.calls(flagged), "I see"]) as model:
        async with busy_rig.session(model, origin=PERSON) as session:
            assert (await say(session, "go")).text == "started"
            async with session.events() as events:
                await open_gate(busy_rig)
                with anyio.fail_after(20):
                    async for event in events:
                        if isinstance(event, Question):
                            await session.send(Answer(question=event.id, choice="no"))
                        if isinstance(event, TurnEnded):
                            break
    assert (busy_rig.folder / "gate").exists()
    assert "the user said no" in model.requests[3].messages[-1]["content"]


async def test_what_was_killed_or_waited_for_is_not_told(busy_rig: Rig) -> None:
    awaited = "until [ -e waiting ]; do sleep 0.1; done; sleep 0.5; echo waited; exit 5"
    jobs = ["sleep 300", "sleep 301", awaited, "read x <gate; exit 3"]
    started = replies.calls(*(background(job, notify=True) for job in jobs))

    def script(request: Request) -> replies.Reply | str:
        if len(model.requests) == 1:
            return started
        one, two, three, _ = ids(request)
        if len(model.requests) == 2:
            return replies.calls(act("kill", one), act("kill", two), act("wait", three))
        return "fine"

    def waiting(event: object) -> None:
        if isinstance(event, CallState) and event.phase == "running" and "wait" in event.summary:
            (busy_rig.folder / "waiting").touch()

    with ScriptedModel(script) as model:
        async with busy_rig.session(model) as session:
            await say(session, "go", on=waiting)
            await then(session, lambda: open_gate(busy_rig))
    words = told(model.requests[-1])
    assert ids(model.requests[-1])[3] in words
    assert words.count("has ended") + words.count("printed") == 1


async def test_a_line_that_is_watched_for_is_told_once_and_the_end_is_not_another(
    busy_rig: Rig,
) -> None:
    calls = replies.calls(
        background("echo READY", notify=["READY"]),
        background("read x <gate; exit 3", notify=True),
    )

    def script(request: Request) -> replies.Reply | str:
        return calls if len(request.messages) < 3 else "fine"

    with ScriptedModel(script) as model:
        async with busy_rig.session(model) as session:
            await say(session, "go")
            await open_gate(busy_rig)
            with anyio.fail_after(20):
                while "exit code 3" not in told(model.requests[-1]):
                    await model.request_arrives(len(model.requests) + 1)
            watched = ids(model.requests[-1])[0]
    words = told(model.requests[-1])
    assert words.count(watched) == 1
    assert words.count("exit code") == 1


async def test_a_command_that_goes_to_the_background_is_started_once(busy_rig: Rig) -> None:
    long = ("terminal", {"command": "echo x >>count; read y <gate; echo end", "timeout": 99_999})

    def script(request: Request) -> replies.Reply | str:
        if len(request.messages) < 3:
            return replies.calls(long)
        if len(model.requests) == 2:
            return replies.calls(("process", {"action": "list"}))
        return "fine"

    with ScriptedModel(script) as model:
        async with busy_rig.session(model) as session:
            await say(session, "go")
            await session.send(Submit(text="and?", origin=PERSON))
            await open_gate(busy_rig)
            await say(session, "well?")
    first, listed = (m["content"] for m in model.requests[2].messages if m["role"] == "tool")
    assert "promoted_from_foreground" in first
    assert len(json.loads(listed)["processes"]) == 1
    assert (busy_rig.folder / "count").read_text(encoding="utf-8") == "x\n"


async def test_a_stop_ends_the_turn_and_leaves_what_is_in_the_background(busy_rig: Rig) -> None:
    calls = replies.calls(
        background("read x <gate; echo through", notify=True),
        ("terminal", {"command": "echo >begun; sleep 300"}),
    )
    with ScriptedModel([calls, "told"]) as model:
        async with busy_rig.session(model, origin=PERSON) as session:
            async with session.events() as events:
                await session.send(Submit(text="go", origin=PERSON))
                async for event in events:
                    if isinstance(event, CallState) and "begun" in event.summary:
                        break
            with anyio.fail_after(20):
                while not (busy_rig.folder / "begun").exists():
                    await anyio.lowlevel.checkpoint()
            ended, seconds = await stop(session)
            assert (ended.why, seconds < 1) == ("interrupted", True)
            assert (await then(session, lambda: open_gate(busy_rig))).text == "told"
    assert "through" in model.requests[1].messages[-1]["content"]


@pytest.mark.parametrize("words", [("-z", "hi"), ("chat", "-q", "hi")])
def test_a_program_that_ends_leaves_no_command_behind(
    program: Program, words: tuple[str, ...]
) -> None:
    held = "exec 9>lock; flock -n 9; trap '' TERM HUP; sleep 300"
    ready = "until ! flock -n lock true; do :; done"
    script = [replies.calls(background(held)), replies.calls(("terminal", {"command": ready}))]
    with ScriptedModel([*script, "ok"]) as model:
        program.configure(model.base_url, "approvals:\n  mode: off\n")
        assert program.run(*words).returncode == 0
    assert len(model.requests) == 3
    with (program.cwd / "lock").open(encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
