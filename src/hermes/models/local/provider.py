"""The embedded model as a provider: its process is started when something is first asked."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx2

from hermes.core.ids import IdSource
from hermes.core.transcript import Epoch, Transcript
from hermes.core.usage import Usage
from hermes.models.body import Deadlines
from hermes.models.local.server import LocalServer
from hermes.models.stream import HttpConversation
from hermes.models.wire import Dialect
from hermes.ports.model import ModelChunk, Route


class LocalConversation:
    """One epoch at the local server. A server that was started anew has another address; the
    prefix is then encoded again, to the same bytes."""

    def __init__(
        self, server: LocalServer, route: Route, make: Callable[[Route], HttpConversation]
    ):
        self._server = server
        self._make = make
        self._inner = make(route)

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
            if self.route.base_url != endpoint.base_url or self.route.key != endpoint.token:
                self._inner = self._make(
                    replace(self.route, base_url=endpoint.base_url, key=endpoint.token)
                )
            async with self._inner.ask(transcript, may_call=may_call) as chunks:
                yield chunks


class LocalProvider:
    """See `ports.model.ModelProvider`."""

    def __init__(
        self,
        server: LocalServer,
        route: Route,
        dialect: Dialect,
        client_factory: Callable[[], httpx2.AsyncClient],
        ids: IdSource,
        deadlines: Deadlines,
    ) -> None:
        self._server = server
        self._route = route
        self._dialect = dialect
        self._client_factory = client_factory
        self._client: httpx2.AsyncClient | None = None
        self._ids = ids
        self._deadlines = deadlines

    def open(self, epoch: Epoch) -> LocalConversation:
        """A conversation under `epoch`; nothing is started yet."""
        if self._client is None:
            self._client = self._client_factory()
        client = self._client

        def make(route: Route) -> HttpConversation:
            return HttpConversation(
                epoch,
                route=route,
                dialect=self._dialect,
                client=client,
                ids=self._ids,
                deadlines=self._deadlines,
            )

        return LocalConversation(self._server, self._route, make)

    async def aclose(self) -> None:
        """Close the connections, and end the server if this process owns it."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        await self._server.aclose()
