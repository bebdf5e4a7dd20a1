"""The sessions of a home: listed, found, renamed, deleted, and what they cost."""

from pathlib import Path

import anyio
import pytest

from hermes.core.content import Text
from hermes.core.entries import UserEntry
from hermes.core.errors import LeaseLost, StoreError, UserError
from hermes.core.ids import SessionId
from hermes.core.inputs import Steer
from hermes.core.people import HARNESS, OWNER, Origin, Principal
from hermes.ports.store import Lease
from journals import (
    CLI,
    RECORD,
    A,
    B,
    Open,
    Store,
    batch,
    entries,
    epoch,
    reply,
    result,
    talk,
    user,
)


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
