"""Calls and replies as servers really send them: fault families call-assembly, partial-call,
empty-reply and think-leak, from the wire to what a person reads and what is stored."""

import json
import re
from typing import Any

import pytest

from hermes.agent import notes
from hermes.agent.limits import Limits
from hermes.core.content import thoughts, visible
from hermes.core.entries import AssistantEntry
from hermes.core.events import TextDelta, TurnEnded
from hermes.core.people import OWNER
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from hermes.sdk.testing.replies import Reply, chunk, raw_events
from program import Program
from rig import Rig, say
from tools_for_tests import Probe

pytestmark = pytest.mark.anyio


def fragments(
    *calls: dict[str, Any], finish: str | None = "tool_calls", done: bool = True
) -> Reply:
    """A stream with one event for each fragment of a call."""
    events = [chunk({"role": "assistant", "tool_calls": [call]}) for call in calls]
    if finish is not None:
        events.append(chunk({}, finish))
    return raw_events(events, done=done)


def fragment(name: str | None, arguments: str, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


def whole(message: dict[str, Any], finish: str | None = "stop") -> Reply:
    """An answer that is one JSON object and no stream."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return replies.json_body({"object": "chat.completion", "choices": [choice]})


ONE = fragments(
    fragment("probe", "", index=0, id="a"),
    fragment("probe", "", index=0, id="a"),
    fragment(None, '{"x":"1"}', index=0),
    fragment(None, '{"x":"1"}', index=0),
)
TWO_IN_A_SLOT = fragments(
    fragment("probe", '{"x":"1"}', index=0, id="a"), fragment("probe", '{"x":"2"}', index=0, id="b")
)
TWO_WITHOUT_IDS = fragments(fragment("probe", '{"x":"1"}'), fragment("probe", '{"x":"2"}'))
TWO_OUT_OF_ORDER = fragments(
    fragment("probe", '{"x":', index=1, id="b"),
    fragment("probe", '{"x":', index=0, id="a"),
    fragment(None, '"2"}', index=1),
    fragment(None, '"1"}', index=0),
)
SAME_ID_TWICE = fragments(
    fragment("probe", '{"x":"1"}', index=0, id="a"), fragment("probe", '{"x":"2"}', index=1, id="a")
)


@pytest.mark.parametrize(
    ("reply", "ran"),
    [
        (ONE, ["1"]),
        (TWO_IN_A_SLOT, ["1", "2"]),
        (TWO_WITHOUT_IDS, ["1", "2"]),
        (TWO_OUT_OF_ORDER, ["1", "2"]),
        (SAME_ID_TWICE, ["1", "2"]),
    ],
    ids=["resent", "one slot", "no ids", "out of order", "one id"],
)
async def test_a_stream_in_any_shape_runs_each_call_once(
    rig: Rig, reply: Reply, ran: list[str]
) -> None:
    probe = rig.tools["probe"] = Probe("probe", effects="world")
    with ScriptedModel([reply, "ok"]) as model:
        async with rig.session(model) as session:
            assert (await say(session, "go")).text == "ok"
    assert [line.removeprefix("end ") for line in probe.log if line.startswith("end")] == ran


async def test_four_calls_with_two_kinds_of_ids_are_all_answered_under_one(rig: Rig) -> None:
    rig.tools["probe"] = Probe("probe")
    made = [
        fragment("probe", json.dumps({"x": str(n)}), index=n, id=f"fc_{n}", call_id=f"call_{n}")
        for n in range(4)
    ]
    with ScriptedModel([fragments(*made), "ok"]) as model:
        async with rig.session(model) as session:
            await say(session, "go")
    messages = model.requests[1].messages
    asked = [call["id"] for m in messages for call in m.get("tool_calls", ())]
    answered = [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    assert asked == answered
    assert len(set(asked)) == 4


CALL = '{"name":"probe","arguments":{"x":"1"}}'


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"[{CALL}]",
        f"```json\n{CALL}\n```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"[TOOL_CALLS][{CALL}]",
        '<|python_tag|>{"name":"probe","parameters":{"x":"1"}}',
        f'{{"type":"function","function":{CALL}}}',
        f'{{"tool_calls":[{CALL}]}}',
        '{"tool":"probe","arguments":{"x":"1"}}',
        "<tool_call>\n<function=probe>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>",
        f"Let me look.\n<tool_call>\n{CALL}\n</tool_call>",
    ],
)
async def test_a_call_that_comes_as_text_is_run_and_never_shown_as_the_answer(
    rig: Rig, text: str
) -> None:
    probe = rig.tools["probe"] = Probe("probe")
    with ScriptedModel([replies.text(text, chunks=7), "ok"]) as model:
        async with rig.session(model) as session:
            assert (await say(session, "go")).text == "ok"
    assert probe.log == ["begin 1", "end 1"]
    assert "arguments" not in str(model.requests[1].messages[2]["content"])


@pytest.mark.parametrize(
    "text",
    [
        f"Such a call looks like this:\n```\n<tool_call>\n{CALL}\n</tool_call>\n```",
        f"Such a call looks like this:\n```\n<tool_call>\n{CALL}\n</tool_call>",
        f"Models write {CALL} here.",
        '{"name":"other","arguments":{"x":"1"}}',
        '[{"name":"probe"}]',
        "[]",
        "[1, 2]",
        '<tool_call>{"name":"probe","argum',
    ],
)
async def test_a_text_that_speaks_of_calls_is_an_answer(rig: Rig, text: str) -> None:
    probe = rig.tools["probe"] = Probe("probe")
    shown: list[str] = []
    with ScriptedModel([replies.text(text, chunks=5)]) as model:
        async with rig.session(model) as session:
            ended = await say(
                session, "go", on=lambda e: shown.append(e.text) if type(e) is TextDelta else None
            )
    assert (ended.why, ended.text, "".join(shown)) == ("finished", text, text)
    assert probe.log == []


async def test_arguments_with_one_reading_are_repaired_and_run(rig: Rig) -> None:
    probe = rig.tools["probe"] = Probe("probe")
    with ScriptedModel([replies.calls(("probe", '{"x": "a", "n": None,}')), "ok"]) as model:
        async with rig.session(model) as session:
            assert (await say(session, "go")).text == "ok"
    assert probe.log == ["begin a", "end a"]


@pytest.mark.parametrize(
    "arguments",
    [
        "[]",
        "null",
        '"x"',
        "{",
        '{"x": NaN}',
        '{"x": 1e999}',
        '{"x":' + "1" * 5000 + "}",
        "nonsense",
    ],
)
async def test_arguments_without_one_reading_are_answered_and_never_emptied(
    rig: Rig, arguments: str
) -> None:
    probe = rig.tools["probe"] = Probe("probe")
    with ScriptedModel([replies.calls(("probe", arguments)), "ok"]) as model:
        async with rig.session(model) as session:
            assert (await say(session, "go")).text == "ok"
    assert probe.log == []
    assert "not a JSON object" in model.requests[1].messages[3]["content"]


async def test_a_connection_lost_in_a_call_is_asked_again_in_the_same_bytes(rig: Rig) -> None:
    rig.limits = Limits(attempts=2)
    probe = rig.tools["probe"] = Probe("probe", effects="world")
    lost = fragments(fragment("probe", "{", index=0, id="a"), finish=None, done=False)
    with ScriptedModel([lost, replies.calls(("probe", {"x": "1"})), "ok"]) as model:
        async with rig.session(model) as session:
            assert (await say(session, "go")).text == "ok"
    # Not taken for the output limit: no larger cap, no word to the model.
    assert model.requests[0].body == model.requests[1].body
    assert probe.log == ["begin 1", "end 1"]


async def test_a_connection_that_is_lost_again_and_again_is_named_as_such(rig: Rig) -> None:
    lost = fragments(fragment("probe", "{", index=0, id="a"), finish=None, done=False)
    with ScriptedModel(lambda _: lost) as model:
        async with rig.session(model) as session:
            ended = await say(session, "go")
    assert ended.why == "failed"
    assert "ended before the reply did" in ended.text


async def test_a_missing_finish_reason_adds_nothing_to_a_whole_answer(rig: Rig) -> None:
    with ScriptedModel([replies.text("All of it.", finish=None), "next"]) as model:
        async with rig.session(model) as session:
            assert (await say(session, "hi")).text == "All of it."
            await say(session, "on")
    assert [m["content"] for m in model.requests[1].messages[1:]] == ["hi", "All of it.", "on"]


async def test_ten_cut_calls_with_other_bytes_each_time_still_end_the_turn(rig: Rig) -> None:
    rig.tools["probe"] = Probe("probe")
    with ScriptedModel(
        lambda r: replies.calls(("probe", '{"x": "' + "y" * r.number), finish="length")
    ) as model:
        async with rig.session(model) as session:
            ended = await say(session, "go")
    assert ended.why == "loop"
    assert len(model.requests) <= 8


def blank(**message: Any) -> Reply:
    return whole(message)


BLANKS = {
    "empty list": blank(content=[]),
    "null": blank(content=None),
    "no content": blank(),
    "white space": blank(content=" \n\t "),
    "invisible": blank(content="\u200b\ufeff"),
    "empty part": blank(content=[{"type": "text", "text": ""}]),
    "empty stream": raw_events([chunk({}, "stop")]),
    "only an end": raw_events([]),
    "cut before a word": replies.text("", finish="length"),
}


@pytest.mark.parametrize("reply", BLANKS.values(), ids=BLANKS.keys())
async def test_blank_replies_are_asked_for_again_each_time_otherwise_then_told(
    rig: Rig, reply: Reply
) -> None:
    with ScriptedModel(lambda _: reply) as model:
        async with rig.session(model) as session:
            ended = await say(session, "hi")
    assert (ended.why, ended.text.partition(",")[0]) == ("blank", "The model gave no answer")
    assert len({request.body for request in model.requests}) == len(model.requests) == 3
    assert notes.BLANK not in ended.text + ended.detail


async def test_blank_replies_after_tools_restate_the_results_and_then_say_what_was_done(
    rig: Rig,
) -> None:
    rig.tools["probe"] = Probe("probe")
    script = [replies.calls(("probe", {"x": "7"})), *[replies.text("")] * 3]
    with ScriptedModel(script) as model:
        async with rig.session(model) as session:
            ended = await say(session, "go")
    assert ended.why == "blank"
    assert "did 7" in model.requests[3].messages[-1]["content"]
    assert notes.BLANK not in ended.text


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (raw_events([chunk({"content": None}, "content_filter")]), None),
        (replies.text("", finish="content_filter"), None),
        (replies.thinking("hm", "", finish="content_filter"), None),
        (blank(content=None, refusal="I will not."), "I will not."),
    ],
)
async def test_a_refusal_is_told_as_one_and_never_by_a_placeholder(
    rig: Rig, reply: Reply, text: str | None
) -> None:
    with ScriptedModel([reply, "fine"]) as model:
        async with rig.session(model) as session:
            ended = await say(session, "hi")
            assert (await say(session, "else")).text == "fine"
    assert ended.why == "refused"
    assert notes.BLANK not in ended.text
    assert ended.text == text if text else ended.text


def test_no_placeholder_is_printed_by_the_program(program: Program) -> None:
    script = [replies.text("", finish="content_filter"), *[replies.text("")] * 3]
    with ScriptedModel(script) as model:
        program.configure(model.base_url)
        seen = program.run("-z", "first").stderr
        seen += program.run("-c", "-z", "second").stderr
        listed = json.loads(program.run("sessions", "list", "--json").stdout)
        seen += program.run("sessions", "show", listed[0]["id"]).stdout
    assert notes.BLANK.encode() not in seen
    assert b"Traceback" not in seen


REASONED = [
    "<think>secret</think>Hi",
    "<thinking>secret</thinking>\n\nHi",
    "<thought>secret</thought>Hi",
    "<THINK>secret</THINK>Hi",
    "<REASONING_SCRATCHPAD>\nsecret\n</REASONING_SCRATCHPAD>\nHi",
    "<思考>secret</思考>Hi",
    "<réflexion>secret</réflexion>Hi",
    "<размышления>secret</размышления>Hi",
    "<pensamento>secret</pensamento>Hi",
    "◁think▷secret◁/think▷Hi",
    "[THINK]secret[/THINK]Hi",
    "<|START_THINKING|>secret<|END_THINKING|>Hi",
    "secret\n</think>\nHi",
]


@pytest.mark.parametrize("text", REASONED)
async def test_reasoning_reaches_no_sink_but_its_own(rig: Rig, text: str) -> None:
    ends: list[TurnEnded] = []
    with ScriptedModel([replies.text(text, chunks=7), "ok"]) as model:
        async with rig.session(model) as session:
            ends.append(await say(session, "hi"))
            await say(session, "more")
    assert ends[0].text == "Hi"
    entry = (await rig.entries(session.id))[1]
    assert isinstance(entry, AssistantEntry)
    assert (visible(entry.content), thoughts(entry.content).strip()) == ("Hi", "secret")
    assert b"secret" not in model.requests[1].body


async def test_an_unclosed_block_of_reasoning_leaks_nowhere(rig: Rig) -> None:
    with ScriptedModel(lambda _: replies.text("<think>x\nHi")) as model:
        async with rig.session(model) as session:
            ended = await say(session, "hi")
    # Nothing but reasoning: shown as a last resort, and labelled.
    assert ended.why == "blank"
    assert re.search(r"only this reasoning:\s+x\s+Hi", ended.text)
    assert all(b"x\\nHi" not in request.body for request in model.requests)
    async with rig.store() as store:
        row = await store.find(OWNER, session.id)
    assert "x" not in row.preview + row.title


async def test_tool_progress_is_never_part_of_the_answer(rig: Rig) -> None:
    rig.tools["probe"] = Probe("probe")
    deltas: list[str] = []
    script = [
        replies.calls(("probe", {"x": "1"}), text="Looking. "),
        replies.text("Done.", chunks=3),
    ]
    with ScriptedModel(script) as model:
        async with rig.session(model) as session:
            ended = await say(
                session, "go", on=lambda e: deltas.append(e.text) if type(e) is TextDelta else None
            )
    assert ended.text == "Done."
    assert "".join(deltas) == "Looking. Done."
    assert [m["content"] for m in model.requests[1].messages if m["role"] == "assistant"] == [
        "Looking. "
    ]
