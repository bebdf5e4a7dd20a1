"""Who may write a session: one owner, one growing number, checked in every change."""

from dataclasses import dataclass
from typing import Final

import apsw

from hermes.core.errors import LeaseLost, SessionBusy, UserError
from hermes.core.ids import Seq, SessionId
from hermes.ports.store import Lease
from hermes.system.i18n import t
from hermes.system.locks import ProcessIdentity, is_alive

_HELD: Final = """
SELECT s.key, s.principal, s.head, s.epoch, s.preview, e.depth
FROM sessions s
JOIN leases l ON l.session = s.key
LEFT JOIN entries e ON e.seq = s.head
WHERE s.id = ? AND l.fence = ? AND l.owner IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Held:
    """A session as its owner finds it inside a change; `depth` is the length of its path."""

    key: int
    principal: str
    head: Seq | None
    epoch: int
    preview: str
    depth: int


def held(db: apsw.Connection, lease: Lease) -> Held:
    """The session of `lease`, if that is still the right to write it; raises LeaseLost."""
    row = db.execute(_HELD, (lease.session, lease.fence)).fetchone()
    if row is None:
        raise LeaseLost(t("store.lease_lost", id=lease.session), hint=t("store.lease_lost_hint"))
    key, principal, head, epoch, preview, depth = row
    return Held(key, principal, head, epoch, preview, depth or 0)


def key_of(db: apsw.Connection, id: SessionId) -> tuple[int, str]:
    """The row number and the principal of session `id`; raises UserError if there is none."""
    row = db.execute("SELECT key, principal FROM sessions WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise UserError(t("store.no_session", name=id), hint=t("store.no_session_hint"))
    key, principal = row
    return key, principal


def refuse_if_open(db: apsw.Connection, id: SessionId, key: int, me: ProcessIdentity) -> None:
    """Raise SessionBusy if a process that is alive owns the session, this one included."""
    text = db.execute("SELECT owner FROM leases WHERE session = ?", (key,)).get
    if text is None:
        return
    owner = ProcessIdentity.parse(text)
    if owner == me or is_alive(owner):
        name = "store.session_busy_here" if owner == me else "store.session_busy"
        raise SessionBusy(t(name, id=id, pid=owner.pid), hint=t("store.session_busy_hint"))


def take(db: apsw.Connection, id: SessionId, me: ProcessIdentity) -> Lease:
    """Own the session from now on; raises SessionBusy, UserError."""
    key, _ = key_of(db, id)
    refuse_if_open(db, id, key, me)
    fence = db.execute(
        "UPDATE leases SET fence = fence + 1, owner = ? WHERE session = ? RETURNING fence",
        (str(me), key),
    ).get
    return Lease(session=id, fence=fence)


def give_back(db: apsw.Connection, lease: Lease) -> None:
    """Own it no more; does nothing if somebody else took it over. The fence stays."""
    db.execute(
        "UPDATE leases SET owner = NULL WHERE fence = ?"
        " AND session = (SELECT key FROM sessions WHERE id = ?)",
        (lease.fence, lease.session),
    )


def give_back_all(db: apsw.Connection, leases: tuple[Lease, ...]) -> None:
    """Own none of `leases` any more."""
    for lease in leases:
        give_back(db, lease)
