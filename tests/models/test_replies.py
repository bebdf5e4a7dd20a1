"""Replies as servers really send them, over a real socket."""

import json

import pytest
from talking import (
    QUICK,
    assistant,
    batch,
    begun,
    chunks_of,
    epoch_of,
    provider_at,
    reply_of,
    route_to,
    shown,
    transcript_of,
    user,
)

from hermes.core.calls import ToolResult
from hermes.core.content import Text, Thinking, thoughts, visible
from hermes.core.errors import StreamDropped
from hermes.core.usage import FREE, Price
from hermes.ports.model import Reply
from hermes.sdk.testing import (
    ScriptedModel,
    calls,
    chunk,
    drop,
    json_body,
    raw_events,
    slow,
    stall,
    text,
    thinking,
)


def one(reply, **options):
    return ScriptedModel([reply], **options)


async def test_a_text_streams_in_pieces_and_ends_as_one_reply():
    with one(text("Hello there, friend.", chunks=4)) as model:
        chunks = await chunks_of(model.base_url)
    assert shown(chunks) == "Hello there, friend." == visible(chunks[-1].content)
    assert sum(not isinstance(c, Reply) for c in chunks) > 1
    assert chunks[-1].stop == "end"


async def test_calls_are_announced_and_come_whole():
    wanted = [("read_file", {"path": "a"}), ("write_file", {"path": "b", "content": "ü\n"})]
    with one(calls(*wanted, text="Look.", chunks=5)) as model:
        chunks = await chunks_of(model.base_url)
    reply = chunks[-1]
    assert begun(chunks) == ["read_file", "write_file"]
    assert [(c.tool, json.loads(c.arguments)) for c in reply.calls] == wanted
    assert reply.stop == "calls"
    assert visible(reply.content) == "Look."


async def test_reasoning_goes_to_its_own_channel_from_fields_and_from_tags():
    with ScriptedModel([thinking("why", "Hi", chunks=2), "<think>why</think>\n\nHi"]) as model:
        for _ in range(2):
            chunks = await chunks_of(model.base_url)
            assert shown(chunks) == visible(chunks[-1].content) == "Hi"
            assert shown(chunks, "thinking") == thoughts(chunks[-1].content) == "why"
            assert chunks[-1].content[0] == Thinking(text="why", issuer="custom")


async def test_a_reply_of_nothing_but_reasoning_has_no_text_part():
    with one(text("<think>The answer is 4</think>")) as model:
        reply = await reply_of(model.base_url)
    assert [type(part) for part in reply.content] == [Thinking]


async def test_content_in_parts_is_read():
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "why"}]}]
    delta = {"content": [*parts, {"type": "text", "text": "Hi"}]}
    with one(raw_events([chunk(delta), chunk({"content": []}, "stop")])) as model:
        reply = await reply_of(model.base_url)
    assert (thoughts(reply.content), visible(reply.content)) == ("why", "Hi")


async def test_a_plain_json_answer_is_read_like_a_stream():
    call = {"id": "c9", "function": {"name": "read_file", "arguments": '{"path":"a"}'}}
    message = {"role": "assistant", "content": "Look.", "tool_calls": [call]}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    with one(json_body(body)) as model:
        reply = await reply_of(model.base_url)
    assert visible(reply.content) == "Look."
    assert [(c.id, c.tool) for c in reply.calls] == [("c9", "read_file")]


@pytest.mark.parametrize("finish", ["length", "max_tokens"])
async def test_a_call_cut_by_the_output_cap_keeps_its_text_and_is_faulted(finish):
    with one(calls(("write_file", '{"path":"a","content":"abc'), finish=finish)) as model:
        reply = await reply_of(model.base_url)
    assert [(c.arguments, c.fault) for c in reply.calls] == [('{"path":"a","content":"abc', "cut")]
    assert reply.stop == "length"


async def test_broken_arguments_are_repaired_or_faulted_never_emptied():
    wanted = [("read_file", '{"path": "a", "n": None,}'), ("read_file", '{"path":'), ("status", "")]
    with one(calls(*wanted)) as model:
        reply = await reply_of(model.base_url)
    assert [(c.arguments, c.fault) for c in reply.calls] == [
        ('{"path":"a","n":null}', None),
        ('{"path":', "malformed"),
        ("{}", None),
    ]


async def test_an_end_marker_without_a_finish_reason_is_an_end():
    with one(text("All of it.", finish=None)) as model:
        reply = await reply_of(model.base_url)
    assert (visible(reply.content), reply.stop) == ("All of it.", "end")


async def test_an_end_marker_after_half_a_call_is_told_as_dropped():
    with one(calls(("read_file", '{"path'), finish=None)) as model:
        reply = await reply_of(model.base_url)
    assert [c.fault for c in reply.calls] == ["dropped"]


def call_delta(arguments):
    function = {"name": "read_file", "arguments": arguments}
    return chunk({"tool_calls": [{"index": 0, "id": "c", "function": function}]})


@pytest.mark.parametrize(
    "reply",
    [
        raw_events([call_delta("{")], done=False),
        raw_events([chunk({"content": "Half of"})], done=False),
        raw_events([], done=False),
        drop([call_delta('{"path')]),
        drop([chunk({"content": "Half of"})]),
    ],
    ids=["clean end in a call", "clean end in a text", "nothing", "cut in a call", "cut in a text"],
)
async def test_a_stream_that_ends_before_the_reply_is_dropped_and_says_so(reply):
    with one(reply) as model, pytest.raises(StreamDropped, match="ended before the reply"):
        await reply_of(model.base_url)


async def test_a_connection_lost_after_the_finish_reason_loses_nothing():
    with one(drop([chunk({"content": "Done."}, "stop")])) as model:
        reply = await reply_of(model.base_url)
    assert visible(reply.content) == "Done."


async def test_silence_after_the_finish_reason_does_not_hold_the_reply_back():
    finished = stall(before_first_byte=False, after_events=[chunk({"content": "Done."}, "stop")])
    with one(finished) as model:
        reply = await reply_of(model.base_url)
    assert visible(reply.content) == "Done."


async def test_usage_is_kept_whole_and_priced():
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 900},
        "completion_tokens_details": {"reasoning_tokens": 20},
        "provider_extra": {"queue": 0.25},
    }
    price = Price(input=1.0, output=10.0, cached=0.1)
    with one(text("Hi", usage=usage)) as model:
        reply = await reply_of(model.base_url, price=price)
    got = reply.usage
    assert (got.input, got.output, got.cached, got.thinking) == (1000, 50, 900, 20)
    assert got.cost_usd == pytest.approx((100 * 1.0 + 900 * 0.1 + 50 * 10.0) / 1e6)
    assert json.loads(reply.usage_raw) == usage


@pytest.mark.parametrize(
    ("usage", "price", "cached", "cost"),
    [
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 8}, None, 8, None),
        ({"prompt_tokens": 10, "cache_read_input_tokens": 9000}, FREE, 9000, 0.0),
        ({"prompt_tokens": 10, "cost": 0.5}, FREE, 0, 0.5),
        ({}, Price(input=1.0, output=1.0), 0, None),
        ({}, FREE, 0, 0.0),
    ],
)
async def test_cached_tokens_and_cost_are_found_or_said_to_be_unknown(usage, price, cached, cost):
    with one(text("Hi", usage=usage)) as model:
        reply = await reply_of(model.base_url, price=price)
    assert (reply.usage.cached, reply.usage.cost_usd) == (cached, cost)
    assert reply.usage.input >= reply.usage.cached


@pytest.mark.parametrize(
    "content",
    [
        '{"name": "read_file", "arguments": {"path": "a"}}',
        '```json\n{"name": "read_file", "arguments": {"path": "a"}}\n```',
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a"}}\n</tool_call>',
        '<think>hm</think>\n{"name": "read_file", "parameters": {"path": "a"}}',
    ],
)
async def test_a_call_left_in_the_text_is_a_call_and_is_never_shown(content):
    with one(text(content, chunks=7)) as model:
        chunks = await chunks_of(model.base_url)
    assert [(c.tool, json.loads(c.arguments)) for c in chunks[-1].calls] == [
        ("read_file", {"path": "a"})
    ]
    assert (shown(chunks), visible(chunks[-1].content), chunks[-1].stop) == ("", "", "calls")


@pytest.mark.parametrize(
    "content",
    [
        '{"name": "rm", "arguments": {"path": "a"}}',
        'Use {"name": "read_file", "arguments": {"path": "a"}}',
        '{"name": "read_file", "arguments": {"path": "a"}} will read it.',
        '{"name": "read_file"}',
        '{"path": "a"}',
    ],
)
async def test_other_json_is_an_answer(content):
    with one(text(content, chunks=5)) as model:
        chunks = await chunks_of(model.base_url)
    assert not chunks[-1].calls
    assert shown(chunks) == visible(chunks[-1].content) == content


async def test_half_characters_are_joined_or_replaced_and_never_escape():
    texts = [b"a\\ud83d", b"\\ude00b\\ud83d", b"\xff"]
    halves = [b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n' % text for text in texts]
    with one(raw_events(halves)) as model:
        chunks = await chunks_of(model.base_url)
    assert shown(chunks) == visible(chunks[-1].content) == "a😀b\ufffd\ufffd"


async def test_events_cut_inside_characters_with_comments_and_crlf_are_read():
    body = 'data:{"choices":[{"delta":{"content":"né€😀"}}]}\r\n\r\n: ping\r\n\r\ndata: [DONE]'
    raw = body.encode()
    with one(slow(raw_events([raw[i : i + 1] for i in range(len(raw))], done=False), 0.0)) as model:
        reply = await reply_of(model.base_url)
    assert visible(reply.content) == "né€😀"


async def test_ten_megabytes_of_arguments_come_through_a_socket():
    content = "x" * 10_000_000
    with one(calls(("write_file", {"path": "a", "content": content}), chunks=20)) as model:
        reply = await reply_of(model.base_url)
    assert json.loads(reply.calls[0].arguments)["content"] == content


async def test_call_ids_that_a_server_uses_again_become_unique_in_the_conversation():
    delta = {"tool_calls": [{"index": 0, "id": "call_0", "function": {"name": "status"}}]}
    again = raw_events([chunk(delta), chunk({}, "tool_calls")])
    epoch = epoch_of()
    with ScriptedModel([again, again, "done"]) as model:
        provider = provider_at(route_to(model.base_url), QUICK)
        live = provider.open(epoch)
        entries = [user("go")]
        for _ in range(3):
            async with live.ask(transcript_of(entries, epoch)) as chunks:
                *_, reply = [c async for c in chunks]
            entries.append(assistant(reply))
            results = [ToolResult(call=c.id, content="{}", outcome="ok") for c in reply.calls]
            if results:
                entries.append(batch(results))
        await provider.aclose()
    assert [c.id for e in entries[1::2] for c in e.calls] == ["call_0", "call_0_2"]
    assert entries[-1].content == (Text(text="done"),)


async def test_a_refused_reply_is_named():
    with ScriptedModel([text("No.", finish="content_filter")]) as model:
        assert (await reply_of(model.base_url)).stop == "refused"


async def test_the_estimate_learns_from_the_usage():
    epoch = epoch_of()
    with one(text("Hi", usage={"prompt_tokens": 100, "completion_tokens": 1})) as model:
        provider = provider_at(route_to(model.base_url))
        live = provider.open(epoch)
        transcript = transcript_of([user("hello")], epoch)
        async with live.ask(transcript) as chunks:
            _ = [c async for c in chunks]
        assert live.estimate(transcript).input == pytest.approx(100, abs=2)
        await provider.aclose()
