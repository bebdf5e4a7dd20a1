"""One reply of the model: stream it, retry what may be retried, book what it used."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import anyio

from hermes.agent.limits import Limits
from hermes.agent.notes import UNANSWERED
from hermes.core.content import Part, Text, Thinking, visible
from hermes.core.errors import (
    BudgetSpent,
    ModelError,
    Overloaded,
    RateLimited,
    Stalled,
    StreamDropped,
)
from hermes.core.events import Channel
from hermes.core.transcript import Transcript
from hermes.core.usage import Usage
from hermes.ports.model import CallBegun, Conversation, Delta, Reply
from hermes.system.i18n import t

TRANSIENT = (RateLimited, Overloaded, Stalled, StreamDropped)
BACKOFF, BACKOFF_CAP = 1.0, 60.0
"""Seconds before the first retry, doubled for each further one, and the longest wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pen:
    """Where a reply in the making shows: deltas, their withdrawal, and progress for people."""

    delta: Callable[[str, Channel], None]
    dropped: Callable[[], None]
    notice: Callable[[str], None]


@dataclass(slots=True)
class Draft:
    """What has come of the reply so far; survives the cancellation of its request."""

    answer: str = ""
    thinking: str = ""

    def add(self, delta: Delta) -> None:
        if delta.channel == "answer":
            self.answer += delta.text
        else:
            self.thinking += delta.text

    def parts(self) -> tuple[Part, ...]:
        """The reply as far as it came, or the one line that stands for none."""
        answer = Text(text=self.answer or UNANSWERED)
        return (Thinking(text=self.thinking), answer) if self.thinking else (answer,)

    def usage(self, conversation: Conversation, transcript: Transcript) -> Usage:
        """What a request that was cut short will have cost, estimated: nobody tells."""
        said = len((self.answer + self.thinking).encode("utf-8", "replace"))
        usage = Usage(
            input=conversation.estimate(transcript).input, output=said // 4, cost_usd=None
        )
        price = conversation.route.price
        return usage if price is None else replace(usage, cost_usd=price.of(usage))


async def ask(
    conversation: Conversation,
    transcript: Transcript,
    limits: Limits,
    pen: Pen,
    draft: Draft,
    *,
    may_call: bool,
) -> Reply:
    """The model's reply; raises ModelError once `limits.attempts` requests have failed."""
    for attempt in range(1, max(1, limits.attempts) + 1):
        draft.answer = draft.thinking = ""
        try:
            return await _once(conversation, transcript, pen, draft, may_call=may_call)
        except TRANSIENT as e:
            if attempt >= limits.attempts:
                raise
            wait = e.retry_after or min(BACKOFF * 2 ** (attempt - 1), BACKOFF_CAP)
            if wait > BACKOFF_CAP:
                # Asking sooner than we were told to is what gets a key locked out.
                raise
            if draft.answer or draft.thinking:
                pen.dropped()
            pen.notice(t("turn.retry", why=e.message, seconds=f"{wait:.0f}", attempt=attempt + 1))
            await anyio.sleep(wait)
    raise AssertionError("unreachable: the last attempt returns or raises")


async def _once(
    conversation: Conversation,
    transcript: Transcript,
    pen: Pen,
    draft: Draft,
    *,
    may_call: bool,
) -> Reply:
    async with conversation.ask(transcript, may_call=may_call) as chunks:
        async for chunk in chunks:
            match chunk:
                case Delta():
                    draft.add(chunk)
                    pen.delta(chunk.text, chunk.channel)
                case CallBegun():
                    pass
                case Reply():
                    # What was shown may turn out to be reasoning, or a call in the form of a text.
                    if draft.answer.strip() not in ("", visible(chunk.content).strip()):
                        pen.dropped()
                    return chunk
    raise ModelError(t("turn.no_reply"))


def check_money(
    limits: Limits,
    conversation: Conversation,
    transcript: Transcript,
    *,
    turn: float,
    session: float,
    day: float,
) -> None:
    """Raise BudgetSpent if the next call would pass a limit; the amounts are dollars spent."""
    bounds = (
        ("turn", limits.usd_per_turn, turn),
        ("session", limits.usd_per_session, session),
        ("day", limits.usd_per_day, day),
    )
    if all(limit is None for _, limit, _ in bounds):
        return
    price = conversation.route.price
    if price is None:
        if limits.allow_unpriced:
            return
        raise BudgetSpent(
            t("turn.unpriced", model=conversation.route.name), hint=t("turn.unpriced_hint")
        )
    expected: Usage = conversation.estimate(transcript)
    cost = price.of(expected)
    for name, limit, spent in bounds:
        if limit is not None and spent + cost > limit:
            raise BudgetSpent(
                t("turn.over_budget", name=name, limit=f"{limit:.4f}", spent=f"{spent:.4f}"),
                hint=t("turn.over_budget_hint", name=name),
            )
