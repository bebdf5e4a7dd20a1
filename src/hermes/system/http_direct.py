"""HTTP/1.1 without a proxy: h11 over one kept connection for each request under way.

h11 reads and checks the protocol; here is only what a client of one host needs around it. A general
client spends a millisecond more on each request, half of what a step of the loop costs in all.
"""

import ssl
import zlib
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from select import POLLIN, poll
from typing import Final, NamedTuple, final
from urllib.parse import quote, unquote, urlsplit

import anyio
import h11
from anyio.abc import ByteStream, SocketAttribute

from hermes.system.http_port import HttpFault

READ: Final = 64 * 1024
MAX_HEADERS: Final = 100 * 1024
"""Bytes of an answer's headers."""

KEPT_SECONDS: Final = 5.0
"""How long an idle connection is used again; after it, many a server is about to close it."""

KEPT: Final = 8

_BROKEN: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError, ssl.SSLError)


class _Place(NamedTuple):
    host: str
    port: int
    tls: bool


@dataclass(frozen=True, slots=True)
class _Target:
    """Where a URL leads: the host to connect to, and what goes into the request."""

    place: _Place
    path: bytes
    host: bytes
    login: bytes


class _Connection:
    def __init__(self, place: _Place, stream: ByteStream) -> None:
        self.place = place
        self.stream = stream
        self.protocol = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEADERS)
        self.idle_since = 0.0
        # Nothing is due on an idle connection, so whatever could be read from it is its end.
        self._waiting = poll()
        self._waiting.register(stream.extra(SocketAttribute.raw_socket).fileno(), POLLIN)

    def usable(self) -> bool:
        """Whether the server still holds this idle connection open."""
        return anyio.current_time() - self.idle_since <= KEPT_SECONDS and not self._waiting.poll(0)

    async def send(self, head: bytes, body: bytes) -> None:
        try:
            if len(body) <= READ:
                await self.stream.send(head + body)
                return
            # Copied as seldom as can be.
            await self.stream.send(head)
            await self.stream.send(body)
        except _BROKEN:
            # A server may refuse early and close: its answer says why.
            return

    async def answer(self) -> h11.Response:
        """The beginning of the answer; raises HttpFault."""
        while not isinstance(event := await self.event(), h11.Response):
            if not isinstance(event, h11.InformationalResponse):
                raise HttpFault("exchange", "the server did not answer in HTTP/1.1")
        return event

    async def event(self) -> object:
        """The next event of the answer, waited for; raises HttpFault."""
        while (event := self.ready()) is h11.NEED_DATA:
            self.protocol.receive_data(await self._receive())
        return event

    def ready(self) -> object:
        """The next event of the answer, h11.NEED_DATA if more has to come; raises HttpFault."""
        try:
            return self.protocol.next_event()
        except h11.RemoteProtocolError as e:
            raise HttpFault("exchange", str(e)) from e

    async def _receive(self) -> bytes:
        try:
            return await self.stream.receive(READ)
        except anyio.EndOfStream:
            if self.protocol.their_state is h11.SEND_RESPONSE:
                raise HttpFault("exchange", "the server closed without an answer") from None
            return b""
        except _BROKEN as e:
            raise HttpFault("exchange", str(e)) from e

    @property
    def finished(self) -> bool:
        """Whether the exchange is over and the connection may serve another."""
        return self.protocol.our_state is h11.DONE and self.protocol.their_state is h11.DONE


@final
class DirectAnswer:
    """See `http_port.HttpAnswer`."""

    def __init__(
        self,
        answer: h11.Response,
        connection: _Connection,
        release: Callable[[_Connection], Awaitable[None]],
    ) -> None:
        self.status: int = answer.status_code
        self.headers = _joined(answer)
        self._connection = connection
        self._release = release
        self._decoder = _decoder(self.headers.get("content-encoding", ""))
        self._ended = False

    async def read(self) -> bytes:
        while not self._ended:
            parts: list[bytes] = []
            event = await self._connection.event()
            while isinstance(event, h11.Data):
                parts.append(event.data)
                # What has come in the same packet is given in one piece.
                event = self._connection.ready()
            self._ended = event is not h11.NEED_DATA
            if data := self._decoder.feed(b"".join(parts), last=self._ended):
                return data
        return b""

    async def aclose(self) -> None:
        await self._release(self._connection)


@final
class DirectTransport:
    """See `http_port.HttpTransport`. `trust` says whom TLS believes."""

    def __init__(self, trust: ssl.SSLContext) -> None:
        self._trust = trust
        self._idle: list[_Connection] = []
        self._active: set[_Connection] = set()

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        connected: Callable[[], None] = lambda: None,
    ) -> DirectAnswer:
        target = _target(url)
        connection = await self._connection(target.place)
        self._active.add(connection)
        try:
            connected()
            head = _request(connection.protocol, method, target, headers, body)
            await connection.send(head, body)
            return DirectAnswer(await connection.answer(), connection, self._release)
        except BaseException:
            self._active.discard(connection)
            await anyio.aclose_forcefully(connection.stream)
            raise

    async def aclose(self) -> None:
        connections = [*self._idle, *self._active]
        self._idle.clear()
        self._active.clear()
        for connection in connections:
            await anyio.aclose_forcefully(connection.stream)

    async def _release(self, connection: _Connection) -> None:
        """The exchange on `connection` is over, or given up."""
        if connection not in self._active:
            return
        self._active.discard(connection)
        if connection.finished:
            connection.protocol.start_next_cycle()
            connection.idle_since = anyio.current_time()
            self._idle.append(connection)
        else:
            await anyio.aclose_forcefully(connection.stream)

    async def _connection(self, place: _Place) -> _Connection:
        """An idle connection to `place` that still stands, or a new one."""
        stale = [c for c in self._idle if not c.usable()] + self._idle[:-KEPT]
        for connection in dict.fromkeys(stale):
            self._idle.remove(connection)
            await anyio.aclose_forcefully(connection.stream)
        for connection in reversed(self._idle):
            if connection.place == place:
                self._idle.remove(connection)
                return connection
        return _Connection(place, await self._connect(place))

    async def _connect(self, place: _Place) -> ByteStream:
        try:
            if not place.tls:
                return await anyio.connect_tcp(place.host, place.port)
            return await anyio.connect_tcp(
                place.host,
                place.port,
                tls=True,
                ssl_context=self._trust,
                tls_hostname=place.host,
                tls_standard_compatible=False,
            )
        except (*_BROKEN, anyio.EndOfStream) as e:
            raise HttpFault("connect", str(e)) from e


@lru_cache(maxsize=16)
def _target(url: str) -> _Target:
    try:
        parts = urlsplit(url)
        tls = parts.scheme == "https"
        port = parts.port or (443 if tls else 80)
        host = (parts.hostname or "").encode("idna").decode()
    except ValueError as e:
        raise HttpFault("address", str(e)) from e
    if parts.scheme not in ("http", "https") or not host:
        raise HttpFault("address", f"{url} is no http address")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
    if parts.query:
        path += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~?")
    name = f"[{host}]" if ":" in host else host
    shown = name if parts.port is None else f"{name}:{parts.port}"
    login = ""
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return _Target(_Place(host, port, tls), path.encode(), shown.encode(), login.encode())


def _request(
    protocol: h11.Connection, method: str, target: _Target, headers: Mapping[str, str], body: bytes
) -> bytes:
    """What a request begins with, before its body; raises HttpFault for a header that cannot be
    sent."""
    lines = {b"Host": target.host, b"Accept": b"*/*", b"Accept-Encoding": b"identity"}
    try:
        lines |= {name.title().encode(): value.encode() for name, value in headers.items()}
        if target.login:
            lines[b"Authorization"] = b"Basic " + b64encode(target.login)
        if body:
            lines[b"Content-Length"] = str(len(body)).encode()
        request = h11.Request(method=method, target=target.path, headers=list(lines.items()))
        head = protocol.send(request) or b""
        if body:
            # Its length is in the head, so it goes out as it is.
            protocol.send_with_data_passthrough(h11.Data(data=body))
        protocol.send(h11.EndOfMessage())
    except (h11.LocalProtocolError, UnicodeError) as e:
        raise HttpFault("exchange", str(e)) from e
    return head


def _joined(answer: h11.Response) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in answer.headers:
        key, text = name.decode("ascii"), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


class _Plain:
    """A body as it is."""

    def feed(self, data: bytes, *, last: bool) -> bytes:
        return data


class _Packed:
    """Undoes a compression that was not asked for, as some servers in between apply it."""

    def __init__(self) -> None:
        # 32: with the header of gzip or of zlib, whichever is there.
        self._unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def feed(self, data: bytes, *, last: bool) -> bytes:
        """What `data` holds; raises HttpFault if it is broken, or cut off at the `last`."""
        try:
            plain = self._unpacker.decompress(data)
        except zlib.error as e:
            raise HttpFault("exchange", f"the answer's compression is broken: {e}") from e
        if last and not self._unpacker.eof:
            raise HttpFault("exchange", "the compressed answer is cut off")
        return plain


def _decoder(encoding: str) -> _Plain | _Packed:
    match encoding.strip().lower():
        case "" | "identity":
            return _Plain()
        case "gzip" | "x-gzip" | "deflate":
            return _Packed()
        case other:
            raise HttpFault("exchange", f"the answer is compressed with {other}")
