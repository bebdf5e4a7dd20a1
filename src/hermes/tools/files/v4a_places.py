"""Places in a text, found by whole lines, and the choice among several that look the same."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, islice
from typing import Final, NamedTuple

from hermes.tools.files.v4a_types import Hunk

MANY: Final = 10_000
"""Places that are looked at; what stands more often than that cannot be told apart anyway."""

FEW: Final = 50
"""Places of each kind up to which those where a hunk goes are told from those where it is."""

ANCHORS: Final = 50
"""Lines with the text of a hint that are looked at."""


class Place(NamedTuple):
    """Whole lines: `[start, end)` in characters. `end` is behind the last one's newline."""

    start: int
    end: int


def find_rows(text: str, rows: Sequence[str]) -> list[Place]:
    """Where `rows` stand as whole lines, whatever their endings, in a text that ends in a newline
    or is empty."""
    crlf = text.count("\r\n") if "\r" in text else 0
    if not crlf or crlf == text.count("\n"):
        ending = "\r\n" if crlf else "\n"
        needle = ending.join(rows) + ending
        return [Place(at, at + len(needle)) for at in _starts(text, needle)]
    needle = "\n".join(rows) + "\n"
    # Each ending that is longer there shifts what is behind it by one.
    longer = list(accumulate(len(part) + 1 for part in text.split("\r\n")[:-1]))
    return [
        Place(at + bisect_right(longer, at), end + bisect_right(longer, end))
        for at in _starts(text.replace("\r\n", "\n"), needle)
        for end in (at + len(needle),)
    ]


def _starts(text: str, needle: str) -> list[int]:
    found: list[int] = []
    at = text.find(needle)
    while at >= 0 and len(found) < MANY:
        if at == 0 or text[at - 1] == "\n":
            found.append(at)
        at = text.find(needle, at + 1)
    return found


def rows_at(text: str, at: int, rows: Sequence[str]) -> int | None:
    """The end of `rows`, if they stand at `at`."""
    for row in rows:
        if at >= len(text):
            return None
        end = row_end(text, at)
        if _bare(text[at:end]) != row:
            return None
        at = end
    return at


def rows_before(text: str, at: int, rows: Sequence[str]) -> bool:
    """Whether `rows` are the lines that end at `at`."""
    for row in reversed(rows):
        if at == 0:
            return False
        start = text.rfind("\n", 0, at - 1) + 1
        if _bare(text[start:at]) != row:
            return False
        at = start
    return True


def row_end(text: str, at: int) -> int:
    """The end of the line that `at` is in, behind its newline."""
    end = text.find("\n", at) + 1
    return end or len(text)


def ending_at(text: str, at: int) -> str:
    """The ending for a line that is put in at `at`: as the line before has it, or else the next."""
    first = text.find("\n", at) if at == 0 else text.rfind("\n", 0, at)
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def line_number(text: str, at: int) -> int:
    """The number of the line that begins at `at`, from 1."""
    return text.count("\n", 0, at) + 1


def choose(
    text: str, places: Sequence[Place], hunk: Hunk, cursor: int, shift: int
) -> Sequence[Place]:
    """Those of `places` that `hunk` may mean: the fewer, the more it says.

    `cursor` is where the hunk before ended, `shift` the lines that the hunks before have added.
    Something that fits none of the places says nothing.
    """
    if len(places) > 1 and (hunk.at_end or hunk.old_bare or hunk.new_bare):
        places = _last(text, places)[-1:] or places
    if len(places) > 1 and hunk.hints:
        places = _below(text, places, hunk.hints) or places
    if len(places) > 1:
        places = [place for place in places if place.start >= cursor] or places
    if len(places) > 1 and hunk.at is not None:
        places = _nearest(text, places, hunk.at + shift)
    return places


def made_where_meant(
    text: str,
    places: Sequence[Place],
    made: Sequence[Place],
    hunk: Hunk,
    cursor: int,
    shift: int,
) -> Place | None:
    """The one of `made`, where the new lines of `hunk` stand, that is where the patch says, if
    none of `places` is there: the hunk has been applied, and what is left is not meant.

    `cursor` is where the hunk before stands, if that has been applied earlier too, or 0; `shift`
    the lines that the hunks before have added.
    """
    if max(len(places), len(made)) > FEW:
        return None
    free = [m for m in made if all(m.end <= p.start or p.end <= m.start for p in places)]
    if hunk.at_end and not _last(text, places) and (found := _last(text, free)):
        return found[-1]
    below = [] if not hunk.hints else _below(text, free, hunk.hints)
    if below and not _below(text, places, hunk.hints):
        return below[0]
    if hunk.to is not None and hunk.at is not None:
        found = [place for place in free if line_number(text, place.start) == hunk.to]
        meant = hunk.at + shift
        if found and all(line_number(text, place.start) != meant for place in places):
            return found[0]
    if cursor and all(place.start < cursor for place in places):
        return next((place for place in free if place.start >= cursor), None)
    return None


def _last(text: str, places: Sequence[Place]) -> list[Place]:
    """The places with nothing but blank lines behind them."""
    return [place for place in places if not text[place.end :].strip("\r\n")]


def _nearest(text: str, places: Sequence[Place], line: int) -> Sequence[Place]:
    """The place that is clearly nearest to `line`; models miscount."""
    ranked: list[tuple[int, Place]] = []
    number, last = 1, 0
    for place in places:
        number += text.count("\n", last, place.start)
        last = place.start
        ranked.append((abs(number - line), place))
    ranked.sort()
    return [ranked[0][1]] if 2 * ranked[0][0] < ranked[1][0] else places


def _below(text: str, places: Sequence[Place], hints: Sequence[str]) -> list[Place]:
    """The places in the sections that `hints` name; where such a section has none, the first
    one below it."""
    found: set[Place] = set()
    named = sections(text, hints)
    # What stands on so many lines is no hint.
    for start, end in named if len(named) < ANCHORS else ():
        later = [place for place in places if place.start >= start]
        found.update([place for place in later if place.start < end] or later[:1])
    return sorted(found)


def sections(text: str, hints: Sequence[str]) -> list[Place]:
    """Each line that `hints` lead to, with the lines below it that belong to it."""
    return [Place(line.start, _section_end(text, line)) for line in after_hints(text, hints)]


def after_hints(text: str, hints: Sequence[str]) -> list[Place]:
    """The lines that the last of `hints` may name, each below a line for the hint before."""
    found = _lines_with(text, hints[0])
    for hint in hints[1:]:
        lines = _lines_with(text, hint)
        inner: set[Place] = set()
        for outer in found:
            end = _section_end(text, outer)
            later = [line for line in lines if line.start >= outer.end]
            inner.update([line for line in later if line.start < end] or later[:1])
        found = sorted(inner)
    return found


def _lines_with(text: str, hint: str) -> list[Place]:
    """The lines that are `hint`, or else have it as a word, or else in any way."""
    plain = re.escape(hint)
    # Begun with what is looked for, a pattern is sought fast.
    word = rf"{plain}(?<!\w{plain})(?!\w)"
    for pattern in (rf"^[^\S\n]*{plain}[^\S\n]*$", word, plain) if hint in text else ():
        hits = islice(re.finditer(pattern, text, re.MULTILINE), ANCHORS)
        lines = {text.rfind("\n", 0, hit.start()) + 1: None for hit in hits}
        if lines:
            return [Place(start, row_end(text, start)) for start in lines]
    return []


def _section_end(text: str, line: Place) -> int:
    """Where the lines end that belong to `line`: those indented more, blank, or of brackets."""
    depth = _depth(text[line.start : line.end])
    at = line.end
    while at < len(text):
        end = row_end(text, at)
        row = text[at:end]
        if any(map(str.isalnum, row)) and _depth(row) <= depth:
            return at
        at = end
    return at


def _depth(row: str) -> int:
    row = row.expandtabs()
    return len(row) - len(row.lstrip())


def _bare(row: str) -> str:
    return row.removesuffix("\n").removesuffix("\r")
