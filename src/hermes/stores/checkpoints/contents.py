"""Captured bytes, each kept once: small ones in the database, large ones in files by their name."""

import hashlib
import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, final

import apsw

from hermes.core.errors import Corrupt
from hermes.stores.checkpoints.database import Database
from hermes.system.i18n import t

INSIDE: Final = 64 << 10
"""The largest content inside the database. SQLite reads and writes such ones faster than a file
system does."""

_PACKED_FROM: Final = 256
_ORPHAN_SECONDS: Final = 3600.0

_UNUSED: Final = """
    SELECT sha, data IS NULL FROM content AS c
    WHERE NOT EXISTS (SELECT 1 FROM file WHERE file.sha = c.sha)
    AND NOT EXISTS (SELECT 1 FROM known WHERE known.sha = c.sha)
    AND NOT EXISTS (SELECT 1 FROM held WHERE held.sha = c.sha)
"""


@final
class Contents:
    """The contents of one database and the folder `contents` beside it.

    A file comes into place under the database's write lock and together with its row, and goes
    under that lock too and only if it has no row: so a row's file is always there.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._folder = database.folder / "contents"

    def stage(self, sha: bytes, data: bytes) -> Path | None:
        """Write a large content where `put` takes it from; None for one that needs no file."""
        if len(data) <= INSIDE:
            return None
        with self._database.look() as db:
            if self.has(db, sha):
                return None
        return self._write(data)

    def put(self, db: apsw.Connection, sha: bytes, data: bytes, staged: Path | None) -> None:
        """Keep `data`, whose sha256 is `sha`; inside a transaction, which must also refer to it."""
        if self.has(db, sha):
            return
        if len(data) > INSIDE:
            # Pruned by another process since it was seen: then it has to be written here.
            staged = staged or self._write(data)
            path = self._path(sha)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            staged.replace(path)
            self._add(db, sha, len(data), len(data), None)
            return
        packed = zlib.compress(data, 1) if len(data) >= _PACKED_FROM else data
        kept = packed if len(packed) < len(data) else data
        self._add(db, sha, len(data), len(kept), kept)

    @staticmethod
    def discard(staged: Path | None) -> None:
        """Take away what was staged, if it was not used."""
        if staged is not None:
            staged.unlink(missing_ok=True)

    @staticmethod
    def has(db: apsw.Connection, sha: bytes) -> bool:
        return bool(db.execute("SELECT 1 FROM content WHERE sha = ?", (sha,)).get)

    def get(self, sha: bytes) -> bytes:
        """The content named `sha`; raises Corrupt if it is not what it was, StoreError."""
        with self._database.look() as db:
            row = db.execute("SELECT size, data FROM content WHERE sha = ?", (sha,)).fetchone()
        data: bytes | None = None
        with suppress(OSError, zlib.error):
            if row is not None and row[1] is None:
                data = self._path(sha).read_bytes()
            elif row is not None:
                data = row[1] if len(row[1]) == row[0] else zlib.decompress(row[1])
        if data is None or hashlib.sha256(data).digest() != sha:
            raise Corrupt(t("checkpoints.damaged", digest=sha.hex()[:12]))
        return data

    def drop_unused(self, db: apsw.Connection) -> list[bytes]:
        """Delete the rows that nothing refers to; the names of their files, for `drop_files`."""
        unused: list[Any] = db.execute(_UNUSED).fetchall()
        db.executemany("DELETE FROM content WHERE sha = ?", ((sha,) for sha, _ in unused))
        return [sha for sha, outside in unused if outside]

    def drop_files(self, names: list[bytes]) -> None:
        """Remove these files, but for those that somebody has captured again."""
        if not names:
            return
        with self._database.change() as db:
            for sha in names:
                if not self.has(db, sha):
                    self._path(sha).unlink(missing_ok=True)

    def sweep(self, now: float) -> None:
        """Remove what killed processes left: files without a row, and unfinished ones of long
        ago."""
        stray: list[bytes] = []
        files = self._files()
        unfinished = [path for path in files if path.suffix == ".tmp"]
        for path in (*unfinished, *self._database.folder.glob("*.new*")):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < now - _ORPHAN_SECONDS:
                    path.unlink()
        with self._database.look() as db:
            for path in files:
                with suppress(ValueError):
                    sha = bytes.fromhex(path.parent.name + path.name)
                    if not self.has(db, sha):
                        stray.append(sha)
        self.drop_files(stray)

    def disk(self) -> int:
        """The bytes of all files of the store."""
        total = 0
        beside = self._database.folder.glob("checkpoints.db*")
        for path in (*beside, *self._files()):
            with suppress(FileNotFoundError):
                total += path.stat().st_size
        return total

    def _write(self, data: bytes) -> Path:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"{os.urandom(8).hex()}.tmp"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            os.close(fd)
        return path

    def _files(self) -> list[Path]:
        return [p for p in self._folder.glob("**/*") if p.is_file()]

    def _path(self, sha: bytes) -> Path:
        name = sha.hex()
        return self._folder / name[:2] / name[2:]

    @staticmethod
    def _add(db: apsw.Connection, sha: bytes, size: int, stored: int, data: bytes | None) -> None:
        db.execute("INSERT INTO content VALUES (?, ?, ?, ?)", (sha, size, stored, data))
