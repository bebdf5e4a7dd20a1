"""Opening the file: checked before it is touched, then set up the same way every time."""

import random
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import apsw

from hermes.core.errors import StoreError
from hermes.stores.sqlite.faults import BUSY_SECONDS, DAMAGED, translate
from hermes.stores.sqlite.salvage import condemn
from hermes.stores.sqlite.schema import migrate, refuse_foreign
from hermes.system.i18n import t

Durability = Literal["normal", "full"]
"""`normal` survives the death of any process, `full` also a power loss (an fsync a commit)."""

_SYNCHRONOUS = {"normal": "NORMAL", "full": "FULL"}
_PAUSE = 0.001
_LONGEST_PAUSE = 0.05


def connect(
    path: Path, *, durability: Durability, stamp: str
) -> tuple[apsw.Connection, apsw.Connection]:
    """The writing and the reading connection to the database at `path`, made if it is not there.

    `stamp` names the copy that is kept of a damaged one. Blocks for at most BUSY_SECONDS. Raises
    SchemaTooNew, Corrupt, NoSpace, StoreError; the first leaves every byte as it was.
    """
    try:
        _look(path)
        writer = _open_writer(path, durability)
    except DAMAGED as e:
        raise condemn(path, e, stamp) from e
    except apsw.Error as e:
        raise translate(e, path) from e
    try:
        return writer, _open_reader(path)
    except apsw.Error as e:
        writer.close()
        raise translate(e, path) from e


def _uri(path: Path, query: str) -> str:
    return f"file:{quote(str(path))}?{query}"


def _look(path: Path) -> None:
    """Refuse a database that is not ours to write, without changing a byte of it.

    Opening a write-ahead log for reading makes side files where there are none, so it is left
    alone (`immutable`) unless it holds something that the database file does not have yet.
    """
    if not path.exists():
        return
    try:
        logged = path.with_name(path.name + "-wal").stat().st_size > 0
    except FileNotFoundError:
        logged = False
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    # A damaged file shows again, and for sure, once the locks are used.
    with (
        suppress(apsw.Error),
        closing(apsw.Connection(_uri(path, "mode=ro" if logged else "immutable=1"), flags)) as db,
    ):
        refuse_foreign(db, path)


def _open_writer(path: Path, durability: Durability) -> apsw.Connection:
    new = not path.exists()
    db = apsw.Connection(str(path))
    try:
        if new:
            # Before anything is in it; the side files take the same permissions from SQLite.
            path.chmod(0o600)
        _retry(lambda: _set_up(db, path, durability))
    except BaseException:
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        db.close()
        raise
    return db


def _set_up(db: apsw.Connection, path: Path, durability: Durability) -> None:
    db.set_busy_handler(patience())
    refuse_foreign(db, path)
    # It is a property of the file: set once, and only looked at from then on.
    if (mode := db.pragma("journal_mode")) != "wal":
        mode = db.pragma("journal_mode", "wal")
    if mode != "wal":
        raise StoreError(t("store.no_wal", path=path, mode=mode), hint=t("store.no_wal_hint"))
    db.pragma("synchronous", _SYNCHRONOUS[durability])
    migrate(db, path)
    db.pragma("foreign_keys", 1)
    # A large entry goes into the log in one go at COMMIT; spilled page by page on the way, it took
    # twice the time.
    db.pragma("cache_spill", 0)
    # Without it every statement with a join is compiled again for each new parameter (STAT4), which
    # was a quarter of the time of an append.
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def _open_reader(path: Path) -> apsw.Connection:
    db = apsw.Connection(_uri(path, "mode=ro"), apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    db.set_busy_handler(patience())
    return db


def _retry(step: Callable[[], None]) -> None:
    """Run `step` again while it is refused as busy: a change of the journal mode, and a recovery
    that another process runs, do not ask the busy handler."""
    wait = patience()
    attempt = 0
    while True:
        try:
            return step()
        except apsw.BusyError:
            if not wait(attempt):
                raise
            attempt += 1


def patience(thread: Callable[[], int | None] | None = None) -> Callable[[int], bool]:
    """A busy handler: sleeps a random, growing while, and gives up after BUSY_SECONDS.

    The pauses are random so that many short writers do not meet at the same moments again and
    again. With `thread`, only the thread of that number may wait; others are refused at once.
    """
    since = 0.0

    def wait(attempt: int) -> bool:
        nonlocal since
        if thread is not None and threading.get_ident() != thread():
            return False
        now = time.monotonic()
        if attempt == 0:
            since = now
        if now - since > BUSY_SECONDS:
            return False
        longest = min(_LONGEST_PAUSE, _PAUSE * 2 ** min(attempt, 6))
        time.sleep(random.uniform(_PAUSE / 4, longest))
        return True

    return wait
