"""The body of a model's response, read under deadlines and cut into payloads."""

from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import anyio

from hermes.core.errors import BadReply
from hermes.models import errors
from hermes.models.sse import EventSplitter, begins_like_events
from hermes.ports.model import Route
from hermes.system.http_port import HttpAnswer, HttpFault

MAX_EVENT: Final = 40 * 1024 * 1024
"""Bytes of one event, or of a whole JSON reply."""

LEFTOVER: Final = 0.1
"""Seconds to wait for the end of a body whose reply has ended; it comes in the same packet."""

_SNIFFED: Final = 5
"""Bytes that tell a stream of events from anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Seconds to wait: for the connection, for the first event, for the next one, and for what may
    follow a reply that is already complete.

    Only events count as life; headers and comments do not. The connection is waited for no longer
    than the first event, which is due that long after the beginning, however long connecting took.
    """

    connect: float = 10.0
    first_byte: float = 300.0
    idle: float = 120.0
    trailer: float = 5.0

    def seconds(self, phase: errors.Deadline) -> float:
        connect = min(self.connect, self.first_byte)
        return {"connect": connect, "first_byte": self.first_byte, "idle": self.idle}[phase]


class TimedBody:
    """The bytes of a response. `whole` is the body itself once it turned out to be one JSON object;
    `complete` is set by the reader once nothing needful is missing."""

    def __init__(self, answer: HttpAnswer, route: Route, deadlines: Deadlines, due: float) -> None:
        self.route = route
        self.complete = False
        self.whole = b""
        self._answer = answer
        self._deadlines = deadlines
        self._due: float | None = due
        self._phase: errors.Deadline = "first_byte"

    async def read(self) -> bytes:
        """The next bytes, or none at the end; raises ModelError."""
        now = anyio.current_time()
        if self._due is None:
            # From now on, not from the last event: its reader may have been slow.
            self._due = now + self._deadlines.idle
        due = min(self._due, now + self._deadlines.trailer) if self.complete else self._due
        with anyio.CancelScope(deadline=due):
            try:
                return await self._answer.read()
            except HttpFault as e:
                if self.complete:
                    return b""
                raise errors.from_transport(self.route, e, replying=True) from e
        if self.complete:
            return b""
        raise errors.stalled(self.route, self._phase, self._deadlines.seconds(self._phase))

    async def drain(self) -> None:
        """Read what follows a reply that has ended, so that its connection can serve the next
        request; without it each step of a turn would connect, and shake hands, anew."""
        with anyio.move_on_after(LEFTOVER), suppress(HttpFault):
            while await self._answer.read():
                pass

    def progress(self) -> None:
        """Something of the reply has come: the idle deadline starts anew."""
        self._phase = "idle"
        self._due = None

    def not_protocol(self, start: bytes) -> BadReply:
        """This is not what a model's endpoint sends."""
        kind = self._answer.headers.get("content-type", "")
        return errors.not_protocol(self.route, self._answer.status, kind, start)


async def payloads(body: TimedBody) -> AsyncGenerator[bytes, None]:
    """The data of each event, or the one JSON object that the body is."""
    start = bytearray()
    while len(start.strip()) < _SNIFFED and (chunk := await body.read()):
        start += chunk
    seen = bytes(start).removeprefix(b"\xef\xbb\xbf").lstrip()
    if not seen:
        raise errors.dropped(body.route)
    if seen.startswith(b"{"):
        body.whole = await _rest(body, seen)
        yield body.whole
        return
    if not begins_like_events(seen):
        raise body.not_protocol(seen)
    splitter, chunk = EventSplitter(), seen
    while chunk:
        for payload in splitter.feed(chunk):
            body.progress()
            yield payload
        if splitter.size > MAX_EVENT:
            raise errors.too_big(body.route, MAX_EVENT)
        chunk = await body.read()
    for payload in splitter.end():
        yield payload


async def _rest(body: TimedBody, start: bytes) -> bytes:
    whole, chunk = bytearray(start), start
    while chunk:
        body.progress()
        if len(whole) > MAX_EVENT:
            raise errors.too_big(body.route, MAX_EVENT)
        chunk = await body.read()
        whole += chunk
    return bytes(whole)
