"""Every store that keeps the journal's contract, and conversations to keep in one."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from hermes.core.calls import Persisted, ToolCall, ToolResult
from hermes.core.clock import ManualClock
from hermes.core.content import Text, Thinking
from hermes.core.entries import AssistantEntry, Entry, Stop, ToolBatchEntry, UserEntry
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.people import Origin
from hermes.core.prompt import FrozenPrompt
from hermes.core.transcript import Epoch, ToolSchema
from hermes.core.usage import Usage
from hermes.ports.store import Journal, Lease, SessionStore, UsageRecord
from hermes.stores.sqlite.store import SqliteStore


class Store(Journal, SessionStore, Protocol):
    async def aclose(self) -> None: ...


Open = Callable[[Path], Awaitable[Store]]


async def sqlite(home: Path) -> Store:
    return await SqliteStore.open(home / "hermes.db", clock=ManualClock())


async def sqlite_full(home: Path) -> Store:
    return await SqliteStore.open(home / "hermes.db", clock=ManualClock(), durability="full")


STORES: dict[str, Open] = {"sqlite": sqlite, "sqlite-full": sqlite_full}

CLI = Origin(surface="cli", person=True)
A, B = SessionId("20260101_000000_aaaaaa"), SessionId("20260101_000000_bbbbbb")
TURN = TurnId("turn_1")
TOOL = ToolSchema(name="read_file", description="Reads.", parameters='{"type":"object"}')
RECORD = UsageRecord(model="m", provider="p", task="turn", raw='{"prompt_tokens":7,"x":[1]}')


def epoch(number: int = 1, text: str = "You are Hermes.", model: str = "p/m") -> Epoch:
    prompt = FrozenPrompt(text=text)
    return Epoch(
        number=number, prompt=prompt, tools=(TOOL,), model=model, opened_at=5.0, reason="new"
    )


def user(text: str, at: float = 10.0, origin: Origin = CLI) -> UserEntry:
    return UserEntry(turn=TURN, at=at, content=(Text(text=text),), origin=origin)


def reply(text: str, *calls: str, at: float = 11.0, cost: float | None = 0.25) -> AssistantEntry:
    stop: Stop = "calls" if calls else "end"
    return AssistantEntry(
        turn=TURN,
        at=at,
        content=(Thinking(text="hm", issuer="p", replay="sig"), Text(text=text)),
        calls=tuple(ToolCall(id=CallId(c), tool="read_file", arguments='{"p":1}') for c in calls),
        model="p/m",
        usage=Usage(input=7, output=3, cached=2, cache_write=1, thinking=1, cost_usd=cost),
        stop=stop,
    )


def batch(*calls: str, steer: str = "") -> ToolBatchEntry:
    return ToolBatchEntry(
        turn=TURN, at=12.0, results=tuple(result(c) for c in calls), steer=steer, notice="n"
    )


def result(call: str) -> ToolResult:
    return ToolResult(call=CallId(call), content=f"content of {call}", outcome="ok")


async def entries(store: Store, id: SessionId) -> list[Entry]:
    return [receipt.value async for receipt in store.read(id)]


async def talk(store: Store, lease: Lease, words: str, at: float = 10.0) -> Persisted[UserEntry]:
    said = await store.append_user(lease, user(words, at))
    await store.append_assistant(lease, reply("yes", at=at), usage=RECORD)
    return said
