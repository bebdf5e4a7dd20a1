"""A provider that is reached over HTTP."""

from collections.abc import Callable

from hermes.core.ids import IdSource
from hermes.core.transcript import Epoch
from hermes.models.body import Deadlines
from hermes.models.stream import HttpConversation
from hermes.models.wire import Dialect
from hermes.ports.model import Route
from hermes.system.http_port import HttpTransport

DEFAULT_DEADLINES = Deadlines()


class HttpProvider:
    """Opens conversations at one route; they share a transport, made when it is first needed."""

    def __init__(
        self,
        route: Route,
        dialect: Dialect,
        transport_factory: Callable[[], HttpTransport],
        ids: IdSource,
        deadlines: Deadlines = DEFAULT_DEADLINES,
    ) -> None:
        self.route = route
        self._dialect = dialect
        self._transport_factory = transport_factory
        self._transport: HttpTransport | None = None
        self._ids = ids
        self._deadlines = deadlines

    def open(self, epoch: Epoch, route: Route | None = None) -> HttpConversation:
        """A conversation under `epoch`, at `route` if that is not the provider's own; nothing is
        sent yet."""
        if self._transport is None:
            self._transport = self._transport_factory()
        return HttpConversation(
            epoch,
            route=route or self.route,
            dialect=self._dialect,
            transport=self._transport,
            ids=self._ids,
            deadlines=self._deadlines,
        )

    async def aclose(self) -> None:
        """Close the connections; running requests fail."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()
