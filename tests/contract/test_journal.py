"""The journal: what is appended stays, in order, and only its owner writes."""

import dataclasses
from pathlib import Path

import anyio
import pytest

from hermes.core.content import Text
from hermes.core.entries import UserEntry
from hermes.core.errors import Bug, LeaseLost, SessionBusy, StoreError
from hermes.core.ids import CallId, Seq
from hermes.core.inputs import Redirect, Steer, Submit
from hermes.core.people import OWNER
from hermes.core.transcript import Transcript
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
