"""The changes of a journal, each made inside a transaction of the writer's.

A change first asks for the session by its lease, so that an old owner changes nothing, and raises
Bug for what would break the order of entries: such a request can only come from a fault of ours.
"""

import hashlib
from typing import Final

import apsw

from hermes.core.calls import ToolCall
from hermes.core.entries import AssistantEntry, Entry, UserEntry, misplaced, said
from hermes.core.errors import Bug, StoreError
from hermes.core.ids import CallId, Seq, TurnId
from hermes.core.people import HARNESS
from hermes.core.text import clean
from hermes.core.transcript import Epoch
from hermes.core.usage import Usage
from hermes.ports.store import Lease, UsageRecord
from hermes.stores.sqlite.leases import Held, held
from hermes.system.codec import entry_kind, pack_tools, unpack_entry
from hermes.system.i18n import t

PREVIEW: Final = 60
"""Characters of a session's first words that a list shows."""


class Heads:
    """The newest entry of each session that is open here, so that it need not be decoded to see
    what may follow it. Entries never change, so it cannot be wrong, only absent."""

    def __init__(self) -> None:
        self._by_session: dict[str, tuple[Seq, Entry]] = {}

    def keep(self, lease: Lease, seq: Seq, entry: Entry) -> None:
        self._by_session[lease.session] = (seq, entry)

    def drop(self, lease: Lease) -> None:
        self._by_session.pop(lease.session, None)

    def entry(self, db: apsw.Connection, lease: Lease, seq: Seq | None) -> Entry | None:
        """The entry `seq` of the session, from memory or from the database."""
        if seq is None:
            return None
        kept = self._by_session.get(lease.session)
        return kept[1] if kept is not None and kept[0] == seq else read_entry(db, seq)


def read_entry(db: apsw.Connection, seq: Seq) -> Entry:
    """The entry `seq`, which exists; raises BadBytes."""
    row = db.execute("SELECT kind, turn, at, body FROM entries WHERE seq = ?", (seq,)).fetchone()
    if row is None:
        raise Bug(f"entry {seq} is named and does not exist")
    kind, turn, at, body = row
    return unpack_entry(kind, turn, at, body)


def append(
    db: apsw.Connection, heads: Heads, lease: Lease, entry: Entry, body: bytes
) -> tuple[Held, Seq]:
    """Add `entry`, whose stored form is `body`, after the head; `follow` then makes it the head."""
    session = held(db, lease)
    if why := misplaced(heads.entry(db, lease, session.head), entry):
        raise Bug(why)
    db.execute(
        "INSERT INTO entries (session, principal, parent, depth, kind, turn, at, epoch, body)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            session.key,
            session.principal,
            session.head,
            session.depth + 1,
            entry_kind(entry),
            clean(entry.turn),
            entry.at,
            session.epoch,
            body,
        ),
    )
    return session, Seq(db.last_insert_rowid())


def follow(db: apsw.Connection, session: Held, seq: Seq, entry: Entry) -> None:
    """Make the new `entry` the head, and a person's first words the preview."""
    db.execute(
        "UPDATE sessions SET head = ?, active_at = ? WHERE key = ?", (seq, entry.at, session.key)
    )
    if not isinstance(entry, UserEntry) or entry.origin == HARNESS:
        return
    if session.head is None or not session.preview:
        preview = " ".join(said(entry)[: PREVIEW * 4].split())[:PREVIEW]
        db.execute("UPDATE sessions SET preview = ? WHERE key = ?", (preview, session.key))


def commit_calls(db: apsw.Connection, session: Held, seq: Seq, calls: tuple[ToolCall, ...]) -> None:
    """Note each call of the entry `seq` as saved and not begun."""
    if len({call.id for call in calls}) != len(calls):
        raise Bug(f"two calls of one reply have the same id: {[call.id for call in calls]}")
    for call in calls:
        db.execute(
            "INSERT INTO calls (entry, id, principal, state) VALUES (?, ?, ?, 'committed')",
            (seq, call.id, session.principal),
        )


def book(
    db: apsw.Connection,
    session: Held,
    turn: TurnId,
    at: float,
    used: Usage,
    record: UsageRecord,
) -> None:
    """Add what a model call used to the session's totals and to the meter."""
    db.execute(
        "INSERT INTO usage (principal, session, turn, at, task, provider, model,"
        " input, output, cached, cache_write, thinking, cost_usd, raw)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            session.principal,
            session.key,
            clean(turn),
            at,
            record.task,
            clean(record.provider),
            clean(record.model),
            used.input,
            used.output,
            used.cached,
            used.cache_write,
            used.thinking,
            used.cost_usd,
            clean(record.raw),
        ),
    )
    db.execute(
        "UPDATE sessions SET input_tokens = input_tokens + ?, output_tokens = output_tokens + ?,"
        " spent_usd = spent_usd + ?, unpriced = unpriced + ? WHERE key = ?",
        (used.input, used.output, used.cost_usd or 0.0, used.cost_usd is None, session.key),
    )


def seal(db: apsw.Connection, session: Held) -> None:
    """Settle every call of the reply that the head answers. The results live in the batch now."""
    db.execute("UPDATE calls SET state = 'settled', result = NULL WHERE entry = ?", (session.head,))


def consume(db: apsw.Connection, session: Held, items: tuple[int, ...]) -> None:
    """Take `items` out of the inbox; raises Bug if one is not there, for it was used before."""
    for item in items:
        db.execute("DELETE FROM inbox WHERE id = ? AND session = ?", (item, session.key))
        if db.changes() != 1:
            raise Bug(f"inbox item {item} was consumed before, or never was")


def mark(
    db: apsw.Connection,
    lease: Lease,
    batch: Seq,
    call: CallId,
    result: bytes | None,
) -> None:
    """Note that `call` has begun, or, with the stored form of its result, that it has ended.

    Neither happens twice.
    """
    if held(db, lease).head != batch:
        raise Bug(f"the reply {batch} is not the last entry of its session")
    if result is None:
        db.execute(
            "UPDATE calls SET state = 'started' WHERE entry = ? AND id = ? AND state = 'committed'",
            (batch, call),
        )
    else:
        db.execute(
            "UPDATE calls SET state = 'settled', result = ?"
            " WHERE entry = ? AND id = ? AND state <> 'settled'",
            (result, batch, call),
        )
    if db.changes() != 1:
        raise Bug(f"call {call!r} of entry {batch} began or ended before, or never was")


def enqueue(db: apsw.Connection, lease: Lease, body: bytes) -> int:
    """Put an input into the inbox; returns its number."""
    session = held(db, lease)
    db.execute(
        "INSERT INTO inbox (session, principal, body) VALUES (?, ?, ?)",
        (session.key, session.principal, body),
    )
    return db.last_insert_rowid()


def dequeue(db: apsw.Connection, lease: Lease, items: tuple[int, ...]) -> None:
    """Drop `items` from the inbox; those that are gone already do not matter."""
    session = held(db, lease)
    for item in items:
        db.execute("DELETE FROM inbox WHERE id = ? AND session = ?", (item, session.key))


def open_epoch(db: apsw.Connection, lease: Lease, epoch: Epoch) -> None:
    """Begin `epoch`; the entries that follow belong to it."""
    session = held(db, lease)
    if epoch.number <= session.epoch:
        raise Bug(f"epoch {epoch.number} does not follow epoch {session.epoch}")
    insert_epoch(db, session.key, session.principal, epoch)
    db.execute(
        "UPDATE sessions SET epoch = ?, model = ? WHERE key = ?",
        (epoch.number, clean(epoch.model), session.key),
    )


def insert_epoch(db: apsw.Connection, key: int, principal: str, epoch: Epoch) -> None:
    """Store `epoch`, its prompt and its tool list, the latter two once however often used."""
    prompt, tools = clean(epoch.prompt.text).encode(), pack_tools(epoch.tools)
    digests = []
    for body in (prompt, tools):
        digests.append(hashlib.sha256(body).hexdigest())
        db.execute(
            "INSERT INTO texts (principal, digest, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (principal, digests[-1], body),
        )
    db.execute(
        "INSERT INTO epochs (session, number, principal, prompt, tools, model, opened_at, reason)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (key, epoch.number, principal, *digests, clean(epoch.model), epoch.opened_at, epoch.reason),
    )


def move_head(db: apsw.Connection, heads: Heads, lease: Lease, seq: Seq | None) -> None:
    """Make `seq` the head. A reply and the results of its calls are never parted."""
    session = held(db, lease)
    if seq == session.head:
        return
    if _waits(heads.entry(db, lease, session.head)):
        raise StoreError(t("store.calls_open"))
    if seq is not None:
        owner = db.execute("SELECT session FROM entries WHERE seq = ?", (seq,)).get
        if owner != session.key:
            raise StoreError(t("store.no_entry", id=lease.session, seq=seq))
        if _waits(read_entry(db, seq)):
            raise StoreError(t("store.inside_calls", seq=seq))
    db.execute("UPDATE sessions SET head = ? WHERE key = ?", (seq, session.key))


def _waits(entry: Entry | None) -> bool:
    return isinstance(entry, AssistantEntry) and bool(entry.calls)
