"""The words of the house."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.calls import Persisted, Press, ToolCall, ToolResult
from hermes.core.clock import ManualClock
from hermes.core.content import Text, Thinking, thoughts, visible
from hermes.core.entries import AssistantEntry, Entry, ToolBatchEntry, UserEntry, misplaced
from hermes.core.errors import Bug
from hermes.core.ids import CallId, CountingIds, RandomIds, Seq, TurnId
from hermes.core.people import Origin
from hermes.core.prompt import PromptSection, freeze
from hermes.core.registry import Registration, Registry
from hermes.core.text import clean
from hermes.core.transcript import Epoch, Transcript
from hermes.core.usage import Price, Usage

TURN = TurnId("turn")


def user() -> UserEntry:
    return UserEntry(turn=TURN, at=0.0, content=(Text(text="hi"),), origin=Origin(surface="cli"))


def assistant(*calls: str) -> AssistantEntry:
    return AssistantEntry(
        turn=TURN,
        at=0.0,
        content=(Text(text="yes"),),
        calls=tuple(ToolCall(id=CallId(c), tool="t", arguments="{}") for c in calls),
        model="m",
        usage=Usage(),
        stop="end",
    )


def batch(*calls: str) -> ToolBatchEntry:
    results = tuple(ToolResult(call=CallId(c), content="r", outcome="ok") for c in calls)
    return ToolBatchEntry(turn=TURN, at=0.0, results=results)


def epoch() -> Epoch:
    return Epoch(
        number=1,
        prompt=freeze(()),
        tools=(),
        model="m",
        opened_at=0.0,
        reason="new",
    )


@given(st.text(alphabet=st.characters(codec=None, categories=None), max_size=50))
def test_a_cleaned_text_can_always_be_encoded_and_cleaning_twice_changes_nothing(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert clean(cleaned) == cleaned


def test_two_surrogates_that_belong_together_become_their_character() -> None:
    assert clean("\ud83d\ude00") == "\N{GRINNING FACE}"
    assert clean("a\ud83d") == "a\N{REPLACEMENT CHARACTER}"


def test_reasoning_is_never_part_of_what_is_visible() -> None:
    parts = (Thinking(text="hm"), Text(text="a"), Thinking(text="!"), Text(text="b"))
    assert (visible(parts), thoughts(parts)) == ("ab", "hm!")


@pytest.mark.parametrize(
    ("before", "entry"),
    [
        (None, assistant()),
        (None, batch("a")),
        (user(), user()),
        (user(), batch("a")),
        (assistant(), assistant()),
        (assistant(), batch("a")),
        (assistant("a"), user()),
        (assistant("a", "b"), batch("a")),
        (assistant("a", "b"), batch("b", "a")),
        (batch("a"), user()),
    ],
)
def test_a_transcript_refuses_an_entry_out_of_turn(before: Entry | None, entry: Entry) -> None:
    assert misplaced(before, entry)


def test_a_transcript_takes_entries_in_turn_and_only_saved_ones() -> None:
    press = Press()
    entries = (user(), assistant("a"), batch("a"), assistant(), user())
    transcript = Transcript(epoch())
    for seq, entry in enumerate(entries, 1):
        transcript.append(press.stamp(Seq(seq), entry, 1))
    assert tuple(transcript) == entries
    with pytest.raises(Bug):
        transcript.append(press.stamp(Seq(9), user(), 1))


def test_a_receipt_cannot_be_forged() -> None:
    with pytest.raises(Bug):
        Persisted(Seq(1), user(), 1, object())  # type: ignore[arg-type]


def test_the_cost_of_a_sum_is_unknown_once_a_part_is() -> None:
    known, unknown = Usage(input=1, cost_usd=1.0), Usage(input=2, cost_usd=None)
    assert (known + known).cost_usd == 2.0
    assert (known + unknown + known).cost_usd is None
    assert (known + unknown).input == 3


def test_cached_tokens_cost_what_the_price_says() -> None:
    usage = Usage(input=1_000_000, cached=500_000, output=1_000_000)
    assert Price(input=2.0, output=10.0, cached=0.2).of(usage) == pytest.approx(1.0 + 0.1 + 10.0)
    assert Price(input=2.0, output=10.0).of(usage) == pytest.approx(12.0)


def test_a_prompt_is_ordered_by_tier_and_empty_sections_leave_no_trace() -> None:
    prompt = freeze(
        (
            PromptSection(name="when", tier="volatile", text="today"),
            PromptSection(name="none", tier="stable", text="  "),
            PromptSection(name="who", tier="stable", text="you"),
            PromptSection(name="where", tier="context", text="here"),
        )
    )
    assert prompt.text == "you\n\nhere\n\ntoday"
    assert len(prompt.digest) == 64


def test_a_registry_names_both_owners_of_a_duplicate_and_undoes_exactly() -> None:
    registry: Registry[str] = Registry("tool")
    undo = registry.add(Registration(name="a", owner="us", item=lambda: "A", aliases=("b",)))
    with pytest.raises(Bug, match=r"them.*us"):
        registry.add(Registration(name="b", owner="them", item=lambda: "B"))
    frozen = registry.freeze()
    undo()
    assert dict(frozen) == {"a": "A"}
    assert registry.find("b") is None
    registry.add(Registration(name="b", owner="them", item=lambda: "B"))


def test_what_is_not_available_is_left_out_of_a_frozen_registry() -> None:
    registry: Registry[str] = Registry("tool")
    registry.add(Registration(name="a", owner="us", item=lambda: "A", available=lambda: "no key"))
    assert dict(registry.freeze()) == {}


def test_session_ids_carry_their_time_and_differ() -> None:
    ids = RandomIds(bytes)
    assert ids.session(0.0) == "19700101_000000_000000"
    counting = CountingIds()
    assert counting.session(0.0) != counting.session(0.0)
    assert counting.call() != counting.call()


def test_a_manual_clock_moves_only_when_told() -> None:
    clock = ManualClock(10.0)
    clock.advance(5.0)
    assert (clock.now(), clock.monotonic()) == (15.0, 5.0)
