"""A turn in a process of its own that kills itself at one write of the journal.

argv: FOLDER BASE_URL WRITE WHEN. WRITE counts from 1; WHEN is `before` or `after` the commit.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio

from hermes.stores.sqlite.store import SqliteStore
from rig import CLI, Rig, say
from tools_for_tests import Probe


class KillingJournal:
    """The real journal, until its `write`-th write."""

    def __init__(self, store: SqliteStore, write: int, when: str) -> None:
        self._store = store
        self._write = write
        self._when = when
        self._count = 0

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._store, name)

        async def call(*args: Any, **named: Any) -> Any:
            self._count += 1
            mine = self._count == self._write
            if mine and self._when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = await inner(*args, **named)
            if mine:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call


def effect(folder: Path) -> Probe:
    """A tool whose every run leaves a line behind."""

    def leave(arguments: dict[str, Any]) -> str:
        with (folder / "effects").open("a", encoding="utf-8") as file:
            file.write(f"{arguments['x']}\n")
        return "left"

    return Probe("effect", effects="world", body=leave)


async def main() -> None:
    folder, base_url, write, when = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
    rig = Rig(folder, tools={"effect": effect(folder), "look": Probe("look")})
    rig.journal = lambda store: KillingJournal(store, write, when)  # type: ignore[return-value]
    async with rig.host(base_url) as host, host.open(None, CLI, cwd=str(folder)) as session:
        await say(session, "go")


if __name__ == "__main__":
    anyio.run(main)
