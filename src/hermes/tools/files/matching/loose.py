"""Places that are the old text but for blanks or typography.

The reference's order is exact, line_trimmed, whitespace_normalized, indentation_flexible,
escape_normalized, trimmed_boundary, unicode_normalized, block_anchor, context_aware. Two of these
have no code here, for they cannot decide: each window that indentation_flexible or
trimmed_boundary would accept, line_trimmed accepts too, and it comes first.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from itertools import islice
from typing import Final

from hermes.tools.files.matching.source import BLANK, Source, Span, find_all
from hermes.tools.files.matching.tokens import stands

_PLAIN: Final[dict[str, str]] = {
    **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
    **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
    "\u2014": "--",
    **dict.fromkeys("\u2010\u2011\u2013\u2212", "-"),
    "\u2026": "...",
    **dict.fromkeys("\u00a0\u202f\u205f\u3000", " "),
    **{chr(code): " " for code in range(0x2000, 0x200B)},
}
_LONGER: Final = re.compile("[\u2014\u2026]")
_BLANKS: Final = re.compile(r"[ \t]{2,}|\t")


def plain(text: str) -> str:
    """`text` with plain quotes, dashes, dots and spaces for the typographic ones."""
    if not text.isascii():
        for char, instead in _PLAIN.items():
            # Far faster than a table on a long text, which holds few of them.
            if char in text:
                text = text.replace(char, instead)
    return text


def pairs(old: str, there: str) -> list[Span] | None:
    """The offsets in `old` and `there` up to which both say the same, typography aside; None
    where they do not."""
    bounds = []
    for text in (old, there):
        at, found = 0, {0: 0}
        for n, char in enumerate(text, 1):
            at += len(_PLAIN.get(char, char))
            found[at] = n
        bounds.append(found)
    if plain(old) != plain(there):
        return None
    return [(bounds[0][at], bounds[1][at]) for at in bounds[0] if at in bounds[1]]


def line_trimmed(source: Source, old: str, limit: int) -> list[Span]:
    """Whole lines that are those of `old`, but for blanks at their ends."""
    return _lines(source, source.lines, old, limit)


def whitespace_normalized(source: Source, old: str, limit: int) -> list[Span]:
    """Places that are `old` but for the length of runs of blanks within lines."""
    if " " not in old and "\t" not in old:
        return []
    mapped = _Mapped(source, _collapsed(source.flat), _BLANKS, _one)
    return mapped.search(_collapsed(old), limit)


def unicode_normalized(source: Source, old: str, limit: int) -> list[Span]:
    """Places that are `old` but for typography; else whole lines that are, blanks aside."""
    if source.flat.isascii() and old.isascii():
        return []
    wanted, text = plain(old), plain(source.flat)
    if found := _Mapped(source, text, _LONGER, _plain_length).search(wanted, limit):
        return found
    return _lines(source, text.split("\n"), wanted, limit)


def _lines(source: Source, lines: list[str], old: str, limit: int) -> list[Span]:
    """Windows in `lines`, which are those of the source or stand for them, that say `old`."""
    ending = old.endswith("\n")
    wanted = [line.strip(BLANK) for line in old.removesuffix("\n").split("\n")]
    if not any(wanted):
        return []
    text = "\n" + "\n".join([line.strip(BLANK) for line in lines]) + "\n"
    needle = "\n" + "\n".join(wanted) + "\n"
    found: list[Span] = []
    at, row, counted = text.find(needle), 0, 0
    while at >= 0 and len(found) < limit:
        row += text.count("\n", counted, at)
        counted = at
        start, end = source.window(row, len(wanted))
        # An ending that old has and the last line of the text has not is no difference.
        found.append((start, min(end + ending, len(source.flat))))
        at = text.find(needle, at + len(needle) - 1)
    return found


def _collapsed(text: str) -> str:
    text = text.replace("\t", " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text


def _one(_: str) -> int:
    return 1


def _plain_length(char: str) -> int:
    return len(_PLAIN[char])


class _Mapped:
    """The text of `source` with other characters for what `pattern` finds, in `size` each."""

    def __init__(
        self, source: Source, text: str, pattern: re.Pattern[str], size: Callable[[str], int]
    ) -> None:
        self._source = source
        self._text = text
        self._pattern = pattern
        self._size = size

    def search(self, wanted: str, limit: int) -> list[Span]:
        """Places in the flat text that say `wanted`, as whole words."""
        spans = ((self._back(a), self._back(b)) for a, b in find_all(self._text, wanted))
        whole = (
            (a, b)
            for a, b in spans
            if a is not None and b is not None and stands(self._source.flat, a, b)
        )
        return list(islice(whole, limit))

    @cached_property
    def _runs(self) -> tuple[list[int], list[tuple[int, int, int]]]:
        """Where runs begin in `text`; and their ends there, begins and ends in the flat text."""
        starts, rest, shift = [], [], 0
        for found in self._pattern.finditer(self._source.flat):
            start = found.start() + shift
            end = start + self._size(found[0])
            shift = end - found.end()
            starts.append(start)
            rest.append((end, found.start(), found.end()))
        return starts, rest

    def _back(self, offset: int) -> int | None:
        """The offset in the flat text; None in the middle of what is one character there."""
        starts, rest = self._runs
        at = bisect_right(starts, offset) - 1
        if at < 0:
            return offset
        end, was_start, was_end = rest[at]
        if offset == starts[at]:
            return was_start
        return None if offset < end else was_end + offset - end


Strategy = Callable[[Source, str, int], list[Span]]
"""Up to so many places in the flat text, in order."""
