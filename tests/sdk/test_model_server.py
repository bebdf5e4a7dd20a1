"""The scripted model: what it answers, what it refuses, and what it notices."""

import json
import socket
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

import anyio
import pytest

from hermes.sdk.testing import (
    Reply,
    Request,
    ScriptedModel,
    calls,
    chunk,
    drop,
    html,
    http,
    json_body,
    never_ending,
    raw_events,
    serving,
    slow,
    stall,
    text,
    thinking,
)
from wire_client import (
    AGAIN,
    HI,
    SAID,
    SYSTEM,
    begin,
    connected,
    deltas,
    encode,
    events,
    post,
)


def test_replies_come_in_order_and_the_final_text_answers_all_the_rest() -> None:
    with ScriptedModel([text("one"), "two"], final="end") as model:
        bodies = [encode(HI)] * 4
        said = ["".join(d.get("content", "") for d in deltas(post(model, b)[1])) for b in bodies]
    assert said == ["one", "two", "end", "end"]


def test_a_request_is_kept_as_it_came() -> None:
    body = encode(SYSTEM, HI)
    before = time.monotonic()
    with ScriptedModel() as model:
        post(model, body)
    [request] = model.requests
    assert (request.number, request.method, request.path) == (1, "POST", "/v1/chat/completions")
    assert request.body == body
    assert request.headers["authorization"] == "Bearer k"
    assert request.messages == [SYSTEM, HI]
    assert before <= request.arrived_at <= time.monotonic()


def test_a_chunked_request_that_expects_a_continue_is_understood() -> None:
    body = encode(HI)
    head = (
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
        b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    with ScriptedModel() as model:
        address = urlsplit(model.base_url)
        with socket.create_connection((address.hostname, address.port)) as client:
            client.sendall(head)
            assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
            client.sendall(b"5;x=y\r\n" + body[:5] + b"\r\n")
            client.sendall(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body) - 5, body[5:]))
            assert client.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"
    assert model.requests[0].body == body


def test_a_text_is_streamed_in_the_asked_number_of_chunks() -> None:
    with ScriptedModel([text("abcdef", chunks=3, finish="length")]) as model:
        seen = events(post(model, encode(HI))[1])
    pieces = [e["choices"][0]["delta"].get("content") for e in seen if e["choices"]]
    assert pieces == ["", "ab", "cd", "ef", None]
    assert seen[-2]["choices"][0]["finish_reason"] == "length"


def test_a_finish_reason_can_be_left_out() -> None:
    with ScriptedModel([text("a", finish=None)]) as model:
        seen = events(post(model, encode(HI))[1])
    assert {c["finish_reason"] for e in seen for c in e["choices"]} == {None}


def test_thinking_comes_in_its_own_field_before_the_text() -> None:
    with ScriptedModel([thinking("hm", "yes")]) as model:
        seen = deltas(post(model, encode(HI))[1])
    assert seen[1:3] == [{"reasoning_content": "hm"}, {"content": "yes"}]


def test_call_ids_are_counted_over_all_replies() -> None:
    read = ("read_file", {"path": "é"})
    with ScriptedModel([calls(read, read, text="look"), calls(read)]) as model:
        streams = [deltas(post(model, encode(HI))[1]) for _ in range(2)]
    made = [[c for d in stream for c in d.get("tool_calls", [])] for stream in streams]
    assert [[c["id"] for c in reply] for reply in made] == [["call_1", "call_2"], ["call_3"]]
    assert [c["index"] for c in made[0]] == [0, 1]
    assert made[0][0]["function"] == {"name": "read_file", "arguments": '{"path":"é"}'}
    assert {"content": "look"} in streams[0]


def test_broken_arguments_are_sent_as_they_are_in_pieces() -> None:
    cut = '{"path": "a", "n": None,'
    with ScriptedModel([calls(("read_file", cut), chunks=3, finish="length")]) as model:
        seen = deltas(post(model, encode(HI))[1])
    made = [c for d in seen for c in d.get("tool_calls", [])]
    assert len(made) == 4
    assert "".join(c["function"]["arguments"] for c in made) == cut
    assert [c.get("id") for c in made] == ["call_1", None, None, None]


def test_a_request_without_stream_gets_one_json_object() -> None:
    with ScriptedModel([calls(("read_file", {}), text="x")]) as model:
        whole = json.loads(post(model, encode(HI, stream=False))[1])
    [choice] = whole["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "x"
    assert choice["message"]["tool_calls"][0]["id"] == "call_1"
    assert whole["usage"]["prompt_tokens"] > 0


def test_usage_counts_the_body_and_the_bytes_shared_with_the_request_before() -> None:
    one, two = encode(HI), encode(HI, SAID, AGAIN)
    with ScriptedModel() as model:
        usages = [events(post(model, body)[1])[-1]["usage"] for body in (one, two)]
    shared = one.index(b'],"stream"')
    assert [u["prompt_tokens"] for u in usages] == [len(one) // 4, len(two) // 4]
    cached = [u["prompt_tokens_details"]["cached_tokens"] for u in usages]
    assert cached == [0, shared // 4]


def test_usage_is_sent_when_asked_for_or_given_and_left_out_when_empty() -> None:
    given = {"prompt_tokens": 7}
    silent = encode(HI, stream_options={})
    with ScriptedModel(["a", text("a", usage=given), text("a", usage={})]) as model:
        seen = [events(post(model, body)[1])[-1] for body in (silent, silent, encode(HI))]
    assert [e.get("usage") for e in seen] == [None, given, None]


def test_raw_events_go_out_as_they_are() -> None:
    odd = b": note\n\ndata: \xff\n\n"
    lone = chunk({"content": "\ud83d"})
    with ScriptedModel([raw_events([odd, lone], done=False)]) as model:
        stream = post(model, encode(HI))[1]
    assert stream.startswith(odd)
    assert b"\\ud83d" in stream
    assert b"[DONE]" not in stream


@pytest.mark.parametrize(
    ("reply", "status", "kind", "body"),
    [
        (http(429, {"error": "slow"}), 429, "application/json", b'{"error":"slow"}'),
        (http(529, b"busy", {"content-type": "text/plain"}), 529, "text/plain", b"busy"),
        (json_body({"a": 1}), 200, "application/json", b'{"a":1}'),
    ],
)
def test_any_http_answer_can_be_given(reply: Reply, status: int, kind: str, body: bytes) -> None:
    with ScriptedModel([reply]) as model, connected(model) as connection:
        response = begin(connection, encode(HI))
        seen = (response.status, response.headers["content-type"], response.read())
    assert seen == (status, kind, body)


def test_a_web_page_can_stand_where_an_api_should_be() -> None:
    with ScriptedModel([html()]) as model:
        status, body = post(model, encode(HI))
    assert status == 200
    assert body.startswith(b"<!DOCTYPE html>")


def test_a_function_can_be_the_script() -> None:
    def echo(request: Request) -> Reply:
        return text(request.messages[-1]["content"].upper())

    with ScriptedModel(echo) as model:
        stream = post(model, encode(HI))[1]
    assert {"content": "HI"} in deltas(stream)


def test_an_error_of_the_script_fails_the_test() -> None:
    def broken(request: Request) -> Reply:
        raise KeyError("oops")

    with (
        pytest.raises(AssertionError, match="the script raised KeyError"),
        ScriptedModel(broken) as m,
    ):
        status, _ = post(m, encode(HI))
        assert status == 500


def test_models_are_listed_with_their_window() -> None:
    with ScriptedModel(model="tiny", context_length=4096) as model, connected(model) as connection:
        connection.request("GET", "/v1/models")
        listed = json.loads(connection.getresponse().read())["data"]
        connection.request("GET", "/v1/nothing")
        assert connection.getresponse().status == 404
    assert [(m["id"], m["context_length"]) for m in listed] == [("tiny", 4096)]
    assert [r.path for r in model.other_requests] == ["/v1/models", "/v1/nothing"]
    assert model.requests == []


def test_two_conversations_with_the_same_question_do_not_disturb_each_other() -> None:
    other = {**SAID, "content": "good day"}
    with ScriptedModel() as model:
        for body in (encode(HI), encode(HI), encode(HI, SAID, AGAIN), encode(HI, other, AGAIN)):
            post(model, body)
        post(model, encode(HI))
        usage = events(post(model, encode(HI, other, AGAIN, SAID, HI))[1])[-1]["usage"]
    assert model.prefix_breaks == []
    reached = encode(HI, other, AGAIN).index(b'],"stream"')
    assert usage["prompt_tokens_details"]["cached_tokens"] == reached // 4


def test_conversations_in_parallel_are_each_served() -> None:
    entered = threading.Barrier(2, timeout=10)

    def talk(model: ScriptedModel, name: str) -> None:
        messages = [{"role": "user", "content": name}]
        with connected(model) as connection:
            for turn in range(20):
                if turn == 0:
                    entered.wait()
                response = begin(connection, encode(*messages))
                said = "".join(d.get("content", "") for d in deltas(response.read()))
                assert said == f"{name} {len(messages)}"
                messages += [
                    {"role": "assistant", "content": said},
                    {"role": "user", "content": str(turn)},
                ]

    def answer(request: Request) -> Reply:
        return text(f"{request.messages[0]['content']} {len(request.messages)}", chunks=3)

    with ScriptedModel(answer) as model:
        threads = [threading.Thread(target=talk, args=(model, name)) for name in ("ann", "bob")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(model.requests) == 40


def test_one_stalled_client_does_not_hold_up_another() -> None:
    with ScriptedModel([stall(), "quick"]) as model, connected(model) as stuck:
        stuck.request("POST", "/v1/chat/completions", body=encode(HI))
        model.wait_for_request(1)
        assert b"quick" in post(model, encode(AGAIN))[1]


def test_a_held_reply_waits_for_its_release() -> None:
    with ScriptedModel([text("abcd", chunks=2).hold(after=2)]) as model, connected(model) as client:
        response = begin(client, encode(HI))
        seen = response.read1()
        while b'"ab"' not in seen:
            seen += response.read1()
        assert b'"cd"' not in seen
        model.release()
        assert b'"cd"' in response.read()


def test_a_release_may_come_before_the_request_and_name_it() -> None:
    with ScriptedModel([text("a").hold(), text("b").hold()]) as model, connected(model) as first:
        model.release(2)
        first.request("POST", "/v1/chat/completions", body=encode(HI))
        model.wait_for_request(1)
        assert b'"b"' in post(model, encode(AGAIN))[1]
        model.release(1)
        assert b'"a"' in first.getresponse().read()


@pytest.mark.parametrize(
    "reply",
    [
        stall(),
        stall(before_first_byte=False),
        never_ending("more "),
        text("never").hold(),
        slow(text("abc", chunks=3), 60.0),
    ],
)
def test_a_client_that_goes_away_is_noticed(reply: Reply) -> None:
    with ScriptedModel([reply]) as model:
        with connected(model) as client:
            client.request("POST", "/v1/chat/completions", body=encode(HI))
            model.wait_for_request(1)
            gone = time.monotonic()
        assert model.wait_for_disconnect(1) - gone < 1.0


def test_a_client_that_reads_to_the_end_did_not_leave() -> None:
    with ScriptedModel(
        [slow(text("abc", chunks=3), 0.001), drop([chunk({"content": "a"})])]
    ) as model:
        post(model, encode(HI))
        with pytest.raises(HTTPException):
            post(model, encode(HI))
        with pytest.raises(TimeoutError, match="no disconnect from request 1"):
            model.wait_for_disconnect(1, timeout=0.05)
        with pytest.raises(TimeoutError, match="2 requests came"):
            model.wait_for_disconnect(2, timeout=0.05)


def test_a_stream_can_be_dropped_before_or_amid_its_events() -> None:
    half = chunk({"content": "half"})
    with ScriptedModel([drop(), drop([half])]) as model, connected(model) as client:
        with pytest.raises(ConnectionError):
            begin(client, encode(HI))
        client.close()
        response = begin(client, encode(HI))
        with pytest.raises(HTTPException) as caught:
            response.read()
    assert b"half" in caught.value.args[0]


def test_a_slow_reply_pauses_between_events() -> None:
    with ScriptedModel([slow(text("abc", chunks=3), 0.02)]) as model:
        before = time.monotonic()
        post(model, encode(HI))
        assert time.monotonic() - before >= 6 * 0.02


def test_a_stalled_stream_has_begun() -> None:
    with ScriptedModel([stall(before_first_byte=False)]) as model, connected(model) as client:
        response = begin(client, encode(HI))
        assert response.status == 200
        assert b'"role":"assistant"' in response.read1()


def test_a_missing_request_is_said_after_the_time_given() -> None:
    with ScriptedModel() as model, pytest.raises(TimeoutError, match="no request 1 within"):
        model.wait_for_request(1, timeout=0.01)


def test_closing_is_prompt_with_clients_that_hang() -> None:
    with ScriptedModel([stall(), never_ending("x" * 4_000_000), text("a").hold()]) as model:
        address = urlsplit(model.base_url).netloc
        clients = [HTTPConnection(address) for _ in range(4)]
        for number, client in enumerate(clients[:3], start=1):
            client.request("POST", "/v1/chat/completions", body=encode(HI))
            model.wait_for_request(number)
        clients[3].connect()
        before = time.monotonic()
        model.close()
        assert time.monotonic() - before < 1.0
    for client in clients:
        client.close()


async def test_an_async_test_waits_without_blocking_its_loop() -> None:
    with ScriptedModel([stall()]) as model:
        address = urlsplit(model.base_url)
        body = encode(HI)
        head = b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body)
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                async with await anyio.connect_tcp("127.0.0.1", address.port or 0) as stream:
                    await stream.send(head + body)
                    await model.request_arrives(1)

            tasks.start_soon(ask)
            request = await model.request_arrives(1)
            await model.client_leaves(1)
    assert request.messages == [HI]


def test_a_client_in_another_process_is_served() -> None:
    script = (
        "import sys, urllib.request as u\n"
        "print(u.urlopen(sys.argv[1] + '/chat/completions', sys.argv[2].encode()).read().decode())"
    )
    with ScriptedModel(["from afar"]) as model:
        command = [sys.executable, "-c", script, model.base_url, encode(HI).decode()]
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", timeout=30, check=True
        )
    assert "from afar" in done.stdout


def test_a_fixture_can_serve_several_models_and_check_them_all() -> None:
    with pytest.raises(AssertionError, match="was refused"):  # noqa: SIM117
        with serving() as start:
            one, two = start(ScriptedModel(["one"])), start(ScriptedModel(["two"]))
            assert b"two" in post(two, encode(HI))[1]
            post(one, encode())
