"""What every Journal and SessionStore must do. Another implementation is one more row in STORES."""

import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Protocol

import anyio
import pytest

from hermes.core.calls import Persisted, ToolCall, ToolResult
from hermes.core.clock import ManualClock
from hermes.core.content import Text, Thinking
from hermes.core.entries import AssistantEntry, Entry, Stop, ToolBatchEntry, UserEntry
from hermes.core.errors import Bug, LeaseLost, SessionBusy, StoreError, UserError
from hermes.core.ids import CallId, Seq, SessionId, TurnId
from hermes.core.inputs import Redirect, Steer, Submit
from hermes.core.people import HARNESS, OWNER, Origin, Principal
from hermes.core.prompt import FrozenPrompt
from hermes.core.transcript import Epoch, ToolSchema, Transcript
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


@pytest.fixture(params=STORES)
def open_store(request: pytest.FixtureRequest) -> Open:
    return STORES[request.param]


@pytest.fixture
async def store(open_store: Open, tmp_path: Path) -> AsyncIterator[Store]:
    made = await open_store(tmp_path)
    yield made
    await made.aclose()


@pytest.fixture
async def lease(store: Store) -> Lease:
    return await store.create(A, CLI, cwd="/w", epoch=epoch(), now=1.0)


async def test_a_conversation_comes_back_as_it_was(
    open_store: Open, store: Store, lease: Lease, tmp_path: Path
) -> None:
    first = [
        await store.append_user(lease, user("look at it")),
        await store.append_assistant(lease, reply("", "c2", "c1"), usage=RECORD),
        await store.append_batch(lease, batch("c2", "c1", steer="and quickly")),
        await store.append_assistant(lease, reply("done"), usage=None),
    ]
    await store.aclose()
    again = await open_store(tmp_path)
    loaded = await again.load(await again.claim(A))
    await again.aclose()
    assert [r.value for r in loaded.entries] == [r.value for r in first]
    assert [r.seq for r in loaded.entries] == [r.seq for r in first]
    assert loaded.epoch == epoch()
    assert (loaded.calls, loaded.inbox) == ({}, ())
    assert len(Transcript(loaded.epoch, loaded.entries)) == 4


async def test_an_entry_out_of_turn_is_refused_and_changes_nothing(
    store: Store, lease: Lease
) -> None:
    with pytest.raises(Bug):
        await store.append_assistant(lease, reply("first?"), usage=RECORD)
    await store.append_user(lease, user("hello"))
    with pytest.raises(Bug):
        await store.append_user(lease, user("again"))
    await store.append_assistant(lease, reply("", "c1", "c2"), usage=None)
    for wrong in (batch("c1"), batch("c2", "c1"), batch()):
        with pytest.raises(Bug):
            await store.append_batch(lease, wrong)
    with pytest.raises(Bug):
        await store.append_user(lease, user("impatient"))
    assert len(await entries(store, A)) == 2
    assert await store.spent(OWNER) == 0.0


async def test_a_reply_whose_calls_share_an_id_is_refused(store: Store, lease: Lease) -> None:
    await store.append_user(lease, user("go"))
    with pytest.raises(Bug):
        await store.append_assistant(lease, reply("", "c1", "c1"), usage=None)
    assert len(await entries(store, A)) == 1


async def test_calls_show_how_far_they_came(store: Store, lease: Lease) -> None:
    await store.append_user(lease, user("go"))
    saved = await store.append_assistant(lease, reply("", "a", "b", "c"), usage=None)
    await store.mark_started(lease, saved, CallId("b"))
    await store.mark_started(lease, saved, CallId("c"))
    await store.mark_settled(lease, saved, result("c"))
    loaded = await store.load(lease)
    assert loaded.calls == {
        "a": ("committed", None),
        "b": ("started", None),
        "c": ("settled", result("c")),
    }
    await store.append_batch(lease, batch("a", "b", "c"))
    assert (await store.load(lease)).calls == {}


async def test_no_call_begins_or_ends_twice(store: Store, lease: Lease) -> None:
    await store.append_user(lease, user("go"))
    saved = await store.append_assistant(lease, reply("", "a"), usage=None)
    await store.mark_started(lease, saved, CallId("a"))
    with pytest.raises(Bug):
        await store.mark_started(lease, saved, CallId("a"))
    await store.mark_settled(lease, saved, result("a"))
    with pytest.raises(Bug):
        await store.mark_settled(lease, saved, result("a"))
    with pytest.raises(Bug):
        await store.mark_started(lease, saved, CallId("a"))
    with pytest.raises(Bug):
        await store.mark_started(lease, saved, CallId("never"))


async def test_an_acknowledged_input_waits_until_an_entry_consumes_it(
    store: Store, lease: Lease
) -> None:
    items = (
        Submit(text="one", origin=CLI, busy="interrupt"),
        Steer(text="two", origin=CLI),
        Redirect(text="three", origin=CLI),
    )
    numbers = [await store.enqueue(lease, item) for item in items]
    waiting = (await store.load(lease)).inbox
    assert [w.id for w in waiting] == numbers
    assert tuple(w.input for w in waiting) == items
    await store.append_user(lease, user("one"), consumes=(numbers[0],))
    await store.append_assistant(lease, reply("", "c"), usage=None)
    await store.append_batch(lease, batch("c", steer="two"), consumes=(numbers[1],))
    await store.dequeue(lease, (numbers[2], numbers[2]))
    assert (await store.load(lease)).inbox == ()
    assert await store.enqueue(lease, items[0]) not in numbers


async def test_an_input_is_consumed_once_or_the_entry_is_refused(
    store: Store, lease: Lease
) -> None:
    number = await store.enqueue(lease, Submit(text="one", origin=CLI))
    await store.append_user(lease, user("one"), consumes=(number,))
    await store.append_assistant(lease, reply("yes"), usage=None)
    with pytest.raises(Bug):
        await store.append_user(lease, user("one"), consumes=(number,))
    assert len(await entries(store, A)) == 2


async def test_the_head_moves_and_nothing_is_lost(store: Store, lease: Lease) -> None:
    await talk(store, lease, "first")
    kept = (await store.load(lease)).entries[-1].seq
    await talk(store, lease, "second")
    old_head = (await store.load(lease)).entries[-1].seq
    await store.move_head(lease, kept)
    assert (await store.load(lease)).row.entries == 2
    await talk(store, lease, "another")
    assert [e.content[-1] for e in await entries(store, A) if isinstance(e, UserEntry)] == [
        Text(text="first"),
        Text(text="another"),
    ]
    await store.move_head(lease, old_head)
    assert [e.content[-1] for e in await entries(store, A) if isinstance(e, UserEntry)] == [
        Text(text="first"),
        Text(text="second"),
    ]
    await store.move_head(lease, None)
    assert await entries(store, A) == []
    await talk(store, lease, "afresh")
    loaded = await store.load(lease)
    assert (len(loaded.entries), loaded.row.entries, loaded.row.preview) == (2, 2, "afresh")


async def test_the_head_never_parts_calls_from_their_results(store: Store, lease: Lease) -> None:
    said = await store.append_user(lease, user("go"))
    saved = await store.append_assistant(lease, reply("", "a"), usage=None)
    with pytest.raises(StoreError):
        await store.move_head(lease, said.seq)
    await store.append_batch(lease, batch("a"))
    with pytest.raises(StoreError):
        await store.move_head(lease, saved.seq)
    await store.move_head(lease, said.seq)
    await store.append_assistant(lease, reply("another way"), usage=None)


async def test_the_head_stays_within_its_session(store: Store, lease: Lease) -> None:
    await talk(store, lease, "mine")
    other = await store.create(B, CLI, cwd="/w", epoch=epoch(), now=1.0)
    theirs = await talk(store, other, "theirs")
    for seq in (theirs.seq, Seq(10_000)):
        with pytest.raises(StoreError):
            await store.move_head(lease, seq)
    assert len(await entries(store, A)) == 2


async def test_a_new_epoch_is_what_the_session_loads_with(store: Store, lease: Lease) -> None:
    await talk(store, lease, "hi")
    second = dataclasses.replace(epoch(2, "Another prompt."), model="q/n", reason="model")
    await store.open_epoch(lease, second)
    with pytest.raises(Bug):
        await store.open_epoch(lease, second)
    loaded = await store.load(lease)
    assert (loaded.epoch, loaded.row.model, len(loaded.entries)) == (second, "q/n", 2)


async def test_a_session_has_one_owner(store: Store, lease: Lease) -> None:
    with pytest.raises(SessionBusy):
        await store.claim(A)
    with pytest.raises(SessionBusy):
        await store.delete(A)
    await store.release(lease)
    later = await store.claim(A)
    assert later.fence > lease.fence
    with pytest.raises(LeaseLost):
        await store.append_user(lease, user("late"))
    await store.release(lease)  # a stale one gives nothing back
    await store.append_user(later, user("mine"))


async def test_every_change_by_a_stale_owner_is_refused(store: Store, lease: Lease) -> None:
    await store.append_user(lease, user("go"))
    saved = await store.append_assistant(lease, reply("", "a"), usage=None)
    await store.release(lease)
    for attempt in (
        store.append_batch(lease, batch("a")),
        store.mark_started(lease, saved, CallId("a")),
        store.mark_settled(lease, saved, result("a")),
        store.enqueue(lease, Submit(text="x", origin=CLI)),
        store.dequeue(lease, ()),
        store.open_epoch(lease, epoch(2)),
        store.move_head(lease, None),
        store.load(lease),
    ):
        with pytest.raises(LeaseLost):
            await attempt
    assert len(await entries(store, A)) == 2


async def test_of_two_claims_at_once_one_wins(store: Store, lease: Lease) -> None:
    await store.release(lease)
    won: list[Lease] = []
    busy: list[SessionBusy] = []

    async def claim() -> None:
        try:
            won.append(await store.claim(A))
        except SessionBusy as e:
            busy.append(e)

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(claim)
    assert (len(won), len(busy)) == (1, 3)


async def test_a_list_shows_whoever_spoke_last_first_and_no_empty_session(
    store: Store, lease: Lease
) -> None:
    other = await store.create(B, Origin(surface="tools"), cwd="/x", epoch=epoch(), now=2.0)
    assert await store.list(OWNER) == ()
    await talk(store, lease, "  the first\n words " + "x" * 100, at=20.0)
    await talk(store, other, "later", at=30.0)
    rows = await store.list(OWNER)
    assert [row.id for row in rows] == [B, A]
    assert rows[1].preview == "the first words " + "x" * 44
    assert (rows[1].source, rows[1].cwd, rows[1].entries) == ("cli", "/w", 2)
    assert (rows[1].started_at, rows[1].active_at) == (1.0, 20.0)
    assert [row.id for row in await store.list(OWNER, source="cli")] == [A]
    assert [row.id for row in await store.list(OWNER, limit=1)] == [B]


async def test_the_preview_is_what_a_person_said_first(store: Store, lease: Lease) -> None:
    await store.append_user(lease, user("a note of the house", origin=HARNESS))
    await store.append_assistant(lease, reply("ok"), usage=None)
    await talk(store, lease, "my words")
    assert (await store.load(lease)).row.preview == "my words"


async def test_a_session_is_found_by_id_by_its_beginning_and_by_title(
    store: Store, lease: Lease
) -> None:
    await store.create(B, CLI, cwd="/", epoch=epoch(), now=1.0)
    await store.rename(A, "  Trip\nto Rome ")
    for name in (A, A[:-5], "Trip to Rome"):
        assert (await store.find(OWNER, name)).id == A
    for name in ("", "202", A[:8], "Trip", "nothing"):
        with pytest.raises(UserError):
            await store.find(OWNER, name)
    await store.rename(B, "Trip to Rome")
    with pytest.raises(UserError, match=f"{A}.*{B}|{B}.*{A}"):
        await store.find(OWNER, "Trip to Rome")


async def test_nobody_sees_the_sessions_of_another(store: Store, lease: Lease) -> None:
    ann = Origin(surface="irc", principal=Principal("ann"), trust="paired")
    theirs = await store.create(B, ann, cwd="/", epoch=epoch(), now=1.0)
    await talk(store, lease, "mine")
    await talk(store, theirs, "theirs")
    assert [row.id for row in await store.list(OWNER)] == [A]
    assert [row.id for row in await store.list(ann.principal)] == [B]
    with pytest.raises(UserError):
        await store.find(OWNER, B)
    assert await store.spent(ann.principal) == 0.25
    assert await store.spent(OWNER, session=B) == 0.0


async def test_a_deleted_session_is_gone_and_its_cost_is_not(store: Store, lease: Lease) -> None:
    await talk(store, lease, "secret")
    other = await store.create(B, CLI, cwd="/", epoch=epoch(), now=1.0)
    await talk(store, other, "stays")
    await store.release(lease)
    await store.delete(A)
    assert [row.id for row in await store.list(OWNER)] == [B]
    assert await store.spent(OWNER) == 0.5
    with pytest.raises(UserError):
        await store.claim(A)
    with pytest.raises(UserError):
        await entries(store, A)
    with pytest.raises(LeaseLost):
        await store.load(lease)
    assert (await store.load(other)).epoch == epoch()


async def test_money_is_counted_by_session_and_by_time(store: Store, lease: Lease) -> None:
    await talk(store, lease, "a", at=100.0)
    await talk(store, lease, "b", at=200.0)
    other = await store.create(B, CLI, cwd="/", epoch=epoch(), now=1.0)
    await talk(store, other, "c", at=300.0)
    assert await store.spent(OWNER) == 0.75
    assert await store.spent(OWNER, since=200.0) == 0.5
    assert await store.spent(OWNER, session=A) == 0.5
    assert await store.spent(OWNER, session=A, since=150.0) == 0.25


async def test_an_unknown_price_stays_unknown_in_the_sum(store: Store, lease: Lease) -> None:
    await talk(store, lease, "a")
    row = (await store.load(lease)).row
    assert (row.cost_usd, row.input_tokens, row.output_tokens) == (0.25, 7, 3)
    await store.append_user(lease, user("b"))
    await store.append_assistant(lease, reply("?", cost=None), usage=RECORD)
    assert (await store.load(lease)).row.cost_usd is None
    assert await store.spent(OWNER, session=A) == 0.25


async def test_lone_surrogates_never_get_in(store: Store, lease: Lease) -> None:
    said = await store.append_user(lease, user("a\ud83d b \ud83d\ude00"))
    saved = await store.append_assistant(lease, reply("x\udfff", "c\udc80"), usage=RECORD)
    assert said.value.content == (Text(text="a\ufffd b \U0001f600"),)
    assert saved.value.calls[0].id == "c\ufffd"
    await store.mark_settled(lease, saved, result("c\ufffd"))
    await store.append_batch(lease, batch("c\ufffd", steer="\ud800"))
    await store.enqueue(lease, Steer(text="\ud800", origin=CLI))
    await store.rename(A, "t\ud800")
    loaded = await store.load(lease)
    assert [r.value for r in loaded.entries[:2]] == [said.value, saved.value]
    assert loaded.inbox[0].input.text == "\ufffd"
    assert loaded.row.title == "t\ufffd"


async def test_a_cancelled_caller_does_not_cancel_the_write(store: Store, lease: Lease) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await store.append_user(lease, user("said"))
    await store.append_assistant(lease, reply("heard"), usage=None)
    assert len(await entries(store, A)) == 2


async def test_many_sessions_write_at_once(store: Store) -> None:
    ids = [SessionId(f"20260101_000000_{n:06x}") for n in range(40)]

    async def converse(id: SessionId) -> None:
        mine = await store.create(id, CLI, cwd="/", epoch=epoch(), now=1.0)
        for n in range(5):
            await talk(store, mine, f"{id} {n}")

    async with anyio.create_task_group() as group:
        for id in ids:
            group.start_soon(converse, id)
    for id in ids:
        words = [e.content[-1] for e in await entries(store, id) if isinstance(e, UserEntry)]
        assert words == [Text(text=f"{id} {n}") for n in range(5)]


async def test_a_closed_store_says_so(store: Store, lease: Lease) -> None:
    await store.aclose()
    await store.aclose()
    with pytest.raises(StoreError):
        await store.append_user(lease, user("late"))
    with pytest.raises(StoreError):
        await store.list(OWNER)


async def test_closing_gives_the_sessions_back(
    open_store: Open, store: Store, lease: Lease, tmp_path: Path
) -> None:
    await talk(store, lease, "x")
    await store.aclose()
    again = await open_store(tmp_path)
    assert (await again.claim(A)).fence == lease.fence + 1
    await again.aclose()


async def test_a_session_id_is_used_once(store: Store, lease: Lease) -> None:
    with pytest.raises(StoreError):
        await store.create(A, CLI, cwd="/", epoch=epoch(), now=1.0)
