"""What a search is for, and what it has found so far."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hermes.core.errors import ToolError
from hermes.tools.files.search_regex import Regex

KEPT: Final = 50_000
"""Hits that are kept, the first ones in order; the rest is counted."""

HELD: Final = 8_000
"""Characters of a line that are kept on each side of a hit."""

EARLY: Final = 64 << 10
"""The piece of a file, in bytes, that ripgrep looks at first."""


class Row(NamedTuple):
    """A line that matches, or one beside it (no `hit`); `at` is where in `text` the hit is."""

    path: str
    line: int
    text: str
    hit: bool
    at: int = 0


class Binary(ToolError):
    """A file that was named is no text."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} was not searched: it is binary (there is a NUL byte in it).",
            hint="read_file tells what it is.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What to look for: `fold` takes letters in either case; with `counting` only numbers are
    wanted."""

    regex: Regex
    context: int = 0
    fold: bool = False
    counting: bool = False


@dataclass(slots=True)
class Found:
    """`counts` has all hits by path, `denied` how many are in files that may not be read.

    `rows` holds the first hits in order, and what is beside them; call `settle` before reading it.
    """

    rows: list[Row] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    denied: int = 0
    notes: list[str] = field(default_factory=list)
    complete: bool = True
    _room: int = 2 * KEPT
    _last: Row | None = None

    def add(self, row: Row) -> None:
        """Take a row; hits are counted too."""
        if row.hit:
            self.counts[row.path] += 1
        if self._last is None or row < self._last:
            self.rows.append(row)
            if len(self.rows) > self._room:
                self.settle()

    def past(self, path: str) -> bool:
        """Whether no row of the file `path` can be kept."""
        return self._last is not None and path > self._last.path

    def settle(self) -> None:
        """Sort the rows, and let go of those beyond the first KEPT hits."""
        self.rows.sort()
        hits = 0
        for n, row in enumerate(self.rows):
            hits += row.hit
            if hits > KEPT:
                self._last = row
                del self.rows[n:]
                break
        self._room = max(2 * KEPT, 2 * len(self.rows))

    def note(self, text: str) -> None:
        """Tell `text` once, and not more than a few such."""
        if text not in self.notes and len(self.notes) < 8:
            self.notes.append(text)


def held(path: str, line: int, text: str, at: int | None) -> Row:
    """A row of a whole line; a hit if `at` is given. Of a very long line only a part is kept."""
    text = text.removesuffix("\r")
    place = at or 0
    if len(text) > 2 * HELD:
        begin = max(0, place - HELD)
        text = text[begin : place + HELD]
        place -= begin
    return Row(path, line, text, at is not None, place)


def late_binary(path: str) -> str:
    """The note on a file whose first part is text."""
    return f"not searched: {path}: there is a NUL byte in it, so it is binary"
