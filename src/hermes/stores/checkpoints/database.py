"""The database of the checkpoints: opened when it is first needed, one change after the other.

Everything here blocks and belongs into a worker thread. Several processes may use one database.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, final

import apsw

from hermes.core.errors import SchemaTooNew, StoreError
from hermes.stores.sqlite.connect import patience
from hermes.stores.sqlite.faults import DAMAGED, translate
from hermes.stores.sqlite.salvage import condemn
from hermes.system.i18n import t

APPLICATION_ID: Final = 0x48524D43
"""`HRMC`, in the file's header."""

LAYOUT: Final = 1
_LAYOUT_FILE: Final = Path(__file__).with_name("layout.sql")


@final
class Database:
    """`checkpoints.db` in `folder`, which is made, open to its owner only. `stamp` names the copy
    of a damaged one."""

    def __init__(self, folder: Path, stamp: str) -> None:
        self.folder = folder
        self.path = folder / "checkpoints.db"
        self._stamp = stamp
        self._using = threading.RLock()
        self._db: apsw.Connection | None = None
        self._refusal: StoreError | None = None

    @property
    def exists(self) -> bool:
        """Whether there is anything to open."""
        return self.path.exists()

    @contextmanager
    def change(self) -> Iterator[apsw.Connection]:
        """A transaction that may write; undone if the block raises. Raises StoreError."""
        with self._using, self._faults():
            db = self._open()
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if not db.get_autocommit():
                    db.execute("ROLLBACK")
                raise

    @contextmanager
    def look(self) -> Iterator[apsw.Connection]:
        """A transaction that sees one moment. Raises StoreError."""
        with self._using, self._faults():
            db = self._open()
            db.execute("BEGIN")
            try:
                yield db
            finally:
                if not db.get_autocommit():
                    db.execute("ROLLBACK")

    def shrink(self) -> None:
        """Give the space of what was deleted back to the disk, as far as nobody is reading."""
        with self._using, self._faults():
            db = self._open()
            db.execute("PRAGMA incremental_vacuum").fetchall()
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def close(self) -> None:
        with self._using:
            if self._db is not None:
                self._db.close()
            self._db = None
            self._refusal = StoreError(t("store.closed", path=self.path))

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except DAMAGED as e:
            if self._db is not None:
                self._db.close()
                self._db = None
            self._refusal = condemn(self.path, e, self._stamp)
            raise self._refusal from e
        except apsw.Error as e:
            raise translate(e, self.path) from e
        except OSError as e:
            raise StoreError(
                t("store.cannot_write", path=e.filename or self.path, reason=e.strerror or e),
                hint=t("store.cannot_write_hint", path=self.path),
            ) from e

    def _open(self) -> apsw.Connection:
        if self._refusal is not None:
            raise type(self._refusal)(self._refusal.message, hint=self._refusal.hint)
        if self._db is None:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = not self.path.exists()
            db = apsw.Connection(str(self.path))
            try:
                if new:
                    self.path.chmod(0o600)
                self._set_up(db)
            except BaseException:
                db.close()
                raise
            self._db = db
        return self._db

    def _set_up(self, db: apsw.Connection) -> None:
        db.set_busy_handler(patience())
        if int(db.pragma("user_version")) != LAYOUT:
            # Only before the first table, and outside a transaction.
            db.pragma("auto_vacuum", 2)
        if db.pragma("journal_mode") != "wal" and db.pragma("journal_mode", "wal") != "wal":
            raise StoreError(
                t("store.no_wal", path=self.path, mode=db.pragma("journal_mode")),
                hint=t("store.no_wal_hint"),
            )
        db.pragma("synchronous", "NORMAL")
        db.pragma("foreign_keys", 1)
        if int(db.pragma("user_version")) != LAYOUT:
            self._make(db)

    def _make(self, db: apsw.Connection) -> None:
        db.execute("BEGIN IMMEDIATE")
        try:
            found, owner = int(db.pragma("user_version")), int(db.pragma("application_id"))
            if owner not in (0, APPLICATION_ID) or (found and owner != APPLICATION_ID):
                raise StoreError(t("store.foreign", path=self.path), hint=t("store.foreign_hint"))  # noqa: TRY301
            if found > LAYOUT:
                raise SchemaTooNew(  # noqa: TRY301
                    t("store.too_new", path=self.path, found=found, known=LAYOUT),
                    hint=t("store.too_new_hint"),
                )
            if not found:
                db.execute(_LAYOUT_FILE.read_text(encoding="utf-8"))
                db.pragma("application_id", APPLICATION_ID)
                db.pragma("user_version", LAYOUT)
            db.execute("COMMIT")
        except BaseException:
            if not db.get_autocommit():
                db.execute("ROLLBACK")
            raise
