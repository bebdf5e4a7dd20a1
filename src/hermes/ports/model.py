"""A model as the loop sees it: a conversation that can be asked for its next reply."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from hermes.core.calls import ToolCall
from hermes.core.content import Part
from hermes.core.events import Channel
from hermes.core.transcript import Epoch, Transcript
from hermes.core.usage import Price, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Which model answers, by what wire, at which address; replaced whole or not at all.

    `name` is `provider/model` and is what entries record. `window` is the context length in
    tokens, or None if unknown. `price` is None if unknown. `demo` marks the built-in demo model.
    `key` never leaves this process except to `base_url`'s host, and never shows in `repr`.
    `temperature` None leaves it to the endpoint.
    """

    name: str
    provider: str
    model: str
    dialect: str
    base_url: str
    key: str
    window: int | None
    max_output: int | None
    price: Price | None
    demo: bool = False
    temperature: float | None = None

    def __repr__(self) -> str:
        return f"Route({self.name!r} at {self.base_url!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """More text of a reply, already split into what may be shown and what may not."""

    text: str
    channel: Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBegun:
    """The reply has begun to call this tool."""

    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A finished reply. `usage_raw` is the provider's own usage object as JSON text, lossless."""

    content: tuple[Part, ...]
    calls: tuple[ToolCall, ...]
    stop: Literal["end", "calls", "length", "refused"]
    usage: Usage
    usage_raw: str


ModelChunk = Delta | CallBegun | Reply
"""A stream is any number of Delta and CallBegun, then exactly one Reply, or a ModelError."""


class Conversation(Protocol):
    """One epoch of one session at one route; keeps the encoded prefix, which only grows."""

    @property
    def route(self) -> Route: ...

    def ask(
        self, transcript: Transcript, *, may_call: bool = True
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelChunk]]:
        """Ask for the reply to `transcript`. Entries before the last call's must be unchanged.

        With `may_call` false the tools stay in the prefix and the model is told not to use them.
        First-byte and idle deadlines are the conversation's own; the whole turn's is the caller's.
        Raises ModelError.
        """
        ...

    def estimate(self, transcript: Transcript) -> Usage:
        """What asking would use at least: input tokens by size, calibrated by past replies."""
        ...


class ModelProvider(Protocol):
    """Opens conversations."""

    def open(self, epoch: Epoch) -> Conversation: ...

    async def aclose(self) -> None: ...


class SideModel(Protocol):
    """A model for one short question beside the conversation, which stays out of it."""

    @property
    def route(self) -> Route: ...

    async def ask(self, system: str, text: str) -> Reply:
        """The whole reply; raises ModelError. The caller books its usage."""
        ...
