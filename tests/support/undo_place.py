"""A folder in which an agent works, and the store of what its files held before."""

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import apsw

from hermes.core.clock import Clock, SystemClock
from hermes.core.ids import RandomIds, SessionId, TurnId
from hermes.ports.checkpoint import ChangeOrigin
from hermes.ports.files import Change, Remove, Write
from hermes.stores.checkpoints.keep import MEBI, Limits
from hermes.stores.checkpoints.store import CheckpointStore, Keep
from hermes.terminals.local_files import LocalFiles
from hermes.terminals.ripgrep import Ripgrep

ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}

Picture = dict[bytes, tuple[Any, ...]]
"""What stands at each name below a folder: kind, content or target, permissions."""


class UndoPlace:
    """`work` is a project; `store` opens one each time, as each run of Hermes does."""

    def __init__(self, folder: Path, *, clock: Clock | None = None) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.work = folder / "work"
        self.clock = clock or SystemClock()
        self.limits = Limits(file=10 * MEBI, total=500 * MEBI, snapshots=50)
        self.age = 7 * 86_400.0
        self.listed = 1000

    def make(self) -> "UndoPlace":
        self.home.mkdir()
        self.work.mkdir()
        self.put("pyproject.toml", b"")
        return self

    @property
    def root(self) -> str:
        return os.path.realpath(self.work)

    @asynccontextmanager
    async def store(self) -> AsyncIterator[CheckpointStore]:
        clock = self.clock
        store = CheckpointStore(
            self.home / "checkpoints",
            home=self.home,
            user=None,
            files=self.files(),
            keep=Keep(limits=self.limits, age=self.age, listed=self.listed),
            private=(str(self.home),),
            env=ENV,
            clock=clock,
            ids=RandomIds(os.urandom),
        )
        try:
            yield store
        finally:
            await store.aclose()

    def at(self, name: str) -> str:
        return str(self.work / name)

    def put(self, name: str, data: bytes) -> None:
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def get(self, name: str) -> bytes | None:
        path = self.work / name
        return path.read_bytes() if path.exists() else None

    def origin(self, turn: object, tool: str = "write_file", cwd: str = "") -> ChangeOrigin:
        return ChangeOrigin(
            session=SessionId("s"), turn=TurnId(str(turn)), tool=tool, cwd=cwd or str(self.work)
        )

    async def edit(
        self, store: CheckpointStore, turn: object, changes: Mapping[str, bytes | None]
    ) -> None:
        """As a file tool does it; None removes."""
        paths = [self.at(name) for name in changes]
        await store.before(self.origin(turn), paths)
        await self.files().commit([self._change(name, data) for name, data in changes.items()])
        left = {
            self.at(name): None if data is None else hashlib.sha256(data).digest()
            for name, data in changes.items()
        }
        await store.after(self.origin(turn), left)

    def files(self) -> LocalFiles:
        return LocalFiles(
            home=None, records=self.home / "commits", clock=self.clock, ripgrep=Ripgrep(path="")
        )

    def _change(self, name: str, data: bytes | None) -> Change:
        old = self.get(name)
        expect = None if old is None else hashlib.sha256(old).digest()
        if data is None:
            return Remove(path=self.at(name), expect=expect)
        return Write(path=self.at(name), data=data, expect=expect)

    async def command(self, store: CheckpointStore, turn: object, command: str) -> None:
        """As the terminal tool does it."""
        watch = await store.command(self.origin(turn, "terminal"), command)
        subprocess.run(["/bin/sh", "-c", command], cwd=self.work, env=ENV, check=True)
        if watch is not None:
            await watch.ended()

    async def git(self, *lines: str) -> None:
        """Run git in `work`."""
        for line in lines:
            await anyio.run_process(["git", *line.split()], cwd=self.work, env=ENV)

    def picture(self) -> Picture:
        """Everything below `work`."""
        seen: Picture = {}
        top = os.fsencode(self.work)
        for folder, folders, names in os.walk(top):
            for name in [*folders, *names]:
                path = os.path.join(folder, name)
                found = os.lstat(path)
                key = os.path.relpath(path, top)
                if stat.S_ISLNK(found.st_mode):
                    seen[key] = ("link", os.readlink(path))
                elif stat.S_ISDIR(found.st_mode):
                    seen[key] = ("folder",)
                else:
                    with open(path, "rb") as file:
                        seen[key] = ("file", file.read(), stat.S_IMODE(found.st_mode))
        return seen

    def check_store(self) -> None:
        """What is true of the store at any moment, whoever was killed."""
        folder = self.home / "checkpoints"
        if not (folder / "checkpoints.db").exists():
            return
        with closing(apsw.Connection(str(folder / "checkpoints.db"))) as db:
            assert db.pragma("integrity_check") == "ok"
            assert db.execute("PRAGMA foreign_key_check").fetchall() == []
            counted = db.execute("SELECT coalesce(sum(stored), 0) FROM content").get
            assert db.execute("SELECT bytes FROM total").get == counted
            for table in ("file", "known", "held"):
                missing = db.execute(
                    f"SELECT sha FROM {table} WHERE sha IS NOT NULL"
                    " AND sha NOT IN (SELECT sha FROM content)"
                ).fetchall()
                assert missing == [], table
            for sha, size in db.execute("SELECT sha, size FROM content WHERE data IS NULL"):
                data = (folder / "contents" / sha.hex()[:2] / sha.hex()[2:]).read_bytes()
                assert (hashlib.sha256(data).digest(), len(data)) == (sha, size)

    def stray(self) -> list[str]:
        """Files of the store that nothing refers to."""
        folder = self.home / "checkpoints"
        with closing(apsw.Connection(str(folder / "checkpoints.db"))) as db:
            kept = {sha.hex() for (sha,) in db.execute("SELECT sha FROM content")}
        found = [p for p in folder.glob("contents/**/*") if p.is_file()]
        return [str(p) for p in found if p.parent.name + p.name not in kept]

    def save(self, to: Path) -> None:
        """Keep all of it, to be put back by `load`."""
        for name in ("home", "work"):
            shutil.copytree(self.folder / name, to / name, symlinks=True)

    def load(self, source: Path) -> None:
        for name in ("home", "work"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            shutil.copytree(source / name, self.folder / name, symlinks=True)
