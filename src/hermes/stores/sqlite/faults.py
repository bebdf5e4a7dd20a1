"""What SQLite's errors mean to a person."""

from pathlib import Path

import apsw

from hermes.core.errors import Corrupt, NoSpace, StoreError
from hermes.system.i18n import t

BUSY_SECONDS = 30.0
"""How long a change waits for other processes to finish theirs."""

DAMAGED = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)
_UNWRITABLE = (apsw.ReadOnlyError, apsw.PermissionsError, apsw.IOError)


def translate(error: apsw.Error, path: Path) -> StoreError:
    """The StoreError to raise from `error`, which met the database at `path`."""
    # A transaction that an error has ended cannot be rolled back: what ended it is the reason.
    if isinstance(error, apsw.SQLError) and isinstance(error.__context__, apsw.Error):
        error = error.__context__
    if isinstance(error, apsw.FullError):
        return NoSpace(t("store.no_space"), hint=t("store.no_space_hint"))
    if isinstance(error, DAMAGED):
        return Corrupt(t("store.corrupt", path=path, reason=error))
    if isinstance(error, apsw.CantOpenError):
        return StoreError(
            t("store.cannot_open", path=path, reason=error), hint=t("store.cannot_open_hint")
        )
    if isinstance(error, _UNWRITABLE):
        return StoreError(
            t("store.cannot_write", path=path, reason=error),
            hint=t("store.cannot_write_hint", path=path),
        )
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreError(
            t("store.busy", path=path, seconds=BUSY_SECONDS),
            hint=t("store.busy_hint"),
            retry_after=BUSY_SECONDS,
        )
    if isinstance(error, apsw.ConnectionClosedError):
        return StoreError(t("store.closed", path=path))
    return StoreError(t("store.failed", path=path, reason=error))
