"""What stands in a history after any series of mishaps: fault families history-shape, cache and
restart. The strictest server takes every request, each begins with the bytes of the one before,
and every stored call has one result."""

import itertools
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from family_parts import stop
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.agent import notes
from hermes.agent.limits import Limits
from hermes.agent.recover import recover
from hermes.core.calls import Persisted, ToolCall, ToolResult
from hermes.core.content import Text
from hermes.core.entries import AssistantEntry, Entry, ToolBatchEntry, UserEntry, misplaced
from hermes.core.events import CallState, EntryAdded, SessionEvent, TextDelta, TurnEnded
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.inputs import Redirect, Steer, Submit
from hermes.core.usage import Price, Usage
from hermes.ports.session import AgentSession
from hermes.ports.store import Lease
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from hermes.stores.sqlite.store import SqliteStore
from rig import CLI, PERSON, Rig, say
from tools_for_tests import Probe, failing

pytestmark = pytest.mark.anyio

STEPS = 4
LOOK = ("look", {"x": "1"})
EFFECT = ("effect", {"x": "2"})
HELD = ("held", {"x": "3"})


@dataclass
class Story:
    """One session that things happen to; `plan` is what the model answers next."""

    rig: Rig
    model: ScriptedModel
    plan: deque[replies.Reply | str]
    id: SessionId | None = None
    turns: int = 0
    ends: list[TurnEnded] = field(default_factory=list)

    async def turn(self, *plan: replies.Reply | str, limits: Limits | None = None) -> None:
        """One whole turn."""
        self.plan.clear()
        self.plan.extend(plan)
        self.rig.limits = limits or Limits(attempts=1, steps=STEPS)
        self.turns += 1
        async with self.rig.session(self.model, self.id) as session:
            self.id = session.id
            self.ends.append(await say(session, f"turn {self.turns}"))

    async def meanwhile(
        self,
        reply: replies.Reply,
        until: type[SessionEvent],
        act: Callable[[AgentSession], Awaitable[object]],
        *rest: replies.Reply | str,
    ) -> None:
        """A turn that `act` happens to once there was an event of the kind `until`."""
        self.plan.clear()
        self.plan.extend((reply, *rest))
        self.rig.limits = Limits(attempts=1, steps=STEPS)
        self.turns += 1
        async with (
            self.rig.session(self.model, self.id, origin=PERSON) as session,
            session.events() as events,
        ):
            self.id = session.id
            await session.send(Submit(text=f"turn {self.turns}", origin=PERSON))
            acted = False
            with anyio.fail_after(30):
                async for event in events:
                    if isinstance(event, until) and not acted:
                        acted = True
                        await act(session)
                    if isinstance(event, TurnEnded):
                        self.ends.append(event)
                        break

    async def crash(self, phase: str) -> None:
        """What a process that was killed in a turn leaves in the store."""
        async with self.rig.store() as store:
            if self.id is None:
                return
            lease = await store.claim(self.id)
            await recover(store, await store.load(lease), 0.0)
            await _half_a_turn(store, lease, phase)


async def _half_a_turn(store: SqliteStore, lease: Lease, phase: str) -> None:
    turn = TurnId("killed")
    said = (Text(text="and then?"),)
    await store.append_user(lease, UserEntry(turn=turn, at=0.0, content=said, origin=CLI))
    if phase == "asked":
        return
    seen = (await store.load(lease)).entries
    calls = tuple(
        ToolCall(id=CallId(f"k{len(seen)}_{n}"), tool="effect", arguments='{"x":"9"}')
        for n in range(3)
    )
    reply: Persisted[AssistantEntry] = await store.append_assistant(
        lease,
        AssistantEntry(
            turn=turn, at=0.0, content=(), calls=calls, model="m", usage=Usage(), stop="calls"
        ),
        usage=None,
    )
    if phase == "committed":
        return
    await store.mark_started(lease, reply, calls[0].id)
    if phase == "settled":
        result = ToolResult(call=calls[0].id, content='{"output": "ok"}', outcome="ok")
        await store.mark_settled(lease, reply, result)
        await store.mark_started(lease, reply, calls[1].id)


async def _steer(session: AgentSession) -> None:
    await session.send(Steer(text="use metres", origin=PERSON))


async def _redirect(session: AgentSession) -> None:
    await session.send(Redirect(text="rather this", origin=PERSON))


async def _steer_and_stop(session: AgentSession) -> None:
    await _steer(session)
    await stop(session)


async def _redirect_and_stop(session: AgentSession) -> None:
    await _redirect(session)
    await stop(session)


CUT = replies.calls(("look", '{"x": "ab'), finish="length")
DROP = replies.drop([replies.chunk({"role": "assistant", "content": "half"})])
FAR = Limits(attempts=1, usd_per_turn=0.0)
MIXED = replies.calls(LOOK, EFFECT, ("nothing", {}), ("look", '{"x": "ab'), text="Let me see.")
Act = Callable[[Story], Awaitable[None]]
ACTS: dict[str, Act] = {
    "answer": lambda s: s.turn("fine"),
    "tools": lambda s: s.turn(replies.calls(LOOK, EFFECT), "done"),
    "mixed": lambda s: s.turn(MIXED, "done"),
    "cut": lambda s: s.turn(CUT, "shorter then"),
    "cut text": lambda s: s.turn(replies.text("one ", finish="length"), "two"),
    "cut for ever": lambda s: s.turn(*[replies.text("one ", finish="length")] * 4),
    "unknown tool": lambda s: s.turn(replies.calls(("nothing", {})), "sorry"),
    "blank": lambda s: s.turn("", replies.thinking("hm", ""), "here"),
    "blank for ever": lambda s: s.turn("", "", ""),
    "blank after tools": lambda s: s.turn(replies.calls(LOOK), "", "", ""),
    "refused": lambda s: s.turn(replies.text("", finish="content_filter")),
    "refused call": lambda s: s.turn(replies.calls(LOOK, finish="content_filter"), "well"),
    "limit": lambda s: s.turn(*[replies.calls(("look", {"x": str(n)})) for n in range(9)]),
    "loop": lambda s: s.turn(*[replies.calls(("bad", {}))] * 9, limits=Limits(attempts=1)),
    "budget": lambda s: s.turn("never", limits=FAR),
    "server error": lambda s: s.turn(replies.http(500, b"boom")),
    "error after tools": lambda s: s.turn(replies.calls(LOOK), replies.http(500, b"boom")),
    "dropped": lambda s: s.turn(DROP),
    "stop a stream": lambda s: s.meanwhile(replies.never_ending("and "), TextDelta, stop),
    "stop a tool": lambda s: s.meanwhile(replies.calls(LOOK, HELD, EFFECT), CallState, stop),
    "stop at a reply": lambda s: s.meanwhile(replies.calls(HELD), EntryAdded, stop),
    "steer": lambda s: s.meanwhile(replies.calls(LOOK, EFFECT), CallState, _steer, "ok", "ok"),
    "redirect": lambda s: s.meanwhile(replies.never_ending("a "), TextDelta, _redirect, "ok"),
    "redirect a tool": lambda s: s.meanwhile(replies.calls(LOOK), CallState, _redirect, "ok", "ok"),
    "steer, stop": lambda s: s.meanwhile(replies.calls(HELD), CallState, _steer_and_stop),
    "redirect, stop": lambda s: s.meanwhile(
        replies.never_ending("a "), TextDelta, _redirect_and_stop, replies.stall()
    ),
    "killed when asked": lambda s: s.crash("asked"),
    "killed before a call": lambda s: s.crash("committed"),
    "killed in a call": lambda s: s.crash("started"),
    "killed between calls": lambda s: s.crash("settled"),
}


async def _tell(folder: Path, names: list[str]) -> None:
    plan: deque[replies.Reply | str] = deque()
    rig = Rig(folder)
    rig.route = {"price": Price(input=1.0, output=1.0)}
    runs = folder / "runs"

    def leave(arguments: dict[str, str]) -> str:
        with runs.open("a", encoding="utf-8") as file:
            file.write(arguments["x"])
        return "left"

    rig.tools = {
        "look": Probe("look"),
        "effect": Probe("effect", effects="world", body=leave),
        "held": Probe("held", effects="world", body=lambda _: anyio.sleep_forever()),
        "bad": failing("bad", "no such thing"),
    }
    with ScriptedModel(lambda _: plan.popleft() if plan else "fine") as model:
        story = Story(rig, model, plan)
        for name in names:
            await ACTS[name](story)
        await story.turn("the end")
    assert story.ends[-1].text == "the end"
    for ended in story.ends:
        assert ended.text.strip()
        assert notes.BLANK not in ended.text
        assert notes.UNANSWERED not in ended.text
    assert story.id is not None
    _is_whole(await rig.entries(story.id))
    # "9" is what the killed turns had begun: not one of them was run again.
    assert not runs.exists() or "9" not in runs.read_text(encoding="utf-8")


def _is_whole(entries: list[Entry]) -> None:
    previous: Entry | None = None
    for entry in entries:
        assert misplaced(previous, entry) is None
        previous = entry
    assert isinstance(previous, AssistantEntry)
    assert not previous.calls
    batches = [e for e in entries if isinstance(e, ToolBatchEntry)]
    assert len(batches) == sum(1 for e in entries if isinstance(e, AssistantEntry) and e.calls)


@pytest.mark.parametrize("name", list(ACTS))
async def test_after_each_mishap_the_next_turn_is_taken(tmp_path: Path, name: str) -> None:
    await _tell(tmp_path, ["answer", name])


@given(names=st.lists(st.sampled_from(sorted(ACTS)), min_size=3, max_size=8))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_after_any_series_of_mishaps_the_next_turn_is_taken(names: list[str]) -> None:
    with TemporaryDirectory() as folder:
        anyio.run(_tell, Path(folder), names)


async def test_three_crashes_in_a_row_are_told_one_by_one_and_nothing_is_run_again(
    tmp_path: Path,
) -> None:
    await _tell(
        tmp_path,
        ["answer", "killed in a call", "killed between calls", "killed when asked", "tools"],
    )


async def test_three_quick_messages_are_each_answered_and_none_is_merged(rig: Rig) -> None:
    with ScriptedModel([replies.text("one").hold(), "two", "three"]) as model:
        async with rig.session(model) as session, session.events() as events:
            for text in ("first?", "second?", "third?"):
                await session.send(Submit(text=text, origin=PERSON))
            model.release()
            answers: list[str] = []
            async for event in events:
                if isinstance(event, TurnEnded):
                    answers.append(event.text)
                if len(answers) == 3:
                    break
    assert answers == ["one", "two", "three"]
    assert [r.messages[-1]["content"] for r in model.requests] == ["first?", "second?", "third?"]


async def test_a_400_is_a_fault_of_the_request_and_the_next_turn_is_asked_as_ever(
    rig: Rig,
) -> None:
    rig.limits = Limits(attempts=3)
    refusal = replies.http(400, b'{"error":{"message":"tool_call_id x has no call"}}')
    with ScriptedModel([refusal, "fine"]) as model:
        async with rig.session(model) as session:
            ended = await say(session, "a")
            assert (ended.why, len(model.requests)) == ("failed", 1)
            assert "tool_call_id x has no call" in ended.text
            assert (await say(session, "b")).text == "fine"


async def test_a_prefix_survives_a_clock_a_restart_and_edits_of_what_it_was_made_from(
    rig: Rig,
) -> None:
    rig.tools["look"] = Probe("look")
    soul = rig.folder / "SOUL.md"
    soul.write_text("You are one.", encoding="utf-8")
    with ScriptedModel([replies.calls(LOOK), "one", "two", "three"]) as model:
        async with rig.session(model) as session:
            await say(session, "a")
            soul.write_text("You are another.", encoding="utf-8")
            await say(session, "b")
        rig.tools["look"] = Probe("look", effects="none")
        async with rig.session(model, session.id) as again:
            await say(again, "c")
    bodies = [request.body for request in model.requests]
    for earlier, later in itertools.pairwise(bodies):
        assert later.startswith(earlier.removesuffix(b"]}"))
    assert b"another" not in bodies[-1]


async def test_a_model_keeps_its_prefix_over_a_switch_and_back(rig: Rig) -> None:
    with ScriptedModel(["one", "two", "three"], check_prefix=False) as model:
        async with rig.session(model) as session:
            await say(session, "a")
        rig.route = {"name": "custom/other", "model": "other"}
        async with rig.session(model, session.id) as other:
            await say(other, "b")
        rig.route = {}
        async with rig.session(model, session.id) as back:
            await say(back, "c")
    first, _, third = (request.body for request in model.requests)
    assert third.startswith(first.removesuffix(b"]}"))


async def test_what_changes_stands_behind_what_was_sent(rig: Rig) -> None:
    rig.limits = Limits(attempts=1, steps=2)
    rig.tools["look"] = Probe("look")
    script = [replies.calls(LOOK), replies.calls(("look", {"x": "2"})), "so far", "next"]
    with ScriptedModel(script) as model:
        async with rig.session(model) as session:
            await say(session, "a")
            await say(session, "b")
    assert model.requests[2].body.endswith(b'"tool_choice":"none"}')
    assert b"tool_choice" not in model.requests[3].body
    assert model.requests[3].body.startswith(
        model.requests[2].body.partition(b"]," + b'"tool_choice')[0]
    )
