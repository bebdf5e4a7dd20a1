"""Every sentence that the loop itself writes into a conversation, for the model to read."""

import json
from collections.abc import Mapping
from typing import Any, Final

from hermes.core.text import clean

UNANSWERED: Final = "[This turn ended before an answer was given.]"
"""Closes a user message or a batch that no reply follows, so that roles always alternate."""

BLANK: Final = "[The reply was empty.]"
"""Stands in the history for a reply without a word; no surface shows it."""

INTERRUPTED: Final = (
    "Stopped by the user while running. Its effect is unknown: check before relying on it."
)
NEVER_RAN: Final = "Not run: the user stopped the turn first."
CRASHED: Final = (
    "Hermes itself was stopped while this call was running. Its effect is unknown and it was not "
    "run again: check before you repeat it."
)
NOT_REACHED: Final = "Not run: Hermes itself was stopped before this call began."

REWRITTEN: Final = 2_000
"""Characters of changed arguments that the model is told."""

LAST_STEP: Final = (
    "The step limit of this turn is reached. Answer now, without tools: what was done, what is "
    "left."
)
STEP_LIMIT: Final = "Not run: the step limit of this turn is reached."

ANSWER_NOW: Final = "Your last reply was empty. Answer the message above, in words."
ANSWER_VISIBLY: Final = "Your last reply held only reasoning. Give the answer itself now."
GO_ON: Final = "Your reply was cut at the output limit. Go on exactly where it stopped."


def answer_after(digest: str) -> str:
    """The second request for words after a blank reply; `digest` restates the last results."""
    return f"Your reply was empty again. The last results were:\n{digest}\nAnswer in words now."


def fault(tool: str, why: str) -> str:
    """The result of a call whose arguments cannot be used."""
    reasons = {
        "cut": "its arguments were cut off by the output limit. Make a shorter call, or several.",
        "malformed": "its arguments are not a JSON object. Send them again as one JSON object.",
        "dropped": "the connection broke while its arguments were being sent. Send it again.",
        "too_long": "its arguments are larger than 32 MiB. Split the work into smaller calls.",
    }
    return f"{tool} was not run: {reasons[why]}"


def unknown_tool(name: str, known: tuple[str, ...]) -> str:
    """The result of a call to a tool that does not exist in this epoch."""
    return f"There is no tool {name!r}. The tools are: {', '.join(known) or 'none'}."


def missing(tool: str, names: list[str]) -> str:
    """The result of a call without its required arguments."""
    return f"{tool} was not run: it needs {', '.join(names)}."


def broke(tool: str, error: Exception) -> str:
    """The result of a call whose tool has a fault of its own."""
    return f"{tool} broke: {type(error).__name__}: {error}"


def rewritten(tool: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The notice after a hook changed what a call was made with."""
    changes = {name: value for name, value in after.items() if before.get(name) != value}
    text = clean(json.dumps(changes, ensure_ascii=False))
    shown = text if len(text) <= REWRITTEN else f"{text[:REWRITTEN]} […]"
    return f"A hook of the user changed arguments of this call of {tool} before it ran: {shown}"


def denied(reason: str) -> str:
    """The result of a call that a guard or a person refused."""
    return f"Not allowed: {reason}"


def repeated(tool: str, count: int, result: str) -> str:
    """The notice after the same call had the same result several times."""
    return (
        f"{tool} has now been called {count} times with the same arguments and the same result:\n"
        f"{result}\nDo something different, or say what is missing."
    )
