"""A process that works on a store of checkpoints and is killed at one of its writes.

argv: FOLDER. Each line on stdin is `ACTION N`: a copy of this process does the action and is killed
before its N-th write (a transaction's begin or end, a file or folder made, renamed, removed or
changed in its rights). Answers `killed` or `done`, and what the action had come to.

restore  bring back checkpoint 1
capture  two edits and a command, in turn `killed`
prune    by the limits
clear    all of it
"""

import hashlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import apsw

from hermes.stores.checkpoints.keep import MEBI, Limits
from undo_place import UndoPlace

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
EVENTS = ("os.rename", "os.remove", "os.link", "os.symlink", "os.mkdir", "os.rmdir", "os.chmod")


class Killer:
    """Counts writes, and kills before the one that is asked for."""

    def __init__(self, write: int) -> None:
        self._left = write

    def count(self) -> None:
        self._left -= 1
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in EVENTS or (event == "open" and (arguments[2] or 0) & WRITING):
            self.count()

    def watch(self, db: apsw.Connection) -> None:
        db.set_exec_trace(self.trace)

    def trace(self, cursor: apsw.Cursor, sql: str, bindings: object) -> bool:
        if sql.startswith(("BEGIN", "COMMIT")):
            self.count()
        return True


def tell(word: str) -> None:
    os.write(1, f"{word} ".encode())


async def act(folder: Path, action: str) -> None:
    place = UndoPlace(folder)
    if action == "prune":
        place.limits = Limits(file=MEBI, total=100 * MEBI, snapshots=2)
    async with place.store() as store:
        if action == "restore":
            await store.restore(place.root, 1)
        elif action == "capture":
            changes = {"a.txt": b"second\n", "big": b"2" * 100_000, "new": b"n"}
            await store.before(place.origin("killed"), [place.at(name) for name in changes])
            tell("captured")
            for name, data in changes.items():
                place.put(name, data)
            left = {place.at(n): hashlib.sha256(data).digest() for n, data in changes.items()}
            await store.after(place.origin("killed"), left)
            await place.command(store, "killed", "echo c > c.txt; rm gone; echo by > a.txt")
        elif action == "prune":
            await store.prune(dry_run=False, keep_orphans=False)
        else:
            await store.clear()


def main() -> None:
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        action, write = line.split()
        child = os.fork()
        if not child:
            killer = Killer(int(write))
            sys.addaudithook(killer.audit)
            apsw.connection_hooks.append(killer.watch)
            anyio.run(act, folder, action)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        tell({-signal.SIGKILL: "killed", 0: "done"}.get(code, f"failed-{code}"))
        os.write(1, b"\n")


if __name__ == "__main__":
    main()
