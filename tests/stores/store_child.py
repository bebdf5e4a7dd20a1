"""A process of its own for the store tests: what it does is its first argument.

write DB SESSION   converse until killed; print a line after each COMMIT
claim DB SESSION   own the session, print "owned", wait to be killed
once  DB SESSION   one user entry and one reply, then leave
fill  FOLDER       write until the disk is full, make room, go on; print what happened
"""

import asyncio
import os
import sys
from pathlib import Path

from hermes.core.calls import Persisted
from hermes.core.clock import SystemClock
from hermes.core.content import Text
from hermes.core.entries import AssistantEntry, Entry, UserEntry
from hermes.core.errors import NoSpace, UserError
from hermes.core.ids import SessionId, TurnId
from hermes.core.people import Origin
from hermes.core.prompt import FrozenPrompt
from hermes.core.transcript import Epoch
from hermes.core.usage import Usage
from hermes.ports.store import Lease, UsageRecord
from hermes.stores.sqlite.store import SqliteStore

CLI = Origin(surface="cli")
EPOCH = Epoch(
    number=1,
    prompt=FrozenPrompt(text="You are Hermes."),
    tools=(),
    model="m",
    opened_at=0.0,
    reason="new",
)
TURN = TurnId("turn_1")


def tell(*words: object) -> None:
    # One write a line, so that a kill cannot leave half of one for the next process to join.
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def say(store: SqliteStore, lease: Lease, text: str) -> Persisted[UserEntry]:
    entry = UserEntry(turn=TURN, at=1.0, content=(Text(text=text),), origin=CLI)
    return await store.append_user(lease, entry)


async def answer(store: SqliteStore, lease: Lease, text: str) -> Persisted[AssistantEntry]:
    entry = AssistantEntry(
        turn=TURN,
        at=1.0,
        content=(Text(text=text),),
        model="m",
        usage=Usage(input=1, output=1, cost_usd=0.5),
        stop="end",
    )
    record = UsageRecord(model="m", provider="p", task="turn", raw="{}")
    return await store.append_assistant(lease, entry, usage=record)


async def own(store: SqliteStore, id: SessionId) -> Lease:
    try:
        return await store.claim(id)
    except UserError:
        return await store.create(id, CLI, cwd="/", epoch=EPOCH, now=1.0)


async def write(store: SqliteStore, id: SessionId) -> None:
    lease = await own(store, id)
    path: tuple[Persisted[Entry], ...] = (await store.load(lease)).entries
    number = len(path)
    if path and isinstance(path[-1].value, UserEntry):
        tell((await answer(store, lease, f"{number}")).seq, id, number)
        number += 1
    while True:
        tell((await say(store, lease, f"{number}")).seq, id, number)
        tell((await answer(store, lease, f"{number + 1}")).seq, id, number + 1)
        number += 2


async def claim(store: SqliteStore, id: SessionId) -> None:
    await own(store, id)
    tell("owned")
    await asyncio.Event().wait()


async def once(store: SqliteStore, id: SessionId) -> None:
    lease = await own(store, id)
    await say(store, lease, "hello")
    await answer(store, lease, "good day")
    await store.aclose()
    tell("done")


async def fill(folder: Path) -> None:
    ballast = folder / "ballast"
    ballast.write_bytes(b"x" * 300_000)
    store = await SqliteStore.open(folder / "hermes.db", clock=SystemClock())
    lease = await store.create(
        SessionId("20260101_000000_aaaaaa"), CLI, cwd="/", epoch=EPOCH, now=1
    )
    saved = 0
    try:
        while True:
            await say(store, lease, "x" * 20_000)
            saved += 1
            await answer(store, lease, "y")
            saved += 1
    except NoSpace as e:
        tell("full:", e)
    tell(len((await store.load(lease)).entries) == saved)
    ballast.unlink()
    last = (await store.load(lease)).entries[-1].value
    await (answer if isinstance(last, UserEntry) else say)(store, lease, "again")
    tell(len((await store.load(lease)).entries) == saved + 1)
    await store.aclose()


async def main() -> None:
    what, path, *rest = sys.argv[1:]
    if what == "fill":
        await fill(Path(path))
        return
    store = await SqliteStore.open(Path(path), clock=SystemClock())
    actions = {"write": write, "claim": claim, "once": once}
    await actions[what](store, SessionId(rest[0]))


if __name__ == "__main__":
    asyncio.run(main())
