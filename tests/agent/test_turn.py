"""A turn, over HTTP to a scripted model and into a real store."""

import anyio
import pytest

from hermes.agent.limits import Limits
from hermes.core.content import thoughts, visible
from hermes.core.entries import AssistantEntry, ToolBatchEntry, UserEntry
from hermes.core.events import CallState, DeltasDropped, EntryAdded, Notice, Question, TextDelta
from hermes.core.inputs import Answer
from hermes.core.usage import Price
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from rig import PERSON, Rig, say
from tools_for_tests import Gate, Probe, failing

pytestmark = pytest.mark.anyio


async def test_an_answer_is_streamed_saved_and_given_with_its_reason(rig: Rig) -> None:
    deltas: list[str] = []

    def watch(event: object) -> None:
        if isinstance(event, TextDelta):
            deltas.append(event.text)

    with ScriptedModel([replies.text("Hello there", chunks=3)]) as model:
        async with rig.session(model) as session:
            ended = await say(session, "hi", on=watch)
    assert (ended.why, ended.text) == ("finished", "Hello there")
    assert "".join(deltas) == "Hello there"
    user, assistant = await rig.entries(session.id)
    assert isinstance(user, UserEntry)
    assert visible(user.content) == "hi"
    assert isinstance(assistant, AssistantEntry)
    assert assistant.usage.input > 0


async def test_a_tool_runs_only_after_its_call_is_saved_and_its_result_goes_back(rig: Rig) -> None:
    probe = rig.tools["probe"] = Probe("probe")
    order: list[str] = []

    def watch(event: object) -> None:
        if isinstance(event, EntryAdded):
            order.append(type(event.entry).__name__)
        if isinstance(event, CallState) and event.phase == "running":
            order.append("run")

    with ScriptedModel([replies.calls(("probe", {"x": "1"})), "ok"]) as model:
        async with rig.session(model) as session:
            ended = await say(session, "go", on=watch)
    assert order == ["UserEntry", "AssistantEntry", "run", "ToolBatchEntry", "AssistantEntry"]
    assert ended.text == "ok"
    assert probe.log == ["begin 1", "end 1"]
    assert '"did 1"' in model.requests[1].messages[-1]["content"]


async def test_the_steps_of_a_turn_share_one_connection(rig: Rig) -> None:
    rig.tools["probe"] = Probe("probe")
    with ScriptedModel([*(replies.calls(("probe", {"x": str(n)})) for n in range(5))]) as model:
        async with rig.session(model) as session:
            await say(session, "go")
    assert [request.connection for request in model.requests] == [1] * 6


async def test_readers_run_together_and_results_keep_the_order_of_the_calls(rig: Rig) -> None:
    gate = Gate()
    rig.tools["slow"] = slow = Probe("slow", body=gate)

    async def release(_: object) -> str:
        await gate.reached.wait()
        gate.open.set()
        return "second"

    rig.tools["quick"] = Probe("quick", body=release)
    with ScriptedModel([replies.calls(("slow", {}), ("quick", {})), "ok"]) as model:
        async with rig.session(model) as session:
            await say(session, "go")
    results = [m["content"] for m in model.requests[1].messages if m["role"] == "tool"]
    assert results == ['{"output": "passed"}', '{"output": "second"}']
    assert slow.log == ["begin None", "end None"]


async def test_writers_run_one_after_the_other(rig: Rig) -> None:
    order: list[str] = []

    async def note(arguments: dict[str, str]) -> str:
        order.append(f"begin {arguments['x']}")
        await anyio.lowlevel.checkpoint()
        order.append(f"end {arguments['x']}")
        return "done"

    rig.tools["write"] = Probe("write", effects="world", body=note)
    batch = replies.calls(*(("write", {"x": str(n)}) for n in range(3)))
    with ScriptedModel([batch, "ok"]) as model:
        async with rig.session(model) as session:
            await say(session, "go")
    assert order == [f"{what} {n}" for n in range(3) for what in ("begin", "end")]


async def test_without_a_person_what_needs_one_is_denied(rig: Rig) -> None:
    rig.yolo = False
    probe = rig.tools["write"] = Probe("write", effects="world")
    with ScriptedModel([replies.calls(("write", {})), "I could not"]) as model:
        async with rig.session(model) as session:
            ended = await say(session, "go")
    assert probe.log == []
    assert ended.text == "I could not"
    batch = (await rig.entries(session.id))[2]
    assert isinstance(batch, ToolBatchEntry)
    assert batch.results[0].outcome == "denied"
    assert "nobody is there" in batch.results[0].content


@pytest.mark.parametrize(("choice", "ran"), [("once", True), ("no", False), ("maybe", False)])
async def test_a_person_decides_and_only_an_offered_yes_allows(
    rig: Rig, choice: str, ran: bool
) -> None:
    rig.yolo = False
    rig.limits = Limits(attempts=1, approval_seconds=0.2)
    probe = rig.tools["write"] = Probe("write", effects="world")
    with ScriptedModel([replies.calls(("write", {})), "ok"]) as model:
        async with rig.session(model, origin=PERSON) as session:

            def answer(event: object):  # type: ignore[no-untyped-def]
                if isinstance(event, Question):
                    return session.send(Answer(question=event.id, choice=choice))
                return None

            await say(session, "go", origin=PERSON, on=answer)
    assert bool(probe.log) is ran


async def test_the_step_limit_gives_one_last_call_without_tools_and_says_so(rig: Rig) -> None:
    rig.limits = Limits(attempts=1, steps=2)
    rig.tools["probe"] = Probe("probe")
    script = [
        replies.calls(("probe", {"x": "1"})),
        replies.calls(("probe", {"x": "2"})),
        "so far: two",
    ]
    with ScriptedModel(script) as model:
        async with rig.session(model) as session:
            ended = await say(session, "go")
    assert ended.why == "steps"
    assert ended.text == "so far: two"
    assert "2 steps" in ended.detail
    assert model.requests[2].json["tool_choice"] == "none"
    assert model.requests[2].json["tools"] == model.requests[0].json["tools"]


async def test_a_model_that_calls_even_then_is_ended_with_a_plain_message(rig: Rig) -> None:
    rig.limits = Limits(attempts=1, steps=1)
    probe = rig.tools["probe"] = Probe("probe")
    call = replies.calls(("probe", {"x": "1"}))
    with ScriptedModel([call, call, "next"]) as model:
        async with rig.session(model) as session:
            ended = await say(session, "go")
            assert ended.why == "steps"
            assert "limit of 1 steps" in ended.text
            await say(session, "and now?")
    assert probe.log == ["begin 1", "end 1"]


async def test_the_same_failing_step_is_broken_off_with_a_plain_message(rig: Rig) -> None:
    rig.tools["probe"] = failing("probe", "no such thing")
    with ScriptedModel(lambda _: replies.calls(("probe", {"x": "1"}))) as model:
        async with rig.session(model) as session:
            ended = await say(session, "go")
    assert ended.why == "loop"
    assert "probe" in ended.text
    assert "no such thing" in ended.text
    assert len(model.requests) == 5


async def test_cut_calls_are_answered_never_run_and_end_the_turn_when_they_repeat(
    rig: Rig,
) -> None:
    probe = rig.tools["probe"] = Probe("probe")
    cut = replies.calls(("probe", '{"x": "abc'), finish="length")
    with ScriptedModel(lambda _: cut) as model:
        async with rig.session(model) as session:
            ended = await say(session, "go")
    assert probe.log == []
    assert ended.why == "loop"
    assert "cut off" in model.requests[1].messages[3]["content"]


async def test_an_unknown_tool_is_answered_with_the_tools_there_are(rig: Rig) -> None:
    rig.tools["probe"] = Probe("probe")
    with ScriptedModel([replies.calls(("prob", {})), "ok"]) as model:
        async with rig.session(model) as session:
            await say(session, "go")
    assert "probe" in model.requests[1].messages[3]["content"]


async def test_a_blank_reply_is_asked_for_again_and_each_request_differs(rig: Rig) -> None:
    with ScriptedModel([replies.text(""), replies.text(""), "there"]) as model:
        async with rig.session(model) as session:
            ended = await say(session, "hi")
    assert (ended.why, ended.text) == ("finished", "there")
    assert len({request.body for request in model.requests}) == 3


async def test_a_model_that_stays_blank_ends_the_turn_with_one_honest_sentence(rig: Rig) -> None:
    with ScriptedModel(lambda _: replies.text("")) as model:
        async with rig.session(model) as session:
            ended = await say(session, "hi")
    assert ended.why == "blank"
    assert ended.text.startswith("The model gave no answer")
    assert len(model.requests) == 3


async def test_only_reasoning_is_shown_as_a_last_resort_and_labelled(rig: Rig) -> None:
    with ScriptedModel(lambda _: replies.text("<think>The answer is 4</think>")) as model:
        async with rig.session(model) as session:
            ended = await say(session, "2+2")
    assert ended.why == "blank"
    assert "only this reasoning" in ended.text
    assert "The answer is 4" in ended.text
    entry = (await rig.entries(session.id))[1]
    assert isinstance(entry, AssistantEntry)
    assert thoughts(entry.content) == "The answer is 4"


async def test_a_dropped_stream_is_retried_and_its_text_withdrawn(rig: Rig) -> None:
    rig.limits = Limits(attempts=2)
    seen: list[str] = []

    def watch(event: object) -> None:
        if isinstance(event, DeltasDropped | Notice):
            seen.append(type(event).__name__)

    dropped = replies.drop([replies.chunk({"role": "assistant", "content": "half an"})])
    with ScriptedModel([dropped, "whole"]) as model:
        async with rig.session(model) as session:
            ended = await say(session, "hi", on=watch)
    assert ended.text == "whole"
    assert seen == ["DeltasDropped", "Notice"]


async def test_an_answer_cut_at_the_output_limit_is_continued(rig: Rig) -> None:
    with ScriptedModel([replies.text("one two ", finish="length"), "three"]) as model:
        async with rig.session(model) as session:
            ended = await say(session, "count")
    assert ended.text == "one two three"


async def test_a_dead_endpoint_is_one_clear_sentence_and_the_message_is_kept(rig: Rig) -> None:
    with ScriptedModel(["unused"]) as model:
        pass
    async with rig.session(model) as session:
        ended = await say(session, "hi")
    assert ended.why == "failed"
    assert "127.0.0.1" in ended.text
    user, closing = await rig.entries(session.id)
    assert visible(user.content) == "hi"  # type: ignore[union-attr]
    assert isinstance(closing, AssistantEntry)
    assert closing.stop == "cancelled"


async def test_a_money_limit_stops_before_the_call_that_would_pass_it(rig: Rig) -> None:
    rig.route = {"price": Price(input=1_000_000.0, output=1_000_000.0)}
    rig.limits = Limits(attempts=1, usd_per_turn=0.01)
    with ScriptedModel([]) as model:
        async with rig.session(model) as session:
            ended = await say(session, "hi")
    assert ended.why == "budget"
    assert "per turn" in ended.text
    assert model.requests == []


async def test_a_money_limit_without_a_price_stops_unless_allowed(rig: Rig) -> None:
    rig.route = {"price": None}
    rig.limits = Limits(attempts=1, usd_per_day=1.0)
    with ScriptedModel(["ok"]) as model:
        async with rig.session(model) as session:
            assert (await say(session, "hi")).why == "budget"
        rig.limits = Limits(attempts=1, usd_per_day=1.0, allow_unpriced=True)
        async with rig.session(model) as session:
            assert (await say(session, "hi")).text == "ok"


async def test_a_turn_has_a_deadline_of_its_own(rig: Rig) -> None:
    rig.limits = Limits(attempts=1, turn_seconds=0.2)
    with ScriptedModel([replies.stall()]) as model:
        async with rig.session(model) as session:
            ended = await say(session, "hi")
    assert ended.why == "failed"
    assert "0.2 s" in ended.text


async def test_a_result_over_its_cap_is_kept_whole_in_a_file_that_is_named(rig: Rig) -> None:
    rig.tools["big"] = Probe("big", body=lambda _: "x" * 5000, result_chars=2000)
    with ScriptedModel([replies.calls(("big", {})), "ok"]) as model:
        async with rig.session(model) as session:
            await say(session, "go")
    content = model.requests[1].messages[-1]["content"]
    assert content.startswith("<persisted-output>")
    assert len(content) < 2500
    kept = [p for p in (rig.folder / "blobs").rglob("*") if p.is_file()]
    assert len(kept) == 1
    assert "x" * 5000 in kept[0].read_text(encoding="utf-8")


async def test_lone_surrogates_pass_every_sink_as_replacement_characters(rig: Rig) -> None:
    rig.tools["probe"] = Probe("probe", body=lambda _: "bad \ud800 text")
    with ScriptedModel([replies.calls(("probe", {"x": "\udfff"})), "fine \ud83d"]) as model:
        async with rig.session(model) as session:
            ended = await say(session, "hi \udc00")
    ended.text.encode()
    for entry in await rig.entries(session.id):
        repr(entry).encode()
