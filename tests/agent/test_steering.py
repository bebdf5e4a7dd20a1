"""What a person can do to a running turn: stop, steer, redirect, queue."""

import pytest

from hermes.core.content import visible
from hermes.core.entries import AssistantEntry, ToolBatchEntry, UserEntry
from hermes.core.events import TextDelta, TurnEnded
from hermes.core.inputs import Interrupt, Redirect, Steer, Submit
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from rig import PERSON, Rig, say
from tools_for_tests import Gate, Probe

pytestmark = pytest.mark.anyio


async def test_an_interrupt_stops_request_and_history_stays_valid(rig: Rig) -> None:
    with ScriptedModel([replies.never_ending("and "), "fine"]) as model:
        async with rig.session(model) as session:

            def stop(event: object):  # type: ignore[no-untyped-def]
                if isinstance(event, TextDelta):
                    return session.send(Interrupt())
                return None

            ended = await say(session, "go", on=stop)
            assert ended.why == "interrupted"
            await model.client_leaves(1)
            assert (await say(session, "again")).text == "fine"
    partial = (await rig.entries(session.id))[1]
    assert isinstance(partial, AssistantEntry)
    assert partial.stop == "cancelled"
    assert visible(partial.content).startswith("and ")


async def test_an_interrupted_tool_is_told_as_such_and_what_was_not_begun_never_runs(
    rig: Rig,
) -> None:
    gate = Gate()
    rig.tools["first"] = Probe("first", effects="world", body=gate)
    second = rig.tools["second"] = Probe("second", effects="world")
    with ScriptedModel([replies.calls(("first", {}), ("second", {})), "fine"]) as model:
        async with rig.session(model) as session, session.events() as events:
            await session.send(Submit(text="go", origin=PERSON))
            await gate.reached.wait()
            await session.send(Interrupt())
            async for event in events:
                if type(event).__name__ == "TurnEnded":
                    break
            await say(session, "never mind")
    batch = (await rig.entries(session.id))[2]
    assert isinstance(batch, ToolBatchEntry)
    assert [r.outcome for r in batch.results] == ["cancelled", "cancelled"]
    assert "effect is unknown" in batch.results[0].content
    assert "Not run" in batch.results[1].content
    assert second.log == []


async def test_a_steer_is_read_with_the_next_results(rig: Rig) -> None:
    gate = Gate()
    rig.tools["probe"] = Probe("probe", body=gate)
    with ScriptedModel([replies.calls(("probe", {})), "ok"]) as model:
        async with rig.session(model) as session, session.events() as events:
            await session.send(Submit(text="go", origin=PERSON))
            await gate.reached.wait()
            await session.send(Steer(text="use metres", origin=PERSON))
            gate.open.set()
            async for event in events:
                if type(event).__name__ == "TurnEnded":
                    break
    roles = [m["role"] for m in model.requests[1].messages]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    assert "use metres" in model.requests[1].messages[-1]["content"]


async def test_a_redirect_cancels_the_request_and_keeps_what_was_said(rig: Rig) -> None:
    with ScriptedModel([replies.never_ending("blue "), "red it is"]) as model:
        async with rig.session(model) as session:
            sent = False

            def correct(event: object):  # type: ignore[no-untyped-def]
                nonlocal sent
                if isinstance(event, TextDelta) and not sent:
                    sent = True
                    return session.send(Redirect(text="red, not blue", origin=PERSON))
                return None

            ended = await say(session, "colour?", on=correct)
    assert ended.text == "red it is"
    messages = model.requests[1].messages
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "user"]
    assert messages[2]["content"].startswith("blue ")
    assert messages[3]["content"] == "red, not blue"


async def test_a_redirect_before_any_text_is_closed_by_one_fixed_line(rig: Rig) -> None:
    with ScriptedModel([replies.stall(), "ok"]) as model:
        async with rig.session(model) as session, session.events() as events:
            await session.send(Submit(text="go", origin=PERSON))
            await model.request_arrives(1)
            await session.send(Redirect(text="rather this", origin=PERSON))
            async for event in events:
                if type(event).__name__ == "TurnEnded":
                    break
    messages = model.requests[1].messages
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "user"]


async def test_a_message_while_busy_waits_and_is_answered_next(rig: Rig) -> None:
    gate = Gate()
    rig.tools["probe"] = Probe("probe", body=gate)
    with ScriptedModel([replies.calls(("probe", {})), "one", "two"]) as model:
        async with rig.session(model) as session, session.events() as events:
            await session.send(Submit(text="first", origin=PERSON))
            await gate.reached.wait()
            await session.send(Submit(text="second", origin=PERSON))
            gate.open.set()
            answers = []
            async for event in events:
                if type(event).__name__ == "TurnEnded":
                    answers.append(event.text)  # type: ignore[union-attr]
                if len(answers) == 2:
                    break
    assert answers == ["one", "two"]


async def test_stop_takes_waiting_messages_back(rig: Rig) -> None:
    gate = Gate()
    rig.tools["probe"] = Probe("probe", body=gate)
    with ScriptedModel([replies.calls(("probe", {})), "later"]) as model:
        async with rig.session(model) as session, session.events() as events:
            await session.send(Submit(text="first", origin=PERSON))
            await gate.reached.wait()
            await session.send(Submit(text="second", origin=PERSON))
            await session.send(Interrupt())
            async for event in events:
                if type(event).__name__ == "TurnEnded":
                    break
            assert (await say(session, "third")).text == "later"
    said = [visible(e.content) for e in await rig.entries(session.id) if isinstance(e, UserEntry)]
    assert said == ["first", "third"]


async def test_a_note_of_hermes_survives_a_stop_and_is_read_with_the_next_message(
    rig: Rig,
) -> None:
    gate = Gate()
    rig.tools["slow"] = Probe("slow", effects="world", body=gate)
    rig.tools["quick"] = Probe("quick")
    steps = [replies.calls(("slow", {})), replies.calls(("quick", {})), "fine"]
    with ScriptedModel(steps) as model:
        async with (
            rig.host(model.base_url) as host,
            host.open(None, PERSON, cwd=str(rig.folder)) as session,
            session.events() as events,
        ):
            await session.send(Submit(text="go", origin=PERSON))
            await gate.reached.wait()
            assert await host.tell(session.id, "the job has ended")
            await session.send(Interrupt())
            async for event in events:
                if isinstance(event, TurnEnded):
                    break
            assert (await say(session, "go on")).text == "fine"
        assert not await host.tell(session.id, "nobody is there")
    assert "the job has ended" not in str(model.requests[1].body)
    assert "the job has ended" in str(model.requests[2].body)
