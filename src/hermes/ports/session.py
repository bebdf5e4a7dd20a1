"""All that a surface ever holds: a session to send inputs to and read events from."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from hermes.core.events import SessionEvent
from hermes.core.ids import Seq, SessionId
from hermes.core.inputs import SessionInput
from hermes.core.people import Origin
from hermes.ports.model import Route


class AgentSession(Protocol):
    """One live conversation."""

    @property
    def id(self) -> SessionId: ...

    @property
    def route(self) -> Route: ...

    async def send(self, item: SessionInput) -> int:
        """Hand over an input; returns its number once it is saved (0 if it carries no words).

        The turn that it becomes names that number. Raises StoreError, and then nothing is saved.
        """
        ...

    def events(
        self, *, after: Seq | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[SessionEvent]]:
        """Follow the session from now on, or first replay the entries after `after`."""
        ...


class SessionHost(Protocol):
    """Opens sessions; leaving the context ends the turn, releases the lease and forgets it."""

    def open(
        self, id: SessionId | None, origin: Origin, *, cwd: str
    ) -> AbstractAsyncContextManager[AgentSession]:
        """A new session, or the one named `id` as it was left.

        Raises UserError (no such session), SessionBusy, StoreError, ConfigError.
        """
        ...
