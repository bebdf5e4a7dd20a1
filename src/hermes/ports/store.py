"""Where conversations are kept: sessions, their journal, and what was used.

Every method returns after COMMIT, or raises StoreError and has changed nothing.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from hermes.core.calls import Persisted, ToolResult
from hermes.core.entries import AssistantEntry, Entry, ToolBatchEntry, UserEntry
from hermes.core.ids import CallId, Seq, SessionId, TurnId
from hermes.core.inputs import Redirect, Steer, Submit
from hermes.core.people import Origin, Principal
from hermes.core.transcript import Epoch
from hermes.core.usage import Usage

CallPhase = Literal["committed", "started", "settled"]
"""`committed`: saved, not begun. `started`: begun, end unknown. `settled`: its result is saved."""

Queued = Submit | Steer | Redirect


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to write a session. `fence` grows with each owner; an old one is refused."""

    session: SessionId
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One conversation in a list. Times are seconds since the epoch; `entries` counts its path."""

    id: SessionId
    principal: Principal
    source: str
    title: str
    cwd: str
    model: str
    started_at: float
    active_at: float
    entries: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    preview: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """An input that was acknowledged and is not yet part of the conversation."""

    id: int
    input: Queued


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A session as it was left.

    `entries` is the path from the first entry to the head. `calls` are the states of the last
    assistant entry's calls if their batch is not sealed yet, with the results already settled.
    """

    row: SessionRow
    lease: Lease
    epoch: Epoch
    entries: tuple[Persisted[Entry], ...]
    calls: Mapping[CallId, tuple[CallPhase, ToolResult | None]]
    inbox: tuple[InboxItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRecord:
    """One model call for the meter: `task` is `turn` for the main model."""

    model: str
    provider: str
    task: str
    raw: str


class Journal(Protocol):
    """The append-only tree of a session's entries. Appending moves the head; nothing else is
    changed, and nothing is ever deleted except a whole session by a person."""

    async def append_user(
        self, lease: Lease, entry: UserEntry, *, consumes: tuple[int, ...] = ()
    ) -> Persisted[UserEntry]:
        """Append, and take the inbox items `consumes` out in the same transaction."""
        ...

    async def append_assistant(
        self, lease: Lease, entry: AssistantEntry, *, usage: UsageRecord | None
    ) -> Persisted[AssistantEntry]:
        """Append, commit its calls, and book its usage, in one transaction."""
        ...

    async def append_batch(
        self, lease: Lease, entry: ToolBatchEntry, *, consumes: tuple[int, ...] = ()
    ) -> Persisted[ToolBatchEntry]:
        """Append the sealed results and settle every call, in one transaction."""
        ...

    async def book(
        self, lease: Lease, turn: TurnId, at: float, usage: Usage, record: UsageRecord
    ) -> None:
        """Book a model call that made no entry of the conversation."""
        ...

    async def mark_started(
        self, lease: Lease, batch: Persisted[AssistantEntry], call: CallId
    ) -> None: ...

    async def mark_settled(
        self, lease: Lease, batch: Persisted[AssistantEntry], result: ToolResult
    ) -> None: ...

    async def enqueue(self, lease: Lease, item: Queued) -> int:
        """Save an input before it is acknowledged; returns its inbox id."""
        ...

    async def dequeue(self, lease: Lease, items: tuple[int, ...]) -> None:
        """Drop inbox items that a person took back."""
        ...

    async def open_epoch(self, lease: Lease, epoch: Epoch) -> None:
        """Begin a new epoch; the next entries belong to it."""
        ...

    async def move_head(self, lease: Lease, seq: Seq | None) -> None:
        """Make `seq` the entry that the next one follows (branch, undo); None is before all."""
        ...


class SessionStore(Protocol):
    """The conversations of a home."""

    async def create(
        self, id: SessionId, origin: Origin, *, cwd: str, epoch: Epoch, now: float
    ) -> Lease:
        """A new session, owned by this process."""
        ...

    async def claim(self, id: SessionId) -> Lease:
        """Own an existing session. A dead owner is replaced at once; a live one raises
        SessionBusy naming its process."""
        ...

    async def load(self, lease: Lease) -> Loaded: ...

    async def release(self, lease: Lease) -> None: ...

    async def list(
        self, principal: Principal, *, source: str | None = None, limit: int = 20
    ) -> tuple[SessionRow, ...]:
        """Last active first; sessions without a word in them are left out."""
        ...

    async def find(self, principal: Principal, name: str) -> SessionRow:
        """By id, unique id prefix (at least 4 characters) or exact title; raises UserError."""
        ...

    async def rename(self, id: SessionId, title: str) -> None: ...

    async def delete(self, id: SessionId) -> None:
        """Remove the session and all of its entries; raises SessionBusy while it is open."""
        ...

    def read(self, id: SessionId) -> AsyncIterator[Persisted[Entry]]:
        """The path from first entry to head, without owning the session."""
        ...

    async def spent(
        self, principal: Principal, *, session: SessionId | None = None, since: float = 0.0
    ) -> float:
        """Dollars booked by `principal`, in one session or all, since a time."""
        ...
