"""From places that were found to the pieces of an edit, or the reason why there can be none."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from hermes.tools.files.edits import Edit, NoChange, Piece, Refusal
from hermes.tools.files.matching import applied
from hermes.tools.files.matching.escapes import refused
from hermes.tools.files.matching.narrow import Change, changes
from hermes.tools.files.matching.source import UNREADABLE, Source, Span

_ENDING: Final = re.compile("\r?\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """`places` of `old` in the flat text, by `strategy`, and the `new` that belongs there.

    `sent` is the new text as it was sent, which all that is written must be part of. `fine`: the
    places are `old` but for single characters, so that parts of lines can be kept.
    """

    places: Sequence[Span]
    old: str
    new: str
    sent: str
    strategy: str
    fine: bool = False
    note: str | None = None


def edit(source: Source, found: Found) -> Edit | NoChange | Refusal:
    """The edit that `found` comes to."""
    endings = _Endings(source)
    same: list[Change] | None = None
    pieces: list[Piece] = []
    loose = found.fine or found.strategy != "exact"
    for place in found.places:
        start, end = place
        region = source.flat[start:end]
        if region == found.old:
            same = todo = same if same is not None else _exact(source, found, region)
        else:
            todo = _loose(found, region)
        if todo is None:
            return _misfit(source, place)
        if loose and (made := _made(source, place, todo)):
            if len(found.places) > 1:
                continue
            return made
        for change in todo:
            if UNREADABLE in change.text and source.odd:
                return masked(source, place)
            if change.text not in found.sent:
                return refused("new_string would bring its escapes into the file")
            at, to = source.at(start + change.start), source.at(start + change.end)
            pieces.append(Piece(start=at, end=to, text=endings.fit(change.text, at, to)))
    if not pieces:
        line = source.line(found.places[0][0])
        return NoChange(note=f"The lines from line {line} read so already; nothing was changed.")
    return Edit(
        pieces=tuple(pieces),
        count=len(found.places),
        strategy=found.strategy,
        note=found.note,
    )


def _exact(source: Source, found: Found, region: str) -> list[Change] | None:
    if found.fine or source.masked or source.crlf:
        return changes(region, region, found.new, fine=found.fine or source.masked)
    return [Change(0, len(region), found.new)]


def _loose(found: Found, region: str) -> list[Change] | None:
    old, new = found.old, found.new
    if old.endswith("\n") and not region.endswith("\n"):
        # The region is at the end of a text without a final line ending, and stays so.
        old, new = old[:-1], new.removesuffix("\n")
    return changes(old, region, new, fine=found.fine)


def _made(source: Source, place: Span, todo: list[Change]) -> NoChange | Refusal | None:
    """The answer if what would come of the region is around it already."""
    region = source.flat[place[0] : place[1]]
    parts: list[str] = []
    at = 0
    for change in todo:
        parts += (region[at : change.start], change.text)
        at = change.end
    return applied.within_new(source, region, "".join([*parts, region[at:]]), [place])


class _Endings:
    """The line endings that new lines get."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._text = source.whole
        self._next = -1

    def fit(self, piece: str, start: int, end: int) -> str:
        """`piece` with the endings of the lines in `[start, end)`, then those of the next line.

        Calls come in the order of the text.
        """
        if "\n" not in piece or not self._source.crlf:
            return piece
        replaced = _ENDING.findall(self._text, start, end)
        more = replaced[-1] if replaced else self._after(end)
        lines = piece.split("\n")
        given = [*replaced[: len(lines) - 1], *[more] * (len(lines) - 1 - len(replaced)), ""]
        return "".join(line + ending for line, ending in zip(lines, given, strict=True))

    def _after(self, end: int) -> str:
        if self._next < end:
            self._next = self._text.find("\n", end)
        if self._next < 0:
            self._next = len(self._text)
        if self._next == len(self._text):
            return self._last
        return "\r\n" if self._next > 0 and self._text[self._next - 1] == "\r" else "\n"

    @cached_property
    def _last(self) -> str:
        at = self._text.rfind("\n")
        return "\r\n" if at > 0 and self._text[at - 1] == "\r" else "\n"


def _misfit(source: Source, place: Span) -> Refusal:
    region = source.region(place, "as the file has it", around=0)
    return Refusal(
        code="indentation",
        message=(
            "old_string is there, but indented otherwise, and new_string adds or re-indents "
            "lines, whose indentation must not be guessed. Nothing was changed. Copy the lines as "
            "shown into old_string, and indent new_string like them."
        ),
        regions=(region,),
    )


def masked(source: Source, place: Span) -> Refusal:
    """The answer to an edit that would write what stands for bytes that are no text."""
    return Refusal(
        code="masked",
        message=(
            "\ufffd stands for a byte of the file that is no text, and cannot be written as a new "
            "one. Nothing was changed. Choose old_string and new_string without it, or leave the "
            "text around it the same in both."
        ),
        regions=(source.region(place, "holds bytes that are no text", around=0),),
    )
