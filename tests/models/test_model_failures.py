"""Failures named truly: who, why, what works; over real sockets."""

import socket
import time

import anyio
import pytest
from anyio.abc import SocketAttribute
from talking import chunks_of, epoch_of, provider_at, reply_of, route_to, transcript_of, user

from hermes.core.errors import (
    AuthFailed,
    BadReply,
    ContextTooLong,
    ModelError,
    Overloaded,
    RateLimited,
    Refused,
    Stalled,
)
from hermes.models.body import Deadlines
from hermes.sdk.testing import (
    ScriptedModel,
    chunk,
    html,
    http,
    json_body,
    never_ending,
    raw_events,
    stall,
)

KEY = "sk-verysecretkey1234"


async def failure(reply, kind, **options):
    with ScriptedModel([reply]) as model, pytest.raises(kind) as caught:
        await reply_of(model.base_url, **options)
    assert type(caught.value) is kind
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


def fault(message, **more):
    return {"error": {"message": message, **more}}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, AuthFailed),
        (403, AuthFailed),
        (402, RateLimited),
        (429, RateLimited),
        (400, Refused),
        (404, Refused),
        (422, Refused),
        (408, Overloaded),
        (409, Overloaded),
        (500, Overloaded),
        (503, Overloaded),
        (529, Overloaded),
        (413, ContextTooLong),
    ],
)
async def test_a_status_is_told_with_the_servers_own_words(status, kind):
    error = await failure(http(status, fault(f"Because\nof {KEY}.")), kind, key=KEY)
    assert str(status) in error.message or kind is ContextTooLong
    assert "Because of [key]." in error.message
    assert error.hint


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, fault("This model's maximum context length is 8192 tokens.")),
        (400, fault("no", code="context_length_exceeded")),
        (400, fault("the request exceeds the available context size (32768 tokens)")),
        (500, fault("no", type="exceed_context_size_error")),
        (422, {"detail": "prompt is too long"}),
    ],
)
async def test_an_overflow_is_recognised_by_code_or_words(status, body):
    await failure(http(status, body), ContextTooLong)


async def test_an_unexplained_400_near_the_window_is_an_overflow():
    await failure(http(400, fault("bad")), ContextTooLong, window=50)
    await failure(http(400, fault("bad")), Refused, window=50_000)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "17"}, 17.0),
        ({"retry-after": "1.5"}, 1.5),
        (
            {
                "date": "Sun, 06 Nov 1994 08:49:37 GMT",
                "retry-after": "Sun, 06 Nov 1994 08:50:07 GMT",
            },
            30.0,
        ),
    ],
)
async def test_retry_after_is_understood_in_seconds_and_as_a_date(headers, seconds):
    error = await failure(http(429, fault("slow down"), headers), RateLimited)
    assert error.retry_after == seconds


async def test_a_missing_key_is_said_to_be_missing():
    error = await failure(http(401, fault("no key")), AuthFailed)
    assert "none is set" in error.message


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (fault("busy", code=503), Overloaded),
        (fault("slow", code="429"), RateLimited),
        (fault("slow", type="rate_limit_error"), RateLimited),
        (fault("who", type="authentication_error"), AuthFailed),
        (fault("what", type="invalid_request_error"), Refused),
        (fault("maximum context length is 5"), ContextTooLong),
        ({"error": "something"}, Overloaded),
    ],
)
async def test_an_error_in_place_of_a_reply_is_an_error(payload, kind):
    await failure(raw_events([chunk({"content": "Hal"}), payload]), kind)
    await failure(json_body(payload), kind)


@pytest.mark.parametrize("status", [200, 404, 502])
async def test_a_web_page_is_named_as_no_api(status):
    kind = {200: BadReply, 404: Refused, 502: Overloaded}[status]
    error = await failure(html(status), kind)
    assert "Welcome" in error.message
    assert "<" not in error.message


@pytest.mark.parametrize(
    "reply",
    [
        raw_events([b"data: {broken\n\n"]),
        raw_events([b"data: [1]\n\n"]),
        raw_events([b"data: " + b"[" * 100_000 + b"\n\n"]),
        json_body({"object": "list", "data": []}),
        http(200, b"OK", {"content-type": "text/plain"}),
    ],
    ids=["broken", "list", "deep", "other json", "plain text"],
)
async def test_what_is_not_the_protocol_is_named_so(reply):
    error = await failure(reply, BadReply)
    assert "not a chat completion" in error.message


async def test_a_redirect_is_not_followed_and_names_its_target():
    with ScriptedModel() as other:
        target = f"{other.base_url}/chat/completions"
        error = await failure(http(307, b"", {"location": target}), BadReply, key=KEY)
        assert target in error.message
        assert not other.requests


async def test_the_key_is_sent_as_a_bearer_and_only_if_there_is_one():
    with ScriptedModel(["a", "b"], check_prefix=False) as model:
        await reply_of(model.base_url, key=KEY)
        await reply_of(model.base_url)
    assert model.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in model.requests[1].headers


async def test_a_dead_port_is_named_at_once():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = time.monotonic()
    with pytest.raises(Overloaded, match=rf"127\.0\.0\.1:{port} \(connection refused\)"):
        await reply_of(f"http://127.0.0.1:{port}/v1")
    assert time.monotonic() - start < 2


async def test_a_name_that_does_not_exist_is_named():
    with pytest.raises(Overloaded, match=r"no-such-host\.invalid"):
        await reply_of("http://no-such-host.invalid/v1")


async def test_https_to_a_server_without_it_is_a_tls_failure():
    async def plain(stream):
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as group,
    ):
        group.start_soon(listener.serve, plain)
        port = listener.extra(SocketAttribute.local_port)
        with pytest.raises(ModelError, match="secure connection") as caught:
            await reply_of(f"https://127.0.0.1:{port}/v1")
        group.cancel_scope.cancel()
    assert type(caught.value) is ModelError
    assert caught.value.retry_after is None


SHORT = {"connect": 5.0, "trailer": 0.2}


@pytest.mark.parametrize(
    ("reply", "deadlines", "named"),
    [
        (stall(), Deadlines(first_byte=0.2, idle=9, **SHORT), "0.2 s (first-byte deadline)"),
        (
            raw_events([b": ping\n\n"] * 3, done=False).hold(2),
            Deadlines(first_byte=0.2, idle=9, **SHORT),
            "0.2 s (first-byte deadline)",
        ),
        (
            stall(before_first_byte=False, after_events=[chunk({"content": "Hi"})]),
            Deadlines(first_byte=9, idle=0.2, **SHORT),
            "0.2 s in mid-reply (idle deadline)",
        ),
    ],
    ids=["silence", "only comments", "silence in mid-reply"],
)
async def test_a_deadline_is_kept_as_given_and_named(reply, deadlines, named):
    start = time.monotonic()
    error = await failure(reply, Stalled, deadlines=deadlines)
    assert named in error.message
    assert time.monotonic() - start < 4


async def test_a_server_that_does_not_accept_is_given_up_after_the_connect_deadline():
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        with pytest.raises(Stalled, match=r"0\.2 s \(connect deadline\)"):
            await reply_of(f"http://127.0.0.1:{address[1]}/v1", deadlines=Deadlines(connect=0.2))
        for filler in fillers:
            filler.close()


async def test_leaving_a_reply_closes_the_connection():
    epoch = epoch_of()
    with ScriptedModel([never_ending("word ")]) as model:
        provider = provider_at(route_to(model.base_url))
        with anyio.fail_after(5):
            async with provider.open(epoch).ask(transcript_of([user("go")], epoch)) as chunks:
                async for _ in chunks:
                    break
        await model.client_leaves(1)
        await provider.aclose()


async def test_cancelling_an_answer_that_has_not_begun_takes_no_time():
    with ScriptedModel([stall()]) as model:
        start = time.monotonic()
        with anyio.move_on_after(30) as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(chunks_of, model.base_url)
                await model.request_arrives(1)
                scope.cancel()
        assert time.monotonic() - start < 5
        await model.client_leaves(1)
