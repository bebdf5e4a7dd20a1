"""A text as a model sees it, and the way back to the characters as they stand.

The *flat* text has `\\n` for each `\\r\\n`, and, where the old text holds U+FFFD, one U+FFFD for
each run of bytes that are no text. All matching is done in it; `Source.at` maps an offset back.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import Final

from hermes.tools.files.edits import Region

Span = tuple[int, int]

BLANK: Final = " \t"
"""What may surround a line without being part of what it says."""

UNREADABLE: Final = "\ufffd"

# Lone surrogates stand for bytes that are no text; a page shows them as U+FFFD.
_ODD: Final = re.compile("[\ud800-\udfff]")
_SHRUNK: Final = re.compile("\r\n|[\ud800-\udfff\ufffd]+")
_SHOWN: Final = re.compile("[\ud800-\udfff\ufffd]+")

_FEW: Final = 8
"""Offsets that are mapped by counting; more are worth an index."""

_LINE_SHOWN: Final = 400
_LINES_SHOWN: Final = 24


def flat(text: str) -> str:
    """`text` with `\\n` for each `\\r\\n`."""
    # One character is looked for ten times as fast as two.
    return text.replace("\r\n", "\n") if "\r" in text else text


def margin(line: str) -> str:
    """The blanks that `line` begins with."""
    return line[: len(line) - len(line.lstrip(BLANK))]


def unreadable(text: str) -> list[int]:
    """The lengths of the runs of what is no text."""
    return [len(run) for run in _SHOWN.findall(text)]


class Source:
    """The part `within` of `text`, flat. `masks`: whether bytes that are no text show as U+FFFD."""

    def __init__(self, text: str, within: Span | None, *, masks: bool) -> None:
        self.whole = text
        start, end = within or (0, len(text))
        self._start = max(0, min(start, len(text)))
        self._part = text[self._start : max(end, self._start)]
        self._asked = 0
        self.masked = masks and self.odd
        if self.masked:
            self.flat = _SHRUNK.sub(lambda m: "\n" if m[0] == "\r\n" else UNREADABLE, self._part)
        else:
            self.flat = flat(self._part)

    @cached_property
    def odd(self) -> bool:
        """Whether some bytes of the text are no text."""
        return not self.whole.isascii() and _ODD.search(self.whole) is not None

    @cached_property
    def crlf(self) -> bool:
        return "\r" in self.whole and "\r\n" in self.whole

    def shown(self, text: str) -> str:
        """`text`, from a model, as the flat text would have it."""
        return _SHOWN.sub(UNREADABLE, flat(text)) if self.masked else flat(text)

    def at(self, offset: int) -> int:
        """The offset in the whole text of `offset` in the flat one."""
        if len(self.flat) == len(self._part):
            return self._start + offset
        self._asked += 1
        if self._uniform and self._asked <= _FEW:
            return self._start + offset + self.flat.count("\n", 0, offset)
        ends, gains = self._shrunk
        return self._start + offset + gains[bisect_right(ends, offset)]

    @cached_property
    def _uniform(self) -> bool:
        """Whether all that differs is that each line ends in `\\r\\n`."""
        return not self.masked and self._part.count("\n") == len(self._part) - len(self.flat)

    @cached_property
    def _shrunk(self) -> tuple[list[int], list[int] | range]:
        """Where in the flat text each shortened run ends, and the sum of what was left out before
        each of them."""
        if not self.masked:
            parts = self._part.split("\r\n")[:-1]
            ends = list(accumulate(map((1).__add__, map(len, parts))))
            return ends, range(len(ends) + 1)
        ends, gains = [], [0]
        for found in _SHRUNK.finditer(self._part):
            gains.append(gains[-1] + len(found[0]) - 1)
            ends.append(found.end() - gains[-1])
        return ends, gains

    def stands_for(self, old: str, span: Span) -> bool:
        """Whether the unreadable runs of the text in `span` can be those of `old`, as sent.

        One U+FFFD stands for one to three bytes.
        """
        if not self.masked:
            return True
        there = self.whole[self.at(span[0]) : self.at(span[1])]
        found, sent = unreadable(there), unreadable(old)
        return len(found) == len(sent) and all(
            k <= n <= 3 * k for k, n in zip(sent, found, strict=True)
        )

    def places(self, wanted: str, limit: int) -> list[Span]:
        """The first `limit` places of `wanted`, left to right, that do not overlap."""
        return list(_take(find_all(self.flat, wanted), limit))

    @cached_property
    def lines(self) -> list[str]:
        return self.flat.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins in the flat text; one more for the end."""
        return list(accumulate(map((1).__add__, map(len, self.lines)), initial=0))

    def line(self, offset: int) -> int:
        """The number, counted from 1 in the whole text, of the line that holds `offset`."""
        return self._first_line + self.flat.count("\n", 0, offset)

    @cached_property
    def _first_line(self) -> int:
        return 1 + self.whole.count("\n", 0, self._start)

    def row(self, offset: int) -> int:
        """The index in `lines` of the line that holds `offset`."""
        return bisect_right(self.starts, offset) - 1

    def window(self, row: int, count: int) -> Span:
        """`count` whole lines from `row`, without the last one's ending."""
        return self.starts[row], self.starts[row + count] - 1

    def region(self, span: Span, difference: str, around: int = 2) -> Region:
        """The lines of `span` and some `around` it, as a model may copy them."""
        first = max(self.row(span[0]) - around, 0)
        last = min(self.row(span[1]) + around + 1, len(self.lines), first + _LINES_SHOWN)
        rows = self.lines[first:last]
        if any(len(row) > _LINE_SHOWN for row in rows):
            difference += f"; lines are cut here after {_LINE_SHOWN} characters"
            rows = [row[:_LINE_SHOWN] for row in rows]
        text = _ODD.sub(UNREADABLE, "\n".join(rows))
        return Region(line=self._first_line + first, text=text, difference=difference)


def find_all(text: str, wanted: str) -> Iterator[Span]:
    """Each place of `wanted` that does not overlap the one before."""
    at = text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        yield at, end
        at = text.find(wanted, end)


def _take(spans: Iterator[Span], limit: int) -> Iterator[Span]:
    for span, _ in zip(spans, range(limit), strict=False):
        yield span
