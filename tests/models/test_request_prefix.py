"""A request begins with all of the one before it, byte for byte, and every vendor accepts it."""

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from talking import TOOLS, batch, epoch_of, provider_at, route_to, said, transcript_of, user

from hermes.core.calls import ToolCall, ToolResult
from hermes.core.content import Text, Thinking
from hermes.core.entries import ToolBatchEntry
from hermes.core.errors import Bug
from hermes.core.ids import CallId
from hermes.core.transcript import Transcript
from hermes.models.dialects.chat_completions import ChatCompletions
from hermes.models.stream import HttpConversation
from hermes.sdk.testing import strict

ANYTHING = st.text(max_size=12) | st.text(st.characters(categories=["Cs"]), max_size=2)
STOPS = st.sampled_from(["end", "length", "refused", "blank", "cancelled"])
FAULTS = st.sampled_from([None, "cut", "malformed", "dropped", "too_long"])


@st.composite
def conversations(draw):
    entries, number = [], 0
    for _ in range(draw(st.integers(1, 4))):
        entries.append(user(draw(ANYTHING)))
        for _ in range(draw(st.integers(0, 2))):
            calls = []
            for _ in range(draw(st.integers(1, 3))):
                number += 1
                fault = draw(FAULTS)
                arguments = json.dumps(draw(st.dictionaries(ANYTHING, ANYTHING, max_size=2)))
                calls.append(
                    ToolCall(
                        id=CallId(f"call_{number}"),
                        tool=draw(st.sampled_from(["read_file", "unnamed", "a b<|x|>"])),
                        arguments=draw(ANYTHING) if fault else arguments,
                        fault=fault,
                    )
                )
            entries.append(said(draw(ANYTHING), tuple(calls), "calls"))
            results = [
                ToolResult(call=c.id, content=draw(ANYTHING) + "{}", outcome="ok") for c in calls
            ]
            entries.append(batch(results, steer=draw(ANYTHING), notice=draw(ANYTHING)))
        thought = (Thinking(text=draw(ANYTHING)),)
        reply = said(draw(ANYTHING), stop=draw(STOPS))
        entries.append(replace(reply, content=thought + reply.content))
    return entries


def conversation(epoch, **changes) -> HttpConversation:
    return provider_at(route_to("http://127.0.0.1:9/v1", **changes)).open(epoch)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(conversations(), ANYTHING, st.sampled_from([(), TOOLS]))
def test_each_request_extends_the_one_before_and_a_rebuilt_one_is_the_same(entries, prompt, tools):
    epoch = epoch_of(tools, prompt.encode("utf-8", "replace").decode())
    growing = transcript_of([], epoch)
    live = conversation(epoch)
    press_all = transcript_of(entries, epoch)
    before = b""
    for position, entry in enumerate(entries):
        growing = transcript_of(entries[: position + 1], epoch)
        may_call = position % 3 != 0
        body = live.body(growing, may_call=may_call)
        assert body.startswith(before)
        assert body == conversation(epoch).body(growing, may_call=may_call)
        before = body.removesuffix(ChatCompletions().tail(epoch, may_call=may_call))
        assert len(before) < len(body)
        if isinstance(entry, ToolBatchEntry) or type(entry) is type(entries[0]):
            strict.check(strict.parse(body).values)
    assert live.body(press_all).startswith(before)


def messages(entries, tools=TOOLS, prompt="P", **options):
    epoch = epoch_of(tools, prompt)
    return json.loads(conversation(epoch).body(transcript_of(entries, epoch), **options))


def test_a_body_says_what_it_must_in_a_fixed_order():
    epoch = epoch_of()
    body = conversation(epoch, max_output=99).body(transcript_of([user("hi")], epoch))
    value = json.loads(body)
    assert list(value) == ["model", "stream", "stream_options", "max_tokens", "tools", "messages"]
    assert value["max_tokens"] == 99
    assert value["messages"] == [
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": "hi"},
    ]
    assert value["tools"][0]["function"]["parameters"]["required"] == ["path"]


def test_without_tools_or_prompt_neither_is_sent():
    value = messages([user("hi")], tools=(), prompt="", may_call=False)
    assert "tools" not in value and "tool_choice" not in value
    assert value["messages"] == [{"role": "user", "content": "hi"}]


def test_a_last_call_keeps_the_tools_in_the_prefix_and_forbids_their_use():
    value = messages([user("hi")], may_call=False)
    assert value["tool_choice"] == "none"
    assert len(value["tools"]) == len(TOOLS)


def test_a_faulty_call_is_sent_as_json_with_what_was_left_of_it():
    call = ToolCall(id=CallId("c"), tool="read_file", arguments='{"a' + "x" * 9_000, fault="cut")
    results = [ToolResult(call=CallId("c"), content="cut", outcome="failed")]
    value = messages([user("hi"), said("", (call,), "calls"), batch(results)])
    sent = value["messages"][2]
    assert sent["content"] == ""
    unparsed = json.loads(sent["tool_calls"][0]["function"]["arguments"])["unparsed"]
    assert unparsed == call.arguments[:2_000]


def test_a_result_is_the_very_string_and_the_steer_follows_the_notice_in_one_message():
    call = ToolCall(id=CallId("c"), tool="status", arguments="{}")
    results = [ToolResult(call=CallId("c"), content=' {"a": 1}\n', outcome="ok")]
    entries = [user("hi"), said("", (call,), "calls"), batch(results, steer="stop", notice="late")]
    tool, after = messages(entries)["messages"][3:]
    assert tool == {"role": "tool", "tool_call_id": "c", "content": ' {"a": 1}\n'}
    assert after["role"] == "user"
    assert after["content"].index("late") < after["content"].index("stop")


@pytest.mark.parametrize("stop", ["blank", "cancelled", "end"])
def test_an_assistant_entry_without_text_has_one_fixed_line(stop):
    entries = [user("hi"), said("", stop=stop), user("again")]
    first, second = messages(entries)["messages"][2], messages(entries)["messages"][2]
    assert first == second
    assert first["content"].strip()


def test_reasoning_is_not_sent_back():
    reply = replace(said("answer"), content=(Thinking(text="secret plan"), Text(text="answer")))
    assert "secret plan" not in json.dumps(messages([user("hi"), reply, user("go on")]))


def test_a_transcript_that_shrank_or_changed_its_epoch_is_a_bug():
    epoch = epoch_of()
    live = conversation(epoch)
    live.body(transcript_of([user("hi"), said("yes")], epoch))
    with pytest.raises(Bug):
        live.body(transcript_of([user("hi")], epoch))
    with pytest.raises(Bug):
        live.body(Transcript(replace(epoch, number=2)))


def test_the_estimate_grows_with_the_conversation():
    epoch = epoch_of()
    live = conversation(epoch)
    small = live.estimate(transcript_of([user("hi")], epoch))
    large = live.estimate(transcript_of([user("hi"), said("x" * 4_000)], epoch))
    assert large.input >= small.input + 1_000
    assert large.cost_usd is None
