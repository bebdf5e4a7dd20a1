"""Readers of a session's events: any number, none of whom can slow the turn."""

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.agent.fanout import BUFFER, Fanout
from hermes.core.content import Text
from hermes.core.entries import UserEntry
from hermes.core.events import (
    EntryAdded,
    Gap,
    Question,
    QuestionClosed,
    SessionEvent,
    TextDelta,
    TurnEnded,
    TurnStarted,
)
from hermes.core.ids import Seq, SessionId, TurnId
from hermes.core.people import Origin
from hermes.core.usage import Usage
from hermes.core.view import SessionView, fold

pytestmark = pytest.mark.anyio

BASE = {"session": SessionId("s"), "turn": TurnId("t"), "at": 0.0}


def entry(number: int) -> EntryAdded:
    said = UserEntry(
        turn=TurnId("t"),
        at=0.0,
        content=(Text(text=str(number)),),
        origin=Origin(surface="cli"),
    )
    return EntryAdded(seq=Seq(number), entry=said, **BASE)


def delta(number: int) -> TextDelta:
    return TextDelta(text=str(number), channel="answer", **BASE)


ENDED = TurnEnded(why="finished", text="", detail="", usage=Usage(), **BASE)
QUESTION = Question(
    id="q", text="?", detail="", choices=("yes", "no"), default="no", deadline=1.0, **BASE
)


async def read_all(reader: object) -> list[SessionEvent]:
    return [event async for event in reader]  # type: ignore[attr-defined]


async def test_every_reader_sees_every_event_in_order() -> None:
    fanout = Fanout()
    with fanout.reader() as one, fanout.reader() as two:
        events = [TurnStarted(input=1, **BASE), delta(1), entry(1), ENDED]
        for event in events:
            fanout.emit(event)
        fanout.close()
        assert await read_all(one) == await read_all(two) == events


async def test_a_slow_reader_loses_deltas_first_and_is_told_where_to_read_again() -> None:
    fanout = Fanout()
    with fanout.reader() as reader:
        fanout.emit(entry(1))
        async for event in reader:
            assert event == entry(1)
            break
        for number in range(BUFFER * 3):
            fanout.emit(delta(number))
        fanout.emit(entry(2))
        for number in range(3, BUFFER * 2):
            fanout.emit(entry(number))
        fanout.emit(QUESTION)
        fanout.emit(ENDED)
        fanout.close()
        events = await read_all(reader)
    assert len(events) <= BUFFER + 2
    gap = next(event for event in events if isinstance(event, Gap))
    assert gap.resume_from == 1
    assert events[-2:] == [QUESTION, ENDED]


@given(st.lists(st.sampled_from("desq"), max_size=60), st.integers(0, 60))
def test_a_view_folded_again_after_a_gap_equals_the_view_that_saw_all(
    kinds: list[str], cut: int
) -> None:
    events: list[SessionEvent] = [TurnStarted(input=1, **BASE)]
    for number, kind in enumerate(kinds, 1):
        match kind:
            case "d":
                events.append(delta(number))
            case "e":
                events.append(entry(number))
            case "s":
                events.append(QUESTION)
            case _:
                events.append(QuestionClosed(id="q", choice="no", **BASE))
    events.append(ENDED)
    whole = SessionView()
    for event in events:
        whole = fold(whole, event)
    again = SessionView()
    durable = [e for e in events if isinstance(e, EntryAdded)]
    for event in [*durable[:cut], *durable[cut:], TurnStarted(input=1, **BASE), ENDED]:
        again = fold(again, event)
    assert whole == again


async def test_a_reader_that_waits_is_woken_by_the_next_event() -> None:
    fanout = Fanout()
    with fanout.reader() as reader:
        async with anyio.create_task_group() as group:
            seen: list[SessionEvent] = []

            async def follow() -> None:
                seen.extend(await read_all(reader))

            group.start_soon(follow)
            await anyio.lowlevel.checkpoint()
            fanout.emit(delta(1))
            await anyio.lowlevel.checkpoint()
            fanout.close()
    assert seen == [delta(1)]
