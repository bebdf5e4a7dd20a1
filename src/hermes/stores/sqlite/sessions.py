"""Sessions as rows: made, listed, found, read whole, deleted."""

import gc
from typing import Any, Final

import apsw

from hermes.core.calls import ToolResult
from hermes.core.entries import AssistantEntry, Entry
from hermes.core.errors import StoreError, UserError
from hermes.core.ids import CallId, Seq, SessionId
from hermes.core.people import Origin, Principal
from hermes.core.prompt import FrozenPrompt
from hermes.core.text import clean
from hermes.core.transcript import Epoch
from hermes.ports.store import CallPhase, InboxItem, Lease, SessionRow
from hermes.stores.sqlite.journal import insert_epoch
from hermes.stores.sqlite.leases import key_of, refuse_if_open
from hermes.system.codec import unpack_entry, unpack_input, unpack_result, unpack_tools
from hermes.system.i18n import t
from hermes.system.locks import ProcessIdentity

SHORTEST_PREFIX: Final = 4
_MOST_NAMED: Final = 5

_ROWS: Final = """
SELECT s.id, s.principal, s.source, s.title, s.cwd, s.model, s.started_at, s.active_at,
       coalesce(e.depth, 0), s.input_tokens, s.output_tokens,
       CASE s.unpriced WHEN 0 THEN s.spent_usd END, s.preview
FROM sessions s LEFT JOIN entries e ON e.seq = s.head
"""
_PATH: Final = "SELECT seq, parent, kind, turn, at, body FROM entries WHERE session = ?"


def _row(values: tuple[object, ...]) -> SessionRow:
    names = SessionRow.__slots__
    return SessionRow(**dict(zip(names, values, strict=True)))  # type: ignore[arg-type]


def create(
    db: apsw.Connection,
    id: SessionId,
    origin: Origin,
    *,
    cwd: str,
    epoch: Epoch,
    now: float,
    me: ProcessIdentity,
) -> Lease:
    """A new session that belongs to this process; raises StoreError if there is one already."""
    if db.execute("SELECT 1 FROM sessions WHERE id = ?", (id,)).get:
        raise StoreError(t("store.session_exists", id=id))
    principal = clean(origin.principal)
    db.execute(
        "INSERT INTO sessions (id, principal, source, cwd, model, epoch, started_at, active_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            id,
            principal,
            clean(origin.surface),
            clean(cwd),
            clean(epoch.model),
            epoch.number,
            now,
            now,
        ),
    )
    key = db.last_insert_rowid()
    insert_epoch(db, key, principal, epoch)
    db.execute(
        "INSERT INTO leases (session, principal, fence, owner) VALUES (?, ?, 1, ?)",
        (key, principal, str(me)),
    )
    return Lease(session=id, fence=1)


def listed(
    db: apsw.Connection, principal: Principal, source: str | None, limit: int
) -> tuple[SessionRow, ...]:
    """The sessions of `principal` that hold a word, or wait to take one, last active first.

    No index serves this: a list is rare, and an index on the time of the last activity would be
    written at every append.
    """
    source = None if source is None else clean(source)
    rows = db.execute(
        _ROWS + "WHERE s.principal = ? AND (? IS NULL OR s.source = ?)"
        " AND (s.head IS NOT NULL OR EXISTS (SELECT 1 FROM entries WHERE session = s.key)"
        " OR EXISTS (SELECT 1 FROM inbox WHERE session = s.key))"
        " ORDER BY s.active_at DESC, s.key DESC LIMIT ?",
        (principal, source, source, limit),
    )
    return tuple(_row(row) for row in rows)


def find(db: apsw.Connection, principal: Principal, name: str) -> SessionRow:
    """The one session meant by `name`: an id, the beginning of one, or a whole title."""
    name = clean(name)
    tries = [("s.id = ?", [name])]
    if len(name) >= SHORTEST_PREFIX:
        tries.append(("s.id >= ? AND s.id < ?", [name, name + chr(0x10FFFF)]))
    if name:
        tries.append(("s.title = ?", [name]))
    for condition, values in tries:
        rows = db.execute(
            f"{_ROWS} WHERE s.principal = ? AND {condition} ORDER BY s.active_at DESC LIMIT ?",
            (principal, *values, _MOST_NAMED),
        ).fetchall()
        if len(rows) == 1:
            return _row(rows[0])
        if rows:
            raise UserError(
                t("store.ambiguous", name=name, ids=", ".join(str(row[0]) for row in rows)),
                hint=t("store.ambiguous_hint"),
            )
    raise UserError(t("store.no_session", name=name), hint=t("store.no_session_hint"))


def row_of(db: apsw.Connection, id: SessionId) -> tuple[int, SessionRow]:
    """The session `id` and the number of its row; raises UserError if there is none."""
    key, _ = key_of(db, id)
    return key, _row(db.execute(_ROWS + "WHERE s.key = ?", (key,)).fetchall()[0])


def rename(db: apsw.Connection, id: SessionId, title: str) -> None:
    """Give the session another title, on one line."""
    key, _ = key_of(db, id)
    title = " ".join(clean(title).split())
    db.execute("UPDATE sessions SET title = ? WHERE key = ?", (title, key))


def delete(db: apsw.Connection, id: SessionId, me: ProcessIdentity) -> None:
    """Remove the session with all that it said and was told; what it cost stays on the meter."""
    key, principal = key_of(db, id)
    refuse_if_open(db, id, key, me)
    db.execute(
        "UPDATE usage SET session = NULL, turn = '' WHERE principal = ? AND session = ?",
        (principal, key),
    )
    db.execute("DELETE FROM sessions WHERE key = ?", (key,))
    db.execute(
        "DELETE FROM texts WHERE principal = ?1 AND digest NOT IN"
        " (SELECT prompt FROM epochs WHERE principal = ?1"
        " UNION ALL SELECT tools FROM epochs WHERE principal = ?1)",
        (principal,),
    )


def key_and_fence(db: apsw.Connection, id: SessionId) -> tuple[int, int]:
    """What one needs to read a session without owning it; raises UserError if there is none."""
    key, _ = key_of(db, id)
    return key, db.execute("SELECT fence FROM leases WHERE session = ?", (key,)).get


def path(db: apsw.Connection, key: int) -> list[tuple[Seq, Entry]]:
    """The entries from the first to the head; raises BadBytes."""
    collecting = gc.isenabled()
    # Tens of thousands of objects that all stay: looking for garbage among them, again and again,
    # was a sixth of the time.
    gc.disable()
    try:
        rows: dict[Seq, tuple[Any, ...]] = {row[0]: row for row in db.execute(_PATH, (key,))}
        seq = db.execute("SELECT head FROM sessions WHERE key = ?", (key,)).get
        entries: list[tuple[Seq, Entry]] = []
        while seq is not None:
            _, parent, kind, turn, at, body = rows[seq]
            entries.append((seq, unpack_entry(kind, turn, at, body)))
            seq = parent
    finally:
        if collecting:
            gc.enable()
    entries.reverse()
    return entries


def epoch_of(db: apsw.Connection, key: int) -> Epoch:
    """The epoch that the session's next entries belong to; raises BadBytes."""
    row: tuple[Any, ...] = db.execute(
        "SELECT e.number, e.model, e.opened_at, e.reason, p.body, q.body"
        " FROM sessions s JOIN epochs e ON e.session = s.key AND e.number = s.epoch"
        " JOIN texts p ON p.principal = e.principal AND p.digest = e.prompt"
        " JOIN texts q ON q.principal = e.principal AND q.digest = e.tools"
        " WHERE s.key = ?",
        (key,),
    ).fetchall()[0]
    number, model, opened_at, reason, prompt, tools = row
    return Epoch(
        number=number,
        prompt=FrozenPrompt(text=clean(prompt.decode("utf-8", "surrogatepass"))),
        tools=unpack_tools(tools),
        model=model,
        opened_at=opened_at,
        reason=reason,
    )


def open_calls(
    db: apsw.Connection, path: list[tuple[Seq, Entry]]
) -> dict[CallId, tuple[CallPhase, ToolResult | None]]:
    """Where each call stands if `path` ends with a reply that made any; raises BadBytes."""
    if not path or not isinstance(path[-1][1], AssistantEntry):
        return {}
    rows = db.execute("SELECT id, state, result FROM calls WHERE entry = ?", (path[-1][0],))
    return {id: (state, unpack_result(body) if body else None) for id, state, body in rows}


def inbox_of(db: apsw.Connection, key: int) -> tuple[InboxItem, ...]:
    """What was acknowledged and not used yet, in the order it came; raises BadBytes."""
    rows = db.execute("SELECT id, body FROM inbox WHERE session = ? ORDER BY id", (key,))
    return tuple(InboxItem(id=id, input=unpack_input(body)) for id, body in rows)


def spent(
    db: apsw.Connection, principal: Principal, session: SessionId | None, since: float
) -> float:
    """Dollars of known price, answered from an index or a running total."""
    if session is None:
        total = db.execute(
            "SELECT total(cost_usd) FROM usage WHERE principal = ? AND at >= ?", (principal, since)
        ).get
        return float(total)
    row = db.execute(
        "SELECT key, spent_usd FROM sessions WHERE id = ? AND principal = ?", (session, principal)
    ).fetchone()
    if row is None:
        return 0.0
    key, total = row
    if since > 0.0:
        total = db.execute(
            "SELECT total(cost_usd) FROM usage WHERE principal = ? AND at >= ? AND session = ?",
            (principal, since, key),
        ).get
    return float(total)
