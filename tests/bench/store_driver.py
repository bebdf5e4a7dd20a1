"""Session-store bench: HOME CORPUS QUERIES BUDGET_S; prints one JSON metric a line.

CORPUS has a line {"s": session, "role": user|assistant|tool, "content": text} for each message.
Writes them through the journal's public door, as a turn would, until BUDGET_S seconds are over.
QUERIES is for the search that we do not have yet, and is not read. The home must be a throw-away.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from hermes.core.calls import ToolCall, ToolResult
from hermes.core.clock import SystemClock
from hermes.core.content import Text
from hermes.core.entries import AssistantEntry, ToolBatchEntry, UserEntry
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.people import OWNER, Origin
from hermes.core.prompt import FrozenPrompt
from hermes.core.transcript import Epoch
from hermes.core.usage import Usage
from hermes.ports.store import Lease, UsageRecord
from hermes.stores.sqlite.store import SqliteStore

ORIGIN = Origin(surface="cli")
EPOCH = Epoch(
    number=1,
    prompt=FrozenPrompt(text="You are Hermes. " * 500),
    tools=(),
    model="bench/model",
    opened_at=0.0,
    reason="new",
)
RECORD = UsageRecord(model="bench/model", provider="bench", task="turn", raw='{"prompt_tokens":10}')
CALL = ToolCall(id=CallId("call_1"), tool="terminal", arguments='{"command":"ls"}')


def say(metric: str, value: float | None, unit: str, **more: object) -> None:
    print(json.dumps({"metric": metric, "value": value, "unit": unit, **more}), flush=True)


def spread(times: list[float]) -> dict[str, float]:
    times = sorted(times)
    return {
        "p95": round(times[min(len(times) - 1, int(len(times) * 0.95))], 3),
        "mean": round(sum(times) / len(times), 4),
        "max": round(times[-1], 1),
    }


def median(times: list[float]) -> float:
    return round(sorted(times)[len(times) // 2], 3)


class Writer:
    """Turns messages of any order of roles into entries in an order that a journal takes."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.leases: dict[str, Lease] = {}
        self.last: dict[str, str] = {}
        self.times: list[float] = []

    async def write(self, session: str, role: str, content: str) -> None:
        if session not in self.leases:
            self.leases[session] = await self.store.create(
                SessionId(session), ORIGIN, cwd="/", epoch=EPOCH, now=time.time()
            )
        last = self.last.get(session, "end")
        if last == "calls":
            role = "tool"
        elif last in ("user", "tool"):
            role = "assistant"
        else:
            role = "user"
        lease, now, turn = self.leases[session], time.time(), TurnId("turn_0123456789ab")
        text = (Text(text=content),)
        started = time.perf_counter()
        if role == "user":
            await self.store.append_user(
                lease, UserEntry(turn=turn, at=now, content=text, origin=ORIGIN)
            )
        elif role == "tool":
            results = (ToolResult(call=CALL.id, content=content, outcome="ok"),)
            await self.store.append_batch(lease, ToolBatchEntry(turn=turn, at=now, results=results))
        else:
            calls = (CALL,) if last == "user" else ()
            entry = AssistantEntry(
                turn=turn,
                at=now,
                content=text,
                calls=calls,
                model="bench/model",
                usage=Usage(input=100, output=20, cost_usd=0.001),
                stop="calls" if calls else "end",
            )
            await self.store.append_assistant(lease, entry, usage=RECORD)
            role = "calls" if calls else "end"
        self.times.append((time.perf_counter() - started) * 1e3)
        self.last[session] = role


async def main(home: Path, corpus: Path, budget: float) -> None:
    path = home / "hermes.db"
    store = await SqliteStore.open(path, clock=SystemClock())
    writer = Writer(store)
    begun = time.perf_counter()
    with corpus.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            await writer.write(row["s"], row["role"], row["content"])
            if time.perf_counter() - begun > budget:
                break
    count, took = len(writer.times), time.perf_counter() - begun
    say("insert.one", median(writer.times), "ms", **spread(writer.times))
    say("insert.count", count, "", seconds=round(took, 1))
    size = sum(p.stat().st_size for p in home.glob("hermes.db*")) / 1e6
    say("db", round(size, 1), "MB", messages=count, per_100k=round(size * 1e5 / count, 1))
    times = []
    for _ in range(5):
        started = time.perf_counter()
        await store.list(OWNER, limit=20)
        times.append((time.perf_counter() - started) * 1e3)
    say("list_sessions", median(times), "ms")
    times = []
    for session in sorted(writer.leases)[:20]:
        started = time.perf_counter()
        await store.load(writer.leases[session])
        times.append((time.perf_counter() - started) * 1e3)
    say("load_session_200", median(times), "ms")
    await store.aclose()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[4])))
