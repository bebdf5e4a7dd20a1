"""The database of the checkpoints: opened when it is first needed, one change after the other.

Everything here blocks and belongs into a worker thread. Several processes may use one database.
"""

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, final

import apsw

from hermes.core.errors import NoSpace, SchemaTooNew, StoreError
from hermes.stores.sqlite.connect import patience
from hermes.stores.sqlite.faults import DAMAGED, translate
from hermes.stores.sqlite.salvage import condemn
from hermes.system.i18n import t

APPLICATION_ID: Final = 0x48524D43
"""`HRMC`, in the file's header."""

LAYOUT: Final = 2
_FROM_1: Final = "ALTER TABLE file ADD COLUMN inode BLOB NOT NULL DEFAULT x''"
_LAYOUT_FILE: Final = Path(__file__).with_name("layout.sql")


_SIDE_FILES: Final = 64 << 10
"""Bytes that a log and its index take at least."""


def _no_space() -> NoSpace:
    return NoSpace(t("store.no_space"), hint=t("store.no_space_hint"))


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
        """Whether there is anything to open; raises StoreError if that cannot be seen."""
        with self._faults():
            return self._there()

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
            # Without room for its side files SQLite only says that it cannot open or read.
            if isinstance(e, (apsw.CantOpenError, apsw.IOError)) and self._full():
                raise _no_space() from e
            raise translate(e, self.path) from e
        except OSError as e:
            if e.errno in (errno.ENOSPC, errno.EDQUOT):
                raise _no_space() from e
            raise StoreError(
                t("store.cannot_write", path=e.filename or self.path, reason=e.strerror or e),
                hint=t("store.cannot_write_hint", path=self.path),
            ) from e

    def _open(self) -> apsw.Connection:
        if self._refusal is not None:
            raise type(self._refusal)(self._refusal.message, hint=self._refusal.hint)
        if self._db is None:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._there():
                self._make()
            db = apsw.Connection(str(self.path), apsw.SQLITE_OPEN_READWRITE)
            try:
                self._set_up(db)
            except BaseException:
                db.close()
                raise
            self._db = db
        return self._db

    def _full(self) -> bool:
        try:
            disk = os.statvfs(self.folder)
        except OSError:
            return False
        return disk.f_bavail * disk.f_frsize < _SIDE_FILES

    def _there(self) -> bool:
        # Not `exists()`, which takes a folder that may not be entered for an empty one.
        try:
            self.path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def _make(self) -> None:
        """Make the database under another name, whole, so that an empty one is always a damaged
        one. Whoever gives it its name first has made it."""
        fresh = self.folder / f"{os.urandom(8).hex()}.new"
        try:
            fresh.touch(mode=0o600, exist_ok=False)
            db = apsw.Connection(str(fresh))
            try:
                db.pragma("auto_vacuum", 2)
                db.execute("BEGIN")
                db.execute(_LAYOUT_FILE.read_text(encoding="utf-8"))
                db.pragma("application_id", APPLICATION_ID)
                db.pragma("user_version", LAYOUT)
                db.execute("COMMIT")
            finally:
                db.close()
            self._name(fresh)
        finally:
            fresh.unlink(missing_ok=True)

    def _name(self, fresh: Path) -> None:
        try:
            self.path.hardlink_to(fresh)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            fresh.rename(self.path)

    def _set_up(self, db: apsw.Connection) -> None:
        db.set_busy_handler(patience())
        found, owner = int(db.pragma("user_version")), int(db.pragma("application_id"))
        if not found and not owner and not int(db.pragma("schema_version")):
            raise apsw.NotADBError(t("checkpoints.empty_database"))
        if owner != APPLICATION_ID:
            raise StoreError(t("store.foreign", path=self.path), hint=t("store.foreign_hint"))
        if found > LAYOUT:
            raise SchemaTooNew(
                t("store.too_new", path=self.path, found=found, known=LAYOUT),
                hint=t("store.too_new_hint"),
            )
        if db.pragma("journal_mode") != "wal" and db.pragma("journal_mode", "wal") != "wal":
            raise StoreError(
                t("store.no_wal", path=self.path, mode=db.pragma("journal_mode")),
                hint=t("store.no_wal_hint"),
            )
        db.pragma("synchronous", "NORMAL")
        db.pragma("foreign_keys", 1)
        if found < LAYOUT:
            self._renew(db)

    @staticmethod
    def _renew(db: apsw.Connection) -> None:
        db.execute("BEGIN IMMEDIATE")
        if int(db.pragma("user_version")) < LAYOUT:
            db.execute(_FROM_1)
            db.pragma("user_version", LAYOUT)
        db.execute("COMMIT")
