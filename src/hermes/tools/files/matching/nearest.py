"""What an edit that missed is told: the lines that come nearest, and how they differ."""

from itertools import zip_longest
from typing import Final

from hermes.tools.files.edits import Refusal, Region
from hermes.tools.files.matching.loose import plain
from hermes.tools.files.matching.similar import Candidate, Similar
from hermes.tools.files.matching.source import BLANK, Source, Span, margin
from hermes.tools.files.matching.tokens import differing, kind, words

_QUOTED: Final = 60
_NAMED: Final = 3

_LINES: Final = 4
"""Differing lines of which it is said how."""


def not_found(source: Source, similar: Similar, old: str, hint: str | None) -> Refusal:
    """Old is not in the text; `hint` says more."""
    regions = tuple(near(similar, c, old) for c in similar.nearest())
    message = "old_string is not in the file, not even with other blanks."
    if hint:
        message = f"{message} {hint}"
    if similar.cut:
        message += " The file is too large or too uniform for all of it to be compared closely."
    if regions:
        message += (
            " The nearest lines are shown: copy them as they stand, or read the file again from "
            f"line {regions[0].line}."
        )
    else:
        message += " Nothing in it is much like it: read the file again, or search it for a word."
    return Refusal(code="not_found", message=message, regions=regions)


def near(similar: Similar, candidate: Candidate, old: str) -> Region:
    """The lines at `candidate`, and how they differ from `old`."""
    span = similar.span(candidate)
    there = similar.source.flat[span[0] : span[1]]
    return similar.source.region(span, difference(old, there))


def ambiguous(source: Source, places: list[Span], count: str) -> Refusal:
    """Old fits in `count` places, of which some are shown."""
    return Refusal(
        code="ambiguous",
        message=(
            f"old_string fits in {count} places. Add lines around the one that is meant, so that "
            "it fits once, or set replace_all to change all of them."
        ),
        regions=tuple(
            source.region(place, f"place {n}", around=1) for n, place in enumerate(places[:5], 1)
        ),
    )


def difference(old: str, there: str) -> str:
    """In a few words, how `there` differs from `old`."""
    old, there = old.removesuffix("\n"), there.removesuffix("\n")
    if "".join(old.split()) == "".join(there.split()):
        return _blanks(old, there)
    if plain(old).split() == plain(there).split():
        return "typographic quotes, dashes or spaces differ"
    if " ".join(old.split()).casefold() == " ".join(there.split()).casefold():
        return "upper and lower case differ"
    rows = [(a, b) for a, b in zip(old.split("\n"), there.split("\n"), strict=False) if a != b]
    if not rows:
        return "the file ends before the last of these lines"
    old, there = ("\n".join(side) for side in zip(*rows[:_LINES], strict=True))
    runs = differing(old, there)
    if runs is None:
        return "words differ"
    shown = "; ".join(_shown(a, b) for a, b in runs[:_NAMED])
    kinds = {kind(token) for run in runs for side in run for token in words(side)}
    if kinds <= {"number"}:
        what = "numbers differ"
    elif kinds <= {"punctuation", "operator"}:
        what = "punctuation differs"
    else:
        what = "words differ"
    return f"{what}: {shown}" if shown else what


def _shown(old: str, there: str) -> str:
    if not old:
        return f"the file also has {_cut(there)}"
    if not there:
        return f"the file does not have {_cut(old)}"
    return f"{_cut(old)} is {_cut(there)} in the file"


def _cut(text: str) -> str:
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "..."


def _blanks(old: str, there: str) -> str:
    rows = zip_longest(old.split("\n"), there.split("\n"), fillvalue="")
    a, b = next(((a, b) for a, b in rows if a != b), ("", ""))
    what = "blanks"
    if a.lstrip(BLANK) == b.lstrip(BLANK):
        what = "indentation"
    elif a.rstrip(BLANK) == b.rstrip(BLANK):
        what = "blanks at the end of a line"
    return f"{what} differ: sent {_visible(a)}, the file has {_visible(b)}"


def _visible(line: str) -> str:
    """`line` with tabs as arrows, and the blanks around it as dots."""
    body = line.strip(BLANK)
    lead = margin(line) if body else line
    trail = line[len(lead) + len(body) :]
    text = lead.replace(" ", "·") + body + trail.replace(" ", "·")
    return _cut(text.replace("\t", "→"))
