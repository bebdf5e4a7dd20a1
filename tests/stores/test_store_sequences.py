"""Any valid sequence of journal operations, then a crash-like reopening: the same session."""

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.core.calls import ToolCall, ToolResult
from hermes.core.clock import ManualClock
from hermes.core.content import Text, Thinking
from hermes.core.entries import AssistantEntry, Entry, ToolBatchEntry, UserEntry
from hermes.core.ids import CallId, Seq, SessionId, TurnId
from hermes.core.inputs import Submit
from hermes.core.people import Origin
from hermes.core.prompt import FrozenPrompt
from hermes.core.transcript import Epoch, Transcript
from hermes.core.usage import Usage
from hermes.ports.store import CallPhase, Lease, UsageRecord
from hermes.stores.sqlite.store import SqliteStore

ID = SessionId("20260101_000000_aaaaaa")
CLI = Origin(surface="cli")
RECORD = UsageRecord(model="m", provider="p", task="turn", raw="{}")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["go", "go", "go", "mark", "branch", "enqueue", "epoch", "reopen"]),
        st.text(max_size=12),  # any text, lone surrogates are tried by the contract suite
        st.integers(0, 3),
    ),
    max_size=40,
)


def epoch(number: int) -> Epoch:
    return Epoch(
        number=number,
        prompt=FrozenPrompt(text=f"prompt {number % 3}"),
        tools=(),
        model="m",
        opened_at=1.0,
        reason="explicit",
    )


@dataclass
class Twin:
    """The store, and what it should hold."""

    path: Path
    store: SqliteStore
    lease: Lease
    nodes: dict[Seq, tuple[Seq | None, Entry]] = field(default_factory=dict)
    head: Seq | None = None
    calls: dict[CallId, tuple[CallPhase, ToolResult | None]] = field(default_factory=dict)
    inbox: dict[int, Submit] = field(default_factory=dict)
    epoch: int = 1
    cost: float = 0.0

    @property
    def last(self) -> Entry | None:
        return None if self.head is None else self.nodes[self.head][1]

    @property
    def open(self) -> AssistantEntry | None:
        last = self.last
        return last if isinstance(last, AssistantEntry) and last.calls else None

    def grow(self, seq: Seq, entry: Entry) -> None:
        assert seq not in self.nodes
        self.nodes[seq] = (self.head, entry)
        self.head = seq

    async def go(self, text: str, n: int) -> None:
        turn, last = TurnId("turn_1"), self.last
        if self.open is not None:
            results = tuple(
                self.calls[c.id][1] or ToolResult(call=c.id, content=text, outcome="unknown")
                for c in self.open.calls
            )
            batch = ToolBatchEntry(turn=turn, at=3.0, results=results, steer=text)
            self.grow((await self.store.append_batch(self.lease, batch)).seq, batch)
            self.calls = {}
        elif last is None or isinstance(last, AssistantEntry):
            consumes = tuple(self.inbox)[:n]
            user = UserEntry(turn=turn, at=1.0, content=(Text(text=text),), origin=CLI)
            saved = await self.store.append_user(self.lease, user, consumes=consumes)
            self.grow(saved.seq, user)
            for item in consumes:
                del self.inbox[item]
        else:
            reply = AssistantEntry(
                turn=turn,
                at=2.0,
                content=(Thinking(text=text), Text(text=text)),
                calls=tuple(
                    ToolCall(id=CallId(f"c{i}"), tool="t", arguments="{}") for i in range(n)
                ),
                model="m",
                usage=Usage(input=n, cost_usd=0.5),
                stop="calls" if n else "end",
            )
            self.grow(
                (await self.store.append_assistant(self.lease, reply, usage=RECORD)).seq, reply
            )
            self.calls = {c.id: ("committed", None) for c in reply.calls}
            self.cost += 0.5

    async def mark(self, text: str, n: int) -> None:
        if self.open is None:
            return
        call = self.open.calls[n % len(self.open.calls)].id
        receipt = (await self.store.load(self.lease)).entries[-1]
        phase = self.calls[call][0]
        if phase == "committed":
            await self.store.mark_started(self.lease, receipt, call)
            self.calls[call] = ("started", None)
        elif phase == "started":
            result = ToolResult(call=call, content=text, outcome="ok")
            await self.store.mark_settled(self.lease, receipt, result)
            self.calls[call] = ("settled", result)

    async def branch(self, n: int) -> None:
        places: list[Seq | None] = [None]
        for seq, (_, entry) in self.nodes.items():
            if not (isinstance(entry, AssistantEntry) and entry.calls):
                places.append(seq)
        if self.open is None:
            self.head = places[n * 7 % len(places)]
            await self.store.move_head(self.lease, self.head)

    async def reopen(self) -> None:
        await self.store.aclose()
        self.store = await SqliteStore.open(self.path, clock=ManualClock())
        self.lease = await self.store.claim(ID)

    async def step(self, what: str, text: str, n: int) -> None:
        if what == "go":
            await self.go(text, n)
        elif what == "mark":
            await self.mark(text, n)
        elif what == "branch":
            await self.branch(n)
        elif what == "enqueue":
            item = Submit(text=text, origin=CLI)
            self.inbox[await self.store.enqueue(self.lease, item)] = item
        elif what == "epoch":
            self.epoch += 1
            await self.store.open_epoch(self.lease, epoch(self.epoch))
        else:
            await self.reopen()

    async def check(self) -> None:
        loaded = await self.store.load(self.lease)
        path: list[tuple[Seq, Entry]] = []
        seq = self.head
        while seq is not None:
            parent, entry = self.nodes[seq]
            path.append((seq, entry))
            seq = parent
        assert [(r.seq, r.value) for r in loaded.entries] == path[::-1]
        assert loaded.calls == self.calls
        assert {i.id: i.input for i in loaded.inbox} == self.inbox
        assert loaded.epoch == epoch(self.epoch)
        assert loaded.row.entries == len(path)
        assert loaded.row.cost_usd == self.cost
        assert len(Transcript(loaded.epoch, loaded.entries)) == len(path)


async def play(folder: Path, steps: list[tuple[str, str, int]]) -> None:
    path = folder / "hermes.db"
    store = await SqliteStore.open(path, clock=ManualClock())
    lease = await store.create(ID, CLI, cwd="/", epoch=epoch(1), now=1.0)
    twin = Twin(path=path, store=store, lease=lease)
    try:
        for what, text, n in steps:
            await twin.step(what, text, n)
        await twin.check()
        await twin.reopen()
        await twin.check()
    finally:
        await twin.store.aclose()


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_whatever_was_done_a_session_reopens_as_it_was(steps: list[tuple[str, str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder), steps))
