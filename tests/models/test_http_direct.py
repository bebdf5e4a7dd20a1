"""Requests without a proxy, over real sockets."""

import gzip
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest
from anyio.abc import ByteStream, SocketAttribute, SocketListener
from hypothesis import given
from hypothesis import strategies as st

from hermes.system.http_direct import DirectTransport
from hermes.system.http_port import HttpFault

HEAD = b"HTTP/1.1 200 OK\r\n"


@dataclass
class Server:
    """Answers each request on each connection with the next of `answers`, sent piece by piece;
    an empty piece closes the connection."""

    answers: list[list[bytes]]
    url: str = ""
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    left: anyio.Event = field(default_factory=anyio.Event)
    closed: anyio.Event = field(default_factory=anyio.Event)

    async def serve(self, stream: ByteStream) -> None:
        self.connections += 1
        async with stream:
            await self._serve(stream)
        self.closed.set()

    async def _serve(self, stream: ByteStream) -> None:
        while True:
            try:
                self.requests.append(await _request(stream))
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                self.left.set()
                return
            for piece in self.answers.pop(0):
                if not piece:
                    return
                await stream.send(piece)
                await anyio.lowlevel.checkpoint()


async def _request(stream: ByteStream) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (
            int(row[15:])
            for row in head.lower().split(b"\r\n")
            if row.startswith(b"content-length:")
        ),
        0,
    )
    while len(body) < length:
        body += await stream.receive()
    return head + b"\r\n\r\n" + body


@asynccontextmanager
async def serving(*answers: list[bytes]) -> AsyncIterator[Server]:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    server = Server(list(answers))
    server.url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/v1?a=b"
    async with listener, anyio.create_task_group() as group:
        group.start_soon(_listen, listener, server.serve)
        yield server
        group.cancel_scope.cancel()


async def _listen(listener: SocketListener, serve: Callable[[ByteStream], object]) -> None:
    await listener.serve(serve)


@asynccontextmanager
async def transport() -> AsyncIterator[DirectTransport]:
    made = DirectTransport(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    try:
        yield made
    finally:
        await made.aclose()


async def exchange(http: DirectTransport, url: str, body: bytes = b"") -> bytes:
    answer = await http.send("POST" if body else "GET", url, {"X-One": "1"}, body)
    read = b""
    while chunk := await answer.read():
        read += chunk
    await answer.aclose()
    return read


def chunked(*parts: bytes) -> list[bytes]:
    pieces = [b"%x\r\n%b\r\n" % (len(part), part) for part in parts]
    return [HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *pieces, b"0\r\n\r\n"]


def compressed(body: bytes) -> list[bytes]:
    packed = gzip.compress(body)
    head, *pieces = chunked(*(packed[n : n + 7] for n in range(0, len(packed), 7)))
    return [head.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n"), *pieces]


@pytest.mark.parametrize(
    "answer",
    [
        chunked(b"hel", b"lo"),
        [HEAD + b"Content-Length: 5\r\n\r\nhello"],
        [HEAD + b"Connection: close\r\n\r\nhel", b"lo", b""],
        [b"HTTP/1.0 200 OK\r\n\r\nhello", b""],
        [b"HTTP/1.1 100 Continue\r\n\r\n", HEAD + b"Content-Length: 5\r\n\r\nhello"],
        compressed(b"hello"),
    ],
    ids=["chunks", "length", "to the end", "HTTP/1.0", "continue", "gzip"],
)
async def test_a_body_is_read_however_it_is_framed(answer: list[bytes]) -> None:
    async with serving(answer) as server, transport() as http:
        assert await exchange(http, server.url) == b"hello"


async def test_a_request_is_what_was_asked_for() -> None:
    async with serving(chunked(b"x")) as server, transport() as http:
        url = server.url.replace("//", "//me:p%40ss@").replace("/v1", "/é v1")
        await exchange(http, url, b"body")
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /%C3%A9%20v1?a=b HTTP/1.1"
    assert {b"X-One: 1", b"Content-Length: 4", b"Authorization: Basic bWU6cEBzcw=="} <= {*lines}
    assert body == b"body"


async def test_exchanges_one_after_the_other_share_a_connection() -> None:
    async with serving(*[chunked(b"x")] * 3) as server, transport() as http:
        for _ in range(3):
            assert await exchange(http, server.url, b"q") == b"x"
    assert server.connections == 1


async def test_exchanges_at_the_same_time_do_not() -> None:
    async with serving(chunked(b"x"), chunked(b"x")) as server, transport() as http:
        first = await http.send("GET", server.url, {})
        second = await http.send("GET", server.url, {})
        for answer in (first, second):
            assert await answer.read() == b"x"
    assert server.connections == 2


async def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    answer = [HEAD + b"Content-Length: 1\r\n\r\nx", b""]
    async with serving(answer, answer) as server, transport() as http:
        assert await exchange(http, server.url) == b"x"
        await server.closed.wait()
        assert await exchange(http, server.url) == b"x"
    assert server.connections == 2


async def test_an_answer_left_half_read_or_cancelled_closes_its_connection() -> None:
    async with serving(chunked(b"x")[:-1], []) as server, transport() as http:
        answer = await http.send("GET", server.url, {})
        await answer.aclose()
        with anyio.fail_after(5):
            await server.left.wait()
        server.left = anyio.Event()
        with anyio.move_on_after(0.05):
            await http.send("GET", server.url, {})
        with anyio.fail_after(5):
            await server.left.wait()


async def test_a_refusal_before_the_whole_request_was_taken_is_read() -> None:
    async def serve(stream: ByteStream) -> None:
        async with stream:
            await stream.receive(10)
            await stream.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
            with pytest.raises(anyio.EndOfStream):
                while True:
                    await stream.receive()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as group, transport() as http:
        group.start_soon(_listen, listener, serve)
        answer = await http.send("POST", f"http://127.0.0.1:{port}/", {}, b"x" * 5_000_000)
        assert (answer.status, await answer.read()) == (413, b"no")
        await http.aclose()
        group.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("answer", "stage"),
    [
        ([b""], "exchange"),
        ([b"SSH-2.0-OpenSSH\r\n\r\n"], "exchange"),
        ([*chunked(b"x")[:-1], b""], "exchange"),
        ([HEAD + b"Content-Encoding: br\r\nContent-Length: 1\r\n\r\nx"], "exchange"),
        ([HEAD + b"Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx"], "exchange"),
        ([HEAD + b"X: " + b"x" * 200_000 + b"\r\n\r\n"], "exchange"),
    ],
    ids=["closed", "no HTTP", "cut", "unknown compression", "broken compression", "huge header"],
)
async def test_what_is_no_answer_is_a_fault(answer: list[bytes], stage: str) -> None:
    async with serving(answer) as server, transport() as http:
        with pytest.raises(HttpFault) as caught:
            await exchange(http, server.url)
    assert caught.value.stage == stage


@pytest.mark.parametrize(
    "url", ["ftp://a/", "http://", "http://a:99999/", "nonsense", "http://[a/"]
)
async def test_what_is_no_address_is_a_fault(url: str) -> None:
    async with transport() as http:
        with pytest.raises(HttpFault) as caught:
            await exchange(http, url)
    assert caught.value.stage == "address"


async def test_a_header_cannot_smuggle_in_another() -> None:
    async with serving([]) as server, transport() as http:
        with pytest.raises(HttpFault):
            await http.send("GET", server.url, {"Authorization": "a\r\nX-Two: 2"})
    assert server.requests == []


@given(st.binary(max_size=200), st.lists(st.integers(1, 60), max_size=12))
async def test_pieces_of_any_size_give_the_same_body(body: bytes, sizes: list[int]) -> None:
    data = b"".join(chunked(body or b"-"))
    pieces, at = [], 0
    for size in sizes:
        pieces.append(data[at : at + size] or b"")
        at += size
    pieces = [piece for piece in (*pieces, data[at:]) if piece]
    async with serving(pieces) as server, transport() as http:
        assert await exchange(http, server.url) == (body or b"-")
