"""What sends a request and reads its answer, whichever way it goes."""

from collections.abc import Callable, Mapping
from typing import Literal, Protocol

Stage = Literal[
    "address",  # the URL is none that can be reached
    "proxy",  # the proxy refuses or does not answer
    "connect",  # no connection: no such name, refused, no TLS
    "exchange",  # the connection broke, or what came is not HTTP
]


class HttpFault(Exception):
    """What kept a request from being sent or answered; the cause is in the chain of causes."""

    def __init__(self, stage: Stage, message: str) -> None:
        super().__init__(message)
        self.stage = stage


class HttpAnswer(Protocol):
    """An answer whose body is still to be read. `headers` have lower-case names."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def read(self) -> bytes:
        """The next bytes of the body, decompressed; none at its end. Raises HttpFault."""
        ...

    async def aclose(self) -> None:
        """Let go of the connection: it is kept for the next request if the body was read to its
        end, else closed at once."""
        ...


class HttpTransport(Protocol):
    """Sends requests to one host or through one proxy, over connections that it keeps.

    It follows no redirect, keeps no cookie and has no deadline: the caller's scopes are the only
    ones. A cancelled request leaves no connection open.
    """

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        connected: Callable[[], None] = lambda: None,
    ) -> HttpAnswer:
        """Send a request; the answer, once its headers are here.

        `connected` is called when there is a connection and sending begins. Raises HttpFault.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections; running requests fail."""
        ...
