"""A session of any length, written through the real store."""

from pathlib import Path

import anyio

from hermes.core.calls import ToolCall, ToolResult
from hermes.core.clock import SystemClock
from hermes.core.content import Text
from hermes.core.entries import AssistantEntry, ToolBatchEntry, UserEntry
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.people import Origin
from hermes.core.prompt import freeze
from hermes.core.transcript import Epoch
from hermes.core.usage import Usage
from hermes.stores.sqlite.store import SqliteStore

ID = SessionId("20260101_000000_aaaaaa")
ORIGIN = Origin(surface="cli")


async def _make(database: Path, entries: int) -> None:
    epoch = Epoch(
        number=1,
        prompt=freeze(()),
        tools=(),
        model="custom/m",
        opened_at=0.0,
        reason="new",
    )
    store = await SqliteStore.open(database, clock=SystemClock())
    lease = await store.create(ID, ORIGIN, cwd="/", epoch=epoch, now=0.0)
    for number in range(entries // 4):
        turn = TurnId(f"turn_{number}")
        text = (Text(text=f"entry {number} " + "some words of a conversation " * 8),)
        call = ToolCall(id=CallId(f"call_{number}"), tool="read_file", arguments='{"path":"a"}')
        answer = {"turn": turn, "at": 0.0, "content": text, "model": "custom/m", "usage": Usage()}
        await store.append_user(lease, UserEntry(turn=turn, at=0.0, content=text, origin=ORIGIN))
        asking = AssistantEntry(calls=(call,), stop="calls", **answer)
        await store.append_assistant(lease, asking, usage=None)
        result = ToolResult(call=call.id, content="x" * 300, outcome="ok")
        batch = ToolBatchEntry(turn=turn, at=0.0, results=(result,))
        await store.append_batch(lease, batch)
        await store.append_assistant(lease, AssistantEntry(stop="end", **answer), usage=None)
    await store.release(lease)
    await store.aclose()


def make(database: Path, entries: int) -> SessionId:
    """Write a session of `entries` entries; returns its id."""
    anyio.run(_make, database, entries)
    return ID
