"""Waiting and stopping: fault families stall and interrupt."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from family_parts import deaf_address, file_tools, sparse_file, stop, terminal_tool
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.agent.limits import Limits
from hermes.core.content import visible
from hermes.core.entries import AssistantEntry, UserEntry
from hermes.core.events import (
    CallState,
    EntryAdded,
    Notice,
    Question,
    SessionEvent,
    TextDelta,
    TurnEnded,
)
from hermes.core.inputs import Interrupt, Redirect, SessionInput, Steer, Submit
from hermes.ports.session import AgentSession
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from program import Program
from rig import PERSON, Rig, say
from tools_for_tests import Gate, Probe

pytestmark = pytest.mark.anyio

COMMENTS = [b": still here\n\n"] * 1000


@pytest.mark.parametrize(
    "silence",
    [
        replies.stall(),
        replies.stall(before_first_byte=False, after_events=[b": hello\n\n"]),
        replies.stall(before_first_byte=False),
        replies.slow(replies.raw_events(COMMENTS), 0.05),
        replies.stall(after_events=[replies.chunk({"content": "half an ans"})]),
    ],
    ids=["nothing", "a comment", "a role", "comments for ever", "half an answer"],
)
async def test_a_silent_model_is_left_at_the_users_deadline_tools_or_not(
    rig: Rig, silence: replies.Reply
) -> None:
    rig.first_byte = rig.idle = 0.4
    rig.tools["probe"] = Probe("probe")
    with ScriptedModel([silence, "fine"]) as model:
        async with rig.session(model) as session:
            start = anyio.current_time()
            ended = await say(session, "hi")
            assert anyio.current_time() - start < 2
            assert ended.why == "failed"
            assert "0.4 s" in ended.text
            assert (await say(session, "again")).text == "fine"
    assert len(model.requests) == 2


async def test_an_address_that_takes_no_connection_is_left_at_the_users_deadline(rig: Rig) -> None:
    rig.first_byte = 0.4
    with deaf_address() as url:
        async with rig.host(url) as host, host.open(None, PERSON, cwd="/") as session:
            start = anyio.current_time()
            ended = await say(session, "hi")
            assert anyio.current_time() - start < 2
    assert ended.why == "failed"
    assert "0.4 s" in ended.text


async def test_one_deadline_covers_all_retries_of_a_turn(rig: Rig) -> None:
    rig.first_byte = 0.3
    rig.limits = Limits(attempts=50, turn_seconds=1.0)
    with ScriptedModel(lambda _: replies.stall()) as model:
        async with rig.session(model) as session:
            start = anyio.current_time()
            ended = await say(session, "hi")
            assert anyio.current_time() - start < 2.5
    assert ended.why == "failed"
    assert "1.0 s" in ended.text or "1 s" in ended.text


@pytest.mark.parametrize("attempts", [0, 1])
async def test_no_retries_means_one_request(rig: Rig, attempts: int) -> None:
    rig.limits = Limits(attempts=attempts)
    with ScriptedModel(lambda _: replies.http(503, b"busy")) as model:
        async with rig.session(model) as session:
            assert (await say(session, "hi")).why == "failed"
    assert len(model.requests) == 1


def test_the_settings_are_honoured_by_the_program(program: Program) -> None:
    with ScriptedModel(lambda _: replies.stall()) as model:
        program.configure(model.base_url, "request:\n  first_byte_timeout: 1\n")
        text = (program.home / "config.yaml").read_text(encoding="utf-8")
        text = text.replace("api_max_retries: 1", "api_max_retries: 0")
        (program.home / "config.yaml").write_text(text, encoding="utf-8")
        start = time.monotonic()
        run = program.run("-z", "hi")
        assert time.monotonic() - start < 4
    assert run.returncode == 1
    assert b"1.0 s" in run.stderr or b"1 s" in run.stderr
    assert len(model.requests) == 1


async def test_after_one_error_of_a_stream_the_next_request_streams_again(rig: Rig) -> None:
    rig.limits = Limits(attempts=2)
    broken = replies.raw_events([{"error": {"message": "oops", "code": 503}}])
    with ScriptedModel([broken, "one", "two"]) as model:
        async with rig.session(model) as session:
            assert (await say(session, "a")).text == "one"
            assert (await say(session, "b")).text == "two"
    assert [request.json["stream"] for request in model.requests] == [True] * 3


@asynccontextmanager
async def busy(
    rig: Rig, model: ScriptedModel, until: type[SessionEvent]
) -> AsyncIterator[AgentSession]:
    """A session in the middle of its first turn, once it has come to an event of this kind."""
    async with rig.session(model, origin=PERSON) as session:
        async with session.events() as events:
            await session.send(Submit(text="go", origin=PERSON))
            async for event in events:
                if isinstance(event, until):
                    break
        yield session


async def valid_afterwards(rig: Rig, session: AgentSession) -> None:
    """Open it again: the strictest server takes what it sends."""
    with ScriptedModel(["fine"]) as model:
        async with rig.session(model, session.id) as again:
            assert (await say(again, "never mind")).text == "fine"


async def test_stop_is_quick_while_connecting(rig: Rig) -> None:
    with deaf_address() as url:
        async with rig.host(url) as host, host.open(None, PERSON, cwd="/") as session:
            await session.send(Submit(text="go", origin=PERSON))
            await anyio.lowlevel.checkpoint()
            ended, seconds = await stop(session)
    assert (ended.why, seconds < 1) == ("interrupted", True)
    await valid_afterwards(rig, session)


@pytest.mark.parametrize(
    ("reply", "until"),
    [
        (replies.never_ending("and "), TextDelta),
        (replies.http(503, b"busy"), Notice),
        (replies.http(429, b"slow down", {"retry-after": "55"}), Notice),
    ],
    ids=["streaming", "waiting to retry", "told to wait"],
)
async def test_stop_is_quick_while_the_model_is_asked(
    rig: Rig, reply: replies.Reply, until: type[SessionEvent]
) -> None:
    rig.limits = Limits(attempts=3)
    with ScriptedModel(lambda _: reply) as model:
        async with busy(rig, model, until) as session:
            ended, seconds = await stop(session)
    assert (ended.why, seconds < 1) == ("interrupted", True)
    await valid_afterwards(rig, session)


async def test_stop_is_quick_before_the_first_byte(rig: Rig) -> None:
    with ScriptedModel([replies.stall(), "fine"]) as model:
        async with rig.session(model) as session:
            await session.send(Submit(text="go", origin=PERSON))
            await model.request_arrives(1)
            ended, seconds = await stop(session)
            await model.client_leaves(1)
            assert (await say(session, "on")).text == "fine"
    assert (ended.why, seconds < 1) == ("interrupted", True)


async def test_stop_is_quick_while_a_person_is_asked_and_nothing_is_run(rig: Rig) -> None:
    rig.yolo = False
    probe = rig.tools["probe"] = Probe("probe", effects="world")
    with ScriptedModel([replies.calls(("probe", {}))]) as model:
        async with busy(rig, model, Question) as session:
            ended, seconds = await stop(session)
    assert (ended.why, seconds < 1, probe.log) == ("interrupted", True, [])
    await valid_afterwards(rig, session)


async def test_stop_is_quick_while_a_tool_works_in_a_thread(rig: Rig) -> None:
    file_tools(rig)
    sparse_file(rig.folder / "long.txt", gigabytes=500)
    with ScriptedModel([replies.calls(("read_file", {"path": "long.txt"}))]) as model:
        async with busy(rig, model, CallState) as session:
            ended, seconds = await stop(session)
    assert (ended.why, seconds < 1) == ("interrupted", True)
    await valid_afterwards(rig, session)


async def test_stop_ends_the_command_and_the_next_turn_knows(rig: Rig) -> None:
    command = "echo $BASHPID > pid; sleep 60; echo late >> late"
    async with terminal_tool(rig):
        with ScriptedModel([replies.calls(("terminal", {"command": command})), "fine"]) as model:
            async with busy(rig, model, CallState) as session:
                shell = await pid_in(rig.folder / "pid")
                ended, seconds = await stop(session)
                assert not Path(f"/proc/{shell}").exists()
            async with rig.session(model, session.id) as again:
                assert (await say(again, "hello")).text == "fine"
    assert (ended.why, seconds < 1) == ("interrupted", True)
    told = [m["content"] for m in model.requests[1].messages if m["role"] == "tool"]
    assert "Stopped by the user while running" in told[0]


async def pid_in(path: Path) -> str:
    with anyio.fail_after(20):
        while not (path.exists() and path.read_text(encoding="utf-8").endswith("\n")):
            await anyio.lowlevel.checkpoint()
    return path.read_text(encoding="utf-8").strip()


async def test_a_message_that_interrupts_is_answered_next(rig: Rig) -> None:
    with ScriptedModel([replies.never_ending("and "), "new"]) as model:
        async with busy(rig, model, TextDelta) as session:
            ended = await say_while_busy(session, Submit(text="b", origin=PERSON, busy="interrupt"))
    assert [why for why, _ in ended] == ["interrupted", "finished"]
    assert ended[1] == ("finished", "new")


async def say_while_busy(session: AgentSession, item: Submit) -> list[tuple[str, str]]:
    ends: list[tuple[str, str]] = []
    async with session.events() as events:
        await session.send(item)
        async for event in events:
            if type(event).__name__ == "TurnEnded":
                ends.append((event.why, event.text))  # type: ignore[union-attr]
            if len(ends) == 2:
                break
    return ends


@pytest.mark.parametrize("kind", [Steer, Redirect])
async def test_stop_takes_back_what_the_model_has_not_read(
    rig: Rig, kind: type[Steer | Redirect]
) -> None:
    gate = Gate()
    rig.tools["probe"] = Probe("probe", body=gate)
    with ScriptedModel([replies.calls(("probe", {})), "fine"]) as model:
        async with busy(rig, model, CallState) as session:
            await gate.reached.wait()
            await session.send(kind(text="unread", origin=PERSON))
            ended, _ = await stop(session)
            assert ended.why == "interrupted"
            assert (await say(session, "next")).text == "fine"
    assert b"unread" not in model.requests[1].body
    await nothing_waits(rig, session)


async def test_a_redirect_and_a_stop_at_once_leave_nothing_behind(rig: Rig) -> None:
    with ScriptedModel([replies.never_ending("and "), "fine"]) as model:
        async with busy(rig, model, TextDelta) as session:
            await session.send(Redirect(text="unread", origin=PERSON))
            ended, _ = await stop(session)
            assert ended.why in ("interrupted", "finished")
            await say(session, "next")
    said = [visible(e.content) for e in await rig.entries(session.id) if isinstance(e, UserEntry)]
    assert said[0] == "go"
    assert said[-1] == "next"
    await nothing_waits(rig, session)


INPUTS: dict[str, Callable[[str], SessionInput]] = {
    "stop": lambda _: Interrupt(),
    "steer": lambda text: Steer(text=text, origin=PERSON),
    "redirect": lambda text: Redirect(text=text, origin=PERSON),
    "queue": lambda text: Submit(text=text, origin=PERSON),
    "interrupt": lambda text: Submit(text=text, origin=PERSON, busy="interrupt"),
}
REPLIES = [
    replies.text("hello there", chunks=4),
    replies.calls(("look", {"x": "1"}), ("effect", {"x": "2"}), chunks=3),
    replies.text(""),
    "fine",
    replies.calls(("effect", {"x": "3"})),
    replies.http(500, b"boom"),
]


async def _storm(folder: Path, inputs: list[str | None]) -> None:
    rig = Rig(folder, limits=Limits(attempts=1, steps=4))
    rig.tools = {"look": Probe("look"), "effect": Probe("effect", effects="world")}
    with ScriptedModel(lambda r: REPLIES[r.number % len(REPLIES)]) as model:
        async with rig.session(model, origin=PERSON) as session, session.events() as events:
            await session.send(Submit(text="first", origin=PERSON))
            for number, name in enumerate(inputs):
                with anyio.move_on_after(0.1):
                    await anext(events)
                if name is not None:
                    await session.send(INPUTS[name](f"message {number}"))
            await session.send(Interrupt())
            await session.send(Submit(text="last", origin=PERSON))
            last = False
            with anyio.fail_after(10):
                async for event in events:
                    entry = event.entry if isinstance(event, EntryAdded) else None
                    last |= isinstance(entry, UserEntry) and visible(entry.content) == "last"
                    if last and isinstance(event, TurnEnded):
                        break
    await nothing_waits(rig, session)


@given(st.lists(st.sampled_from([None, None, *INPUTS]), min_size=4, max_size=25))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_inputs_at_any_moment_are_answered_or_taken_back_and_never_lost(
    inputs: list[str | None],
) -> None:
    with TemporaryDirectory() as folder:
        anyio.run(_storm, Path(folder), inputs)


async def nothing_waits(rig: Rig, session: AgentSession) -> None:
    """A session that is opened again does not answer what was taken back."""
    async with rig.store() as store:
        lease = await store.claim(session.id)
        assert (await store.load(lease)).inbox == ()


async def test_a_redirect_that_meets_a_failing_request_is_not_lost(rig: Rig) -> None:
    held = replies.http(400, b"no").hold()
    with ScriptedModel([held, "heard"]) as model:
        async with rig.session(model) as session, session.events() as events:
            await session.send(Submit(text="go", origin=PERSON))
            await model.request_arrives(1)
            model.release(1)
            sent = False
            async for event in events:
                if type(event).__name__ == "EntryAdded" and not sent:
                    entry = event.entry  # type: ignore[union-attr]
                    if isinstance(entry, AssistantEntry):
                        sent = True
                        await session.send(Redirect(text="rather this", origin=PERSON))
                if type(event).__name__ == "TurnEnded" and event.why == "finished":  # type: ignore[union-attr]
                    break
    assert model.requests[1].messages[-1]["content"] == "rather this"
