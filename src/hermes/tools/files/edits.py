"""What an edit of a text comes to: the pieces to splice in, nothing to do, or a refusal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

RefusalCode = Literal[
    "empty_old",  # old is empty or blank
    "identical",  # old equals new
    "not_found",  # nothing like old is there
    "differs",  # a near match differs in what must not be guessed (numbers, negations, ...)
    "indentation",  # found, but new cannot be indented as the file is without rewriting it
    "ambiguous",  # more than one place fits, or two fit about as well
    "escapes",  # old or new carries escapes that the file does not have
    "masked",  # old or new holds the mask of a secret, or U+FFFD for a byte that is no text
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Put `text` in place of `[start, end)` of the whole text (offsets in characters)."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Lines of the file near what was asked for: `line` counts from 1, `text` is as it stands
    there, `difference` says in a few words how it differs from what was looked for."""

    line: int
    text: str
    difference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A proven edit. `pieces` are in order and do not overlap; `count` is the number of places,
    `strategy` how they were found, `note` what the model should know about that."""

    pieces: tuple[Piece, ...]
    count: int
    strategy: str
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoChange:
    """The edit has been made already; nothing is to be done."""

    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """No edit, and why. `message` says what is wrong and the one thing that works."""

    code: RefusalCode
    message: str
    regions: tuple[Region, ...] = ()


Outcome = Edit | NoChange | Refusal


def splice(text: str, pieces: Sequence[Piece]) -> str:
    """`text` with `pieces` in place."""
    parts: list[str] = []
    at = 0
    for piece in pieces:
        parts += (text[at : piece.start], piece.text)
        at = piece.end
    parts.append(text[at:])
    return "".join(parts)
