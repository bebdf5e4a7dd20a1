"""One conversation over HTTP: its encoded prefix, its requests, its deadlines.

The prefix is append-only bytes: each entry is encoded once, and a rebuilt transcript gives the same
bytes again.
"""

import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final

import anyio

from hermes.core.entries import AssistantEntry, UserEntry
from hermes.core.errors import Bug, ModelError
from hermes.core.ids import IdSource
from hermes.core.transcript import Epoch, Transcript
from hermes.core.usage import Usage
from hermes.models import errors
from hermes.models.body import Deadlines, TimedBody, payloads
from hermes.models.wire import Dialect, ReplyReader
from hermes.ports.model import ModelChunk, Reply, Route
from hermes.system.http_port import HttpAnswer, HttpFault, HttpTransport
from hermes.version import __version__

MAX_ERROR_BODY: Final = 64 * 1024
BYTES_PER_TOKEN: Final = 4.0
"""Where no reply has told yet; English text and JSON."""

NEARLY_FULL: Final = 0.9
"""The part of the window from which on an unexplained refusal is taken for an overflow."""


class HttpConversation:
    """`hermes.ports.model.Conversation` over a dialect."""

    def __init__(
        self,
        epoch: Epoch,
        *,
        route: Route,
        dialect: Dialect,
        transport: HttpTransport,
        ids: IdSource,
        deadlines: Deadlines,
    ) -> None:
        self._epoch = epoch
        self._route = route
        self._dialect = dialect
        self._transport = transport
        self._ids = ids
        self._deadlines = deadlines
        head, self._carry = dialect.head(epoch, route)
        self._prefix = bytearray(head)
        self._encoded = 0
        self._taken: set[str] = set()
        self._bytes_per_token = BYTES_PER_TOKEN

    @property
    def route(self) -> Route:
        return self._route

    def body(self, transcript: Transcript, *, may_call: bool = True) -> bytes:
        """The bytes that asking for the reply to `transcript` would send."""
        self._encode(transcript)
        return b"".join((self._prefix, self._dialect.tail(self._epoch, may_call=may_call)))

    def estimate(self, transcript: Transcript) -> Usage:
        """Input tokens by size, calibrated by the last reply; the cost of reading them."""
        self._encode(transcript)
        usage = Usage(input=math.ceil(len(self._prefix) / self._bytes_per_token), cost_usd=None)
        if self._route.price is None:
            return usage
        return Usage(input=usage.input, cost_usd=self._route.price.of(usage))

    @asynccontextmanager
    async def ask(
        self, transcript: Transcript, *, may_call: bool = True
    ) -> AsyncIterator[AsyncIterator[ModelChunk]]:
        """Ask; see the port. The connection is closed when the block is left."""
        body = self.body(transcript, may_call=may_call)
        async with self._asked(body, lambda: self.estimate(transcript).input) as chunks:
            yield chunks

    @asynccontextmanager
    async def ask_aside(self, entry: UserEntry) -> AsyncIterator[AsyncIterator[ModelChunk]]:
        """Ask about `entry` alone, which is part of no conversation. Nothing of it is kept."""
        step, _ = self._dialect.step(entry, self._carry)
        body = b"".join((self._prefix, step, self._dialect.tail(self._epoch, may_call=False)))
        async with self._asked(body, lambda: math.ceil(len(body) / BYTES_PER_TOKEN)) as chunks:
            yield chunks

    @asynccontextmanager
    async def _asked(
        self, body: bytes, tokens: Callable[[], int]
    ) -> AsyncIterator[AsyncIterator[ModelChunk]]:
        answer, deadline = await self._send(body)
        try:
            if answer.status != 200:
                raise await self._refusal(answer, tokens)
            reader = self._dialect.reader(self._epoch, self._route, self._ids, self._taken)
            timed = TimedBody(answer, self._route, self._deadlines, deadline)
            async with aclosing(self._chunks(timed, reader, len(body))) as chunks:
                yield chunks
        finally:
            with anyio.move_on_after(1, shield=True):
                await answer.aclose()

    def _encode(self, transcript: Transcript) -> None:
        if transcript.epoch != self._epoch:
            raise Bug("a transcript of another epoch was sent to this conversation")
        if len(transcript) < self._encoded:
            raise Bug("a transcript lost entries that were already sent")
        for entry in transcript.since(self._encoded):
            step, self._carry = self._dialect.step(entry, self._carry)
            self._prefix += step
            self._encoded += 1
            if isinstance(entry, AssistantEntry):
                self._taken.update(call.id for call in entry.calls)

    async def _send(self, body: bytes) -> tuple[HttpAnswer, float]:
        """The answer once its headers are here, and when its first event is due."""
        phase: errors.Deadline = "connect"
        due = anyio.current_time() + self._deadlines.first_byte
        with anyio.move_on_after(self._deadlines.seconds(phase)) as scope:

            def connected() -> None:
                nonlocal phase
                phase = "first_byte"
                scope.deadline = due

            url = self._dialect.url(self._route)
            headers = {"User-Agent": f"hermes/{__version__}", **self._dialect.headers(self._route)}
            try:
                answer = await self._transport.send("POST", url, headers, body, connected=connected)
            except HttpFault as e:
                raise errors.from_transport(self._route, e, replying=False) from e
            return answer, scope.deadline
        raise errors.stalled(self._route, phase, self._deadlines.seconds(phase))

    async def _refusal(self, answer: HttpAnswer, tokens: Callable[[], int]) -> ModelError:
        body = bytearray()
        with anyio.move_on_after(self._deadlines.idle), suppress(HttpFault):
            while len(body) <= MAX_ERROR_BODY and (chunk := await answer.read()):
                body += chunk
        window = self._route.window
        return errors.from_status(
            self._route,
            self._dialect.url(self._route),
            answer.status,
            answer.headers,
            bytes(body[:MAX_ERROR_BODY]),
            full=window is not None and tokens() >= NEARLY_FULL * window,
        )

    async def _chunks(
        self, body: TimedBody, reader: ReplyReader, size: int
    ) -> AsyncGenerator[ModelChunk, None]:
        async with aclosing(payloads(body)) as source:
            async for payload in source:
                for chunk in reader.feed(payload):
                    yield chunk
                if reader.ended:
                    break
                body.complete = reader.complete
        if body.whole and not reader.ended:
            raise body.not_protocol(body.whole)
        if reader.ended:
            await body.drain()
        for piece in reader.finish():
            if isinstance(piece, Reply) and piece.usage.input > 0:
                self._bytes_per_token = min(max(size / piece.usage.input, 1.0), 12.0)
            yield piece
