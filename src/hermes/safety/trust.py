"""Workspace trust: what a folder brings along is inert until a person trusts that folder once.

A decision is bound to the folder's real path, device and inode: another folder that takes its place
is not trusted, nor is what a trusted one is moved to. What is inside a trusted folder is trusted
with it; trust never goes upwards.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, final

from hermes.core.clock import Clock
from hermes.core.errors import ConfigError, UserError
from hermes.ports.trust import Project, TrustedFolder
from hermes.system.files import write_atomic
from hermes.system.i18n import t
from hermes.system.locks import FileLock
from hermes.system.paths import Home

THINGS: Final = (".hermes/config.yaml", ".hermes/skills", ".hermes/plugins", ".agents/skills")
"""What a folder can bring, relative to it."""

LOCK_SECONDS: Final = 5.0

Rows = list[dict[str, Any]]


@final
class Trust:
    """The decisions of one home; see `ports.trust.FolderTrust`."""

    def __init__(self, home: Home, clock: Clock) -> None:
        self._home = home
        self._file = home.trusted_folders
        self._clock = clock

    def trusted(self, path: Path) -> bool:
        row = self._nearest(Path(os.path.realpath(path)), self._rows())
        return row is not None and row["trusted"]

    def project(self, folder: Path) -> Project | None:
        real = Path(os.path.realpath(folder))
        for root in (real, *real.parents):
            if self._too_wide(root):
                return None
            if things := [name for name in THINGS if self._brings(root / name)]:
                row = self._nearest(root, self._rows())
                if row is None:
                    return Project(root=root, things=things, standing="unknown")
                return Project(
                    root=root,
                    things=things,
                    standing="trusted" if row["trusted"] else "refused",
                )
        return None

    def decide(self, path: Path, *, trusted: bool) -> Path:
        real = Path(os.path.realpath(path))
        name = self._home.display(real)
        try:
            stat = real.stat()
        except OSError as e:
            raise UserError(t("trust.no_folder", path=name, reason=e.strerror)) from e
        if not real.is_dir():
            raise UserError(t("trust.no_folder", path=name, reason=t("trust.not_a_folder")))
        if trusted and self._too_wide(real):
            raise UserError(t("trust.too_wide", path=name), hint=t("trust.too_wide_hint"))
        row = {
            "path": str(real),
            "device": stat.st_dev,
            "inode": stat.st_ino,
            "trusted": trusted,
            "decided_at": datetime.fromtimestamp(self._clock.now(), UTC).isoformat(),
        }
        self._change(lambda rows: [*_without(rows, real), row])
        return real

    def forget(self, path: Path) -> bool:
        # A folder that is gone can still be forgotten by the name it had.
        names = {os.path.realpath(path), str(path)}
        before = self._rows()
        if not any(row["path"] in names for row in before):
            return False
        self._change(lambda rows: [row for row in rows if row["path"] not in names])
        return True

    def listed(self) -> tuple[TrustedFolder, ...]:
        return tuple(
            TrustedFolder(
                path=row["path"], trusted=row["trusted"], at=row["decided_at"], same=_same(row)
            )
            for row in sorted(self._rows(), key=lambda row: str(row["path"]))
        )

    def _nearest(self, real: Path, rows: Rows) -> dict[str, Any] | None:
        """The decision that counts for `real`: that of the nearest folder which has one."""
        by_path = {row["path"]: row for row in rows}
        for folder in (real, *real.parents) if by_path else ():
            row = by_path.get(str(folder))
            if row is not None and _same(row):
                return row
        return None

    def _too_wide(self, folder: Path) -> bool:
        """Whether `folder` holds more than a project: the root, a person's home, or ours."""
        homes = [os.path.realpath(p) for p in (self._home.user, self._home.root) if p is not None]
        return folder == Path(folder.anchor) or any(
            Path(home).is_relative_to(folder) for home in homes
        )

    def _brings(self, thing: Path) -> bool:
        """Whether `thing` is there, and is not part of our own home."""
        return thing.exists() and not thing.resolve().is_relative_to(self._home.root.resolve())

    def _rows(self) -> Rows:
        try:
            data = self._file.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as e:
            raise self._broken(e.strerror or str(e)) from e
        try:
            rows = json.loads(data)["folders"]
            checked = [row for row in rows if _whole(row)]
        except (ValueError, KeyError, TypeError, RecursionError) as e:
            raise self._broken(t("trust.not_ours")) from e
        if len(checked) != len(rows):
            raise self._broken(t("trust.not_ours"))
        return checked

    def _change(self, change: Callable[[Rows], Rows]) -> None:
        self._home.prepare()
        with FileLock(self._home.locks / "trust").hold(LOCK_SECONDS):
            # In ASCII, because a folder's name need not be text.
            text = json.dumps({"folders": change(self._rows())}, indent=2)
            write_atomic(self._file, f"{text}\n".encode(), mode=0o600)

    def _broken(self, reason: str) -> ConfigError:
        name = self._home.display(self._file)
        return ConfigError(t("trust.broken", path=name, reason=reason), hint=t("trust.broken_hint"))


def _whole(row: dict[str, Any]) -> bool:
    kinds = {"path": str, "device": int, "inode": int, "trusted": bool, "decided_at": str}
    return all(isinstance(row[name], kind) for name, kind in kinds.items())


def _same(row: dict[str, Any]) -> bool:
    try:
        stat = Path(row["path"]).lstat()
    except OSError:
        return False
    return (stat.st_dev, stat.st_ino) == (row["device"], row["inode"])


def _without(rows: Iterable[dict[str, Any]], path: Path) -> Iterator[dict[str, Any]]:
    return (row for row in rows if row["path"] != str(path))
