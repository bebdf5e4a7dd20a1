"""Lines that were found, as a model may see them: without secrets, cut around the hit."""

from typing import Final

from hermes.core.text import clean
from hermes.tools.files.workspace import Redact

WIDTH: Final = 500
LEAD: Final = 100

HIDDEN: Final = "[a secret of several lines is masked here]"


def masked_lines(lines: list[str], redact: Redact) -> list[str]:
    """The lines without secrets, one for one; a secret of several lines is masked in each."""
    masked = redact("\n".join(lines)).split("\n")
    if len(masked) == len(lines):
        return masked
    fewer = min(len(masked), len(lines))
    head = next((n for n in range(fewer) if masked[n] != lines[n]), fewer)
    rest = fewer - head
    tail = next((n for n in range(rest) if masked[-1 - n] != lines[-1 - n]), rest)
    return [*lines[:head], *[HIDDEN] * (len(lines) - head - tail), *lines[len(lines) - tail :]]


def window(text: str, at: int) -> str:
    start = max(0, min(at, len(text)) - LEAD) if at > WIDTH - LEAD else 0
    return clean(text[start : start + WIDTH])
