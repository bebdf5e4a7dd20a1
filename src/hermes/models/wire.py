"""What a wire dialect must do: encode a conversation as a left fold, and read a reply stream.

A dialect is pure. `head` and `step` see nothing that follows, so bytes once made never change and
a request begins with all of the request before it, byte for byte, except for the closing tail.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from hermes.core.entries import Entry
from hermes.core.ids import IdSource
from hermes.core.transcript import Epoch
from hermes.ports.model import CallBegun, Delta, ModelChunk, Route


@dataclass(frozen=True, slots=True, kw_only=True)
class Carry:
    """What one step hands to the next: whether a message stands before it already."""

    started: bool = False


_CHAT: Final = "/chat/completions"


def chat_url(route: Route) -> str:
    """Where chat completions are asked for; a base address may hold a query, or the path itself."""
    base, question, query = route.base_url.partition("?")
    base = base.rstrip("/")
    return (base if base.endswith(_CHAT) else base + _CHAT) + question + query


def chat_headers(route: Route) -> dict[str, str]:
    """The headers of a streamed request; the key goes along only if there is one."""
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    if route.key:
        headers["Authorization"] = f"Bearer {route.key}"
    return headers


class ReplyReader(Protocol):
    """Assembles one reply from the payloads of a stream, or from one whole message."""

    def feed(self, data: bytes) -> Iterator[Delta | CallBegun]:
        """Take one payload (the data of a server-sent event, or a whole JSON body).

        Raises ModelError for an error payload, BadReply for one that is not the protocol.
        """
        ...

    @property
    def complete(self) -> bool:
        """All of the reply is here, though something like its usage may still follow."""
        ...

    @property
    def ended(self) -> bool:
        """Nothing follows any more."""
        ...

    def finish(self) -> Iterator[ModelChunk]:
        """What was held back, then the whole Reply; raises StreamDropped if it is not whole."""
        ...


class Dialect(Protocol):
    """One wire format."""

    @property
    def name(self) -> str: ...

    def url(self, route: Route) -> str: ...

    def headers(self, route: Route) -> dict[str, str]: ...

    def head(self, epoch: Epoch, route: Route) -> tuple[bytes, Carry]:
        """The body up to the first entry: parameters, tools, system prompt."""
        ...

    def step(self, entry: Entry, carry: Carry) -> tuple[bytes, Carry]:
        """The bytes that `entry` adds."""
        ...

    def tail(self, epoch: Epoch, *, may_call: bool) -> bytes:
        """What closes the body."""
        ...

    def reader(
        self, epoch: Epoch, route: Route, ids: IdSource, taken: Collection[str]
    ) -> ReplyReader:
        """A reader for one reply; `taken` are the call ids that the conversation has already."""
        ...
