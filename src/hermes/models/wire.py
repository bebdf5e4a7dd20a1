"""What a wire dialect must do: encode a conversation as a left fold, and read a reply stream.

A dialect is pure. `head` and `step` see nothing that follows, so bytes once made never change and
a request begins with all of the request before it, byte for byte, except for the closing tail.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from hermes.core.entries import Entry
from hermes.core.transcript import Epoch
from hermes.ports.model import CallBegun, Delta, Reply, Route


@dataclass(frozen=True, slots=True, kw_only=True)
class Carry:
    """What one step hands to the next; empty for a dialect that needs nothing."""

    started: bool = False


class ReplyReader(Protocol):
    """Assembles one reply from the payloads of a stream."""

    def feed(self, data: bytes) -> Iterator[Delta | CallBegun]:
        """Take the JSON of one server-sent event; raises ModelError for an error payload."""
        ...

    @property
    def ended(self) -> bool:
        """The stream said that it is complete."""
        ...

    def finish(self) -> Reply:
        """The whole reply; raises StreamDropped if it is not whole."""
        ...


class Dialect(Protocol):
    """One wire format."""

    name: str

    def url(self, route: Route) -> str: ...

    def headers(self, route: Route) -> dict[str, str]: ...

    def head(self, epoch: Epoch, route: Route) -> bytes:
        """The body up to the first entry: parameters, tools, system prompt."""
        ...

    def step(self, entry: Entry, carry: Carry) -> tuple[bytes, Carry]:
        """The bytes that `entry` adds."""
        ...

    def tail(self, route: Route, *, may_call: bool) -> bytes:
        """What closes the body."""
        ...

    def reader(self, epoch: Epoch, route: Route) -> ReplyReader: ...
