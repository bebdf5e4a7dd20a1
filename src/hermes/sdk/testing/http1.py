"""The server's half of an HTTP/1.1 connection: read requests, write bytes, notice who leaves."""

from collections.abc import Mapping
from dataclasses import dataclass

import anyio
from anyio.abc import ByteStream


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A request as it came; header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class BadRequest(Exception):
    """What came is not HTTP/1.1."""


class Connection:
    """One client's socket. What comes early is kept for the next request."""

    def __init__(self, stream: ByteStream, number: int) -> None:
        self.number = number
        self._stream = stream
        self._early = bytearray()

    async def read(self) -> Arrival | None:
        """The next request, or None if the client has left; raises BadRequest."""
        try:
            head = (await self._until(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, path, _ = head[0].split(" ", 2)
            headers = {}
            for line in head[1:]:
                name, _, value = line.partition(":")
                headers[name.strip().lower()] = value.strip()
            if headers.get("expect", "").lower() == "100-continue":
                await self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            if "chunked" in headers.get("transfer-encoding", "").lower():
                body = await self._chunks()
            else:
                body = await self._exactly(int(headers.get("content-length", "0")))
        except ValueError as error:
            raise BadRequest(str(error)) from None
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return None
        return Arrival(method=method, path=path, headers=headers, body=body)

    async def write(self, data: bytes) -> None:
        """Send `data`; raises anyio.BrokenResourceError if the client has left."""
        await self._stream.send(data)

    async def wait_until_left(self) -> None:
        """Return when the client closes its side; cancelling this loses no byte."""
        try:
            while True:
                self._early += await self._stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return

    async def _more(self) -> None:
        self._early += await self._stream.receive()

    async def _until(self, mark: bytes) -> bytes:
        seen = 0
        while (at := self._early.find(mark, max(0, seen - len(mark)))) < 0:
            seen = len(self._early)
            await self._more()
        return self._take(at + len(mark))[: -len(mark)]

    async def _exactly(self, size: int) -> bytes:
        while len(self._early) < size:
            await self._more()
        return self._take(size)

    async def _chunks(self) -> bytes:
        parts = []
        while size := int((await self._until(b"\r\n")).split(b";")[0], 16):
            parts.append(await self._exactly(size))
            await self._until(b"\r\n")
        while await self._until(b"\r\n"):
            pass
        return b"".join(parts)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._early[:size])
        del self._early[:size]
        return taken
