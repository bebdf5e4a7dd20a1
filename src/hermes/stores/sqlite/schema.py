"""The database's layout, as numbered steps; `user_version` says how many were taken."""

from pathlib import Path
from typing import Final

import apsw

from hermes.core.errors import SchemaTooNew, StoreError
from hermes.system.i18n import t

APPLICATION_ID: Final = 0x48524D53
"""`HRMS`, in the file's header: whose database this is."""

_FOLDER = Path(__file__).with_name("steps")
STEPS: Final = tuple(sorted(_FOLDER.glob("[0-9]*.sql")))
"""One file a step, named by its number; a step that was released never changes again."""


def refuse_foreign(db: apsw.Connection, path: Path) -> None:
    """Raise SchemaTooNew or StoreError if this file is not ours to write; reads only."""
    # One transaction, so one moment: another process may be making the tables right now.
    with db:
        found = int(db.pragma("user_version"))
        owner = int(db.pragma("application_id"))
        tables = db.execute("SELECT count(*) FROM sqlite_schema").get
    if owner != APPLICATION_ID and (owner or found or tables):
        raise StoreError(t("store.foreign", path=path), hint=t("store.foreign_hint"))
    if found > len(STEPS):
        raise SchemaTooNew(
            t("store.too_new", path=path, found=found, known=len(STEPS)),
            hint=t("store.too_new_hint"),
        )


def migrate(db: apsw.Connection, path: Path) -> None:
    """Take the steps that are missing, each in a transaction of its own.

    Several processes may do this at once: each looks again once it holds the write lock. Raises
    what `refuse_foreign` does, and apsw.Error.
    """
    while int(db.pragma("user_version")) != len(STEPS):
        db.execute("BEGIN IMMEDIATE")
        try:
            refuse_foreign(db, path)
            done = int(db.pragma("user_version"))
            if done < len(STEPS):
                db.execute(STEPS[done].read_text(encoding="utf-8"))
                db.pragma("user_version", done + 1)
            db.execute("COMMIT")
        except BaseException:
            if not db.get_autocommit():
                db.execute("ROLLBACK")
            raise
