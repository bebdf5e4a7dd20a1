"""The embedded model as a provider: its process is started when something is first asked."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from hermes.core.errors import Overloaded, StreamDropped
from hermes.core.transcript import Epoch, Transcript
from hermes.core.usage import Usage
from hermes.models.local.server import LocalServer
from hermes.models.provider import HttpProvider
from hermes.models.stream import HttpConversation
from hermes.ports.model import ModelChunk, Route


class LocalConversation:
    """One epoch at the local server. A server that was started anew has another address; the
    prefix is then encoded again, to the same bytes."""

    def __init__(
        self, server: LocalServer, route: Route, at: Callable[[Route], HttpConversation]
    ) -> None:
        self._server = server
        self._at = at
        self._inner = at(route)

    @property
    def route(self) -> Route:
        return self._inner.route

    def estimate(self, transcript: Transcript) -> Usage:
        return self._inner.estimate(transcript)

    @asynccontextmanager
    async def ask(
        self, transcript: Transcript, *, may_call: bool = True
    ) -> AsyncIterator[AsyncIterator[ModelChunk]]:
        async with self._server.use() as endpoint:
            here = replace(self.route, base_url=endpoint.base_url, key=endpoint.token)
            if here != self.route:
                self._inner = self._at(here)
            try:
                async with self._inner.ask(transcript, may_call=may_call) as chunks:
                    yield chunks
            except (Overloaded, StreamDropped) as e:
                if await self._server.answers():
                    raise
                raise self._server.ended_in_use() from e


class LocalProvider:
    """See `ports.model.ModelProvider`; `http` speaks to wherever `server` answers."""

    def __init__(self, server: LocalServer, http: HttpProvider) -> None:
        self._server = server
        self._http = http

    def open(self, epoch: Epoch) -> LocalConversation:
        """A conversation under `epoch`; nothing is started yet."""
        return LocalConversation(
            self._server, self._http.route, lambda route: self._http.open(epoch, route)
        )

    async def aclose(self) -> None:
        """Close the connections, and end the server if this process owns it."""
        await self._http.aclose()
        await self._server.aclose()
