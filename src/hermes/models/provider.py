"""A provider that is reached over HTTP."""

from collections.abc import Callable

import httpx2

from hermes.core.ids import IdSource
from hermes.core.transcript import Epoch
from hermes.models.body import Deadlines
from hermes.models.stream import HttpConversation
from hermes.models.wire import Dialect
from hermes.ports.model import Route

DEFAULT_DEADLINES = Deadlines()


class HttpProvider:
    """Opens conversations at one route; they share a client, made when it is first needed."""

    def __init__(
        self,
        route: Route,
        dialect: Dialect,
        client_factory: Callable[[], httpx2.AsyncClient],
        ids: IdSource,
        deadlines: Deadlines = DEFAULT_DEADLINES,
    ) -> None:
        self.route = route
        self._dialect = dialect
        self._client_factory = client_factory
        self._client: httpx2.AsyncClient | None = None
        self._ids = ids
        self._deadlines = deadlines

    def open(self, epoch: Epoch, route: Route | None = None) -> HttpConversation:
        """A conversation under `epoch`, at `route` if that is not the provider's own; nothing is
        sent yet."""
        if self._client is None:
            self._client = self._client_factory()
        return HttpConversation(
            epoch,
            route=route or self.route,
            dialect=self._dialect,
            client=self._client,
            ids=self._ids,
            deadlines=self._deadlines,
        )

    async def aclose(self) -> None:
        """Close the connections; running requests fail."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
