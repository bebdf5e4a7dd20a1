"""The one door into a session."""

from dataclasses import dataclass
from typing import Literal

from hermes.core.people import Origin

Busy = Literal["queue", "interrupt", "steer", "redirect"]
"""What a new message does to a turn that is running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """A person's message. While a turn runs, `busy` says what becomes of it."""

    text: str
    origin: Origin
    busy: Busy = "queue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steer:
    """A word to the running turn, read with the next tool results; queued if no turn runs."""

    text: str
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """A correction that cancels the model request only; becomes a steer while tools run."""

    text: str
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    """Stop the running turn: its request, its tools and their processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A choice for an open Question; the first one counts.

    `rule` is a person's own wording of the rule that `always` saves; empty: as it was shown.
    """

    question: str
    choice: str
    rule: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Yolo:
    """Ask nothing any more in this session, or (`on` false) ask again."""

    on: bool


SessionInput = Submit | Steer | Redirect | Interrupt | Answer | Yolo
