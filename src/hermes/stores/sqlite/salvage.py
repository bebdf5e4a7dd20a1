"""A damaged database: no more writing, and a copy beside it before anybody tries anything."""

import shutil
from pathlib import Path

import apsw

from hermes.core.errors import Corrupt
from hermes.system.i18n import t

_SIDES = ("", "-wal")


def condemn(path: Path, error: apsw.Error, stamp: str) -> Corrupt:
    """Keep a copy of the database at `path` and return the Corrupt to raise.

    None of this process's own connections to it may be open: the copy may have to be made by
    reading the file, which drops its locks. A damaged database that was copied already, and did
    not change since, is not copied again.
    """
    message = t("store.corrupt", path=path, reason=error)
    try:
        kept = _kept(path) or _keep(path, path.with_name(f"{path.name}.corrupt-{stamp}"))
    except (OSError, apsw.Error) as e:
        return Corrupt(message, hint=t("store.corrupt_not_kept", path=path, reason=e))
    return Corrupt(message, hint=t("store.corrupt_kept", path=path, copy=kept))


def _kept(path: Path) -> Path | None:
    """A copy that is no older than the database and its log."""
    changed = max(
        side.stat().st_mtime_ns
        for suffix in _SIDES
        if (side := path.with_name(path.name + suffix)).exists()
    )
    copies = (c for c in path.parent.glob(f"{path.name}.corrupt-*") if not c.match("*-wal"))
    return next((c for c in copies if c.stat().st_mtime_ns >= changed), None)


def _keep(path: Path, copy: Path) -> Path:
    """Copy by SQLite, which sees one moment of it; where it cannot read, copy the bare files."""
    copy.touch(mode=0o600, exist_ok=False)
    try:
        _back_up(path, copy)
    except apsw.Error:
        for suffix in _SIDES:
            side = path.with_name(path.name + suffix)
            if side.exists():
                shutil.copyfile(side, copy.with_name(copy.name + suffix))
                copy.with_name(copy.name + suffix).chmod(0o600)
    return copy


def _back_up(path: Path, copy: Path) -> None:
    source = apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)
    try:
        target = apsw.Connection(str(copy))
        try:
            with target.backup("main", source, "main") as backup:
                while not backup.done:
                    backup.step(1000)
        finally:
            target.close()
    finally:
        source.close()
