"""The hunks of one file, put into its text: found line by line, chosen by what the patch says.

Lines are compared whole and without their endings. A hunk whose lines stand nowhere as they are is
left to `find_edit`, which also says what is near. Lines of context keep the bytes that they have.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from hermes.tools.files.edits import Edit, NoChange, Outcome, Refusal, Region, splice
from hermes.tools.files.matching.find import find_edit
from hermes.tools.files.matching.loose import plain
from hermes.tools.files.matching.source import UNREADABLE
from hermes.tools.files.v4a_places import (
    Place,
    after_hints,
    choose,
    ending_at,
    find_rows,
    line_number,
    made_where_meant,
    row_end,
    rows_at,
    rows_before,
    sections,
)
from hermes.tools.files.v4a_types import FaultCode, Hunk, Problem, Row

TRIES: Final = 20
"""Sections in which a loose match is looked for at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Updated:
    """A file's text with its hunks in it, as far as they could be; `notes` are for the model.

    `done` counts hunks that had been applied before. With problems, `text` is of no use.
    """

    text: str
    notes: tuple[str, ...]
    done: int
    problems: tuple[Problem, ...]


def update(text: str, hunks: Sequence[Hunk], path: str) -> Updated:
    """`text`, the file at `path`, with `hunks` applied in order."""
    work = _Work(text, path)
    for hunk in hunks:
        work.apply(hunk)
    return Updated(
        text=work.result(), notes=tuple(work.notes), done=work.done, problems=tuple(work.problems)
    )


class _Work:
    """The text while hunks are put into it: always ended by a newline, if not empty.

    `_bare` tells that the real one has no final newline.
    """

    def __init__(self, text: str, path: str) -> None:
        self.notes: list[str] = []
        self.problems: list[Problem] = []
        self.done = 0
        self._path = path
        self._bare = bool(text) and not text.endswith("\n")
        # A lone \r at the very end is a character of the last line, not half of an ending.
        self._cut_cr = not text.endswith("\r")
        ending = ending_at(text, len(text)) if self._cut_cr else "\n"
        self._text = text + ending if self._bare else text
        self._cursor = 0
        self._again = True  # each hunk so far had been applied before
        self._shift = 0

    def result(self) -> str:
        if not self._bare:
            return self._text
        text = self._text.removesuffix("\n")
        return text.removesuffix("\r") if self._cut_cr else text

    def apply(self, hunk: Hunk) -> None:
        variants = _variants(hunk)
        stripped = variants[-1]
        if not _old(stripped.lines):
            # Only blank lines are around the new ones: context if they are counted, or layout.
            variants = [v for v in variants if _old(v.lines) and v.at is not None]
            if not variants:
                self._insert(stripped)
                return
        if all(kind == " " for kind, _ in hunk.lines) and hunk.old_bare == hunk.new_bare:
            return
        for variant in variants:
            places = find_rows(self._text, _old(variant.lines))
            if places:
                self._settle(variant, places)
                return
        self._search(variants[-1])

    def _settle(self, hunk: Hunk, places: Sequence[Place]) -> None:
        """Apply `hunk` at the one of `places` that it means."""
        cursor = self._cursor if self._again else 0
        says_where = cursor or hunk.hints or hunk.at_end or hunk.to is not None
        made = find_rows(self._text, _new(hunk.lines)) if says_where and _is_telling(hunk) else []
        if meant := made_where_meant(self._text, places, made, hunk, cursor, self._shift):
            self._note_done(hunk, meant.start)
            self._cursor = meant.end
            return
        left = choose(self._text, places, hunk, self._cursor, self._shift)
        if len(left) > 1:
            self._refuse_many(hunk, left)
            return
        place = left[0]
        old, new = _old(hunk.lines), _new(hunk.lines)
        extra = len(new) - len(old)
        # What has context on both sides stands where it does for the first time.
        begins, ends = (hunk.lines[n][0] == "+" for n in (0, -1))
        there = extra > 0 and (
            (ends and new[: len(old)] == old and rows_at(self._text, place.start, new))
            or (begins and new[extra:] == old and rows_before(self._text, place.start, new[:extra]))
        )
        if there:
            self._note_done(hunk, place.start)
            self._cursor = place.end
            return
        self._put(place, hunk)

    def _put(self, place: Place, hunk: Hunk) -> None:
        added = "".join(text for kind, text in hunk.lines if kind == "+")
        if UNREADABLE in added and re.search("[\ud800-\udfff]", self._text):
            message = (
                "\ufffd in a new line stands for a byte that is no text, and cannot be written. "
                "Leave lines with it as context."
            )
            self._refuse(hunk, "masked", message)
            return
        self._replace(place, _spliced(self._text, place, hunk.lines), hunk)
        self._shift += len(_new(hunk.lines)) - len(_old(hunk.lines))

    def _replace(self, place: Place, text: str, hunk: Hunk) -> None:
        if place.end == len(self._text) and (hunk.old_bare or hunk.new_bare):
            self._bare, self._cut_cr = hunk.new_bare, True
        elif place.end == len(self._text) and hunk.lines[-1][0] != " ":
            self._cut_cr = True
        self._again = False
        self._text = self._text[: place.start] + text + self._text[place.end :]
        self._cursor = place.start + len(text)

    def _insert(self, hunk: Hunk) -> None:
        """Only additions: at the end, or below the line that the hints name."""
        rows = _new(hunk.lines)
        end = len(self._text)
        if not self._text or hunk.at_end or not (hunk.hints or hunk.at is not None):
            if rows_before(self._text, end, rows):
                self._note_done(hunk, end)
                return
            at = end
        elif hunk.at is not None:
            message = (
                "only additions, and a line number alone is no safe place for them. Repeat one or "
                "more lines of the file as context, led by a space."
            )
            self._refuse(hunk, "no_place", message)
            return
        else:
            anchors = after_hints(self._text, hunk.hints)
            later = [anchor for anchor in anchors if anchor.end >= self._cursor]
            anchors = later if len(anchors) > 1 and later else anchors
            if len(anchors) != 1:
                self._refuse_anchor(hunk, anchors)
                return
            at = anchors[0].end
            if rows_at(self._text, at, rows) is not None:
                self._note_done(hunk, at)
                return
        self._put(Place(at, at), hunk)

    def _search(self, hunk: Hunk) -> None:
        """Lines that stand nowhere as they are: a proven loose match, or what is near."""
        old = "".join(f"{row}\n" for row in _old(hunk.lines))
        new = "".join(f"{row}\n" for row in _new(hunk.lines))
        if parts := _parts_of_lines(self._text, old):
            self._refuse_parts(hunk, parts)
            return
        outcome = self._found(hunk, old, new)
        match outcome:
            case Edit() if _inside_a_line(self._text, outcome, _old(hunk.lines)):
                number = line_number(self._text, outcome.pieces[0].start)
                self._refuse_parts(hunk, [number])
            case Edit():
                self._take(hunk, outcome)
            case NoChange() if _is_telling(hunk):
                self.done += 1
                self._note(hunk, outcome.note)
            case Refusal(code="not_found" | "differs") if made := self._made(hunk):
                self._note_done(hunk, made.start)
                self._cursor = made.end
            case Refusal():
                self._refuse(hunk, outcome.code, outcome.message, outcome.regions)
            case NoChange():
                near = find_edit(self._text, old, "")
                regions = near.regions if isinstance(near, Refusal) else ()
                message = "the lines to remove are not in the file. Copy them as read_file shows."
                self._refuse(hunk, "not_found", message, regions)

    def _found(self, hunk: Hunk, old: str, new: str) -> Outcome:
        """What `find_edit` says of the whole text, or if it finds several, of where to look."""
        outcome = find_edit(self._text, old, new)
        if not isinstance(outcome, Refusal) or outcome.code != "ambiguous":
            return outcome
        windows = sections(self._text, hunk.hints) if hunk.hints else []
        windows += [Place(self._cursor, len(self._text))] if self._cursor else []
        for window in windows if len(windows) < TRIES else ():
            tried = find_edit(self._text, old, new, within=(window.start, window.end))
            if isinstance(tried, Edit):
                return tried
        return outcome

    def _take(self, hunk: Hunk, edit: Edit) -> None:
        start, end = edit.pieces[0].start, edit.pieces[-1].end
        text = splice(self._text[:end], edit.pieces)[start:]
        self._replace(Place(start, end), text, hunk)
        self._shift += len(_new(hunk.lines)) - len(_old(hunk.lines))
        if edit.note:
            self._note(hunk, edit.note)

    def _made(self, hunk: Hunk) -> Place | None:
        """Where the new lines of `hunk` stand, its old ones being nowhere, if that proves that
        it has been applied."""
        places = find_rows(self._text, _new(hunk.lines)) if _is_telling(hunk) else []
        return places[0] if len(places) == 1 else None

    def _note(self, hunk: Hunk, note: str) -> None:
        self.notes.append(f"line {hunk.line} of the patch ({self._path}): {_in_our_words(note)}")

    def _note_done(self, hunk: Hunk, at: int) -> None:
        self.done += 1
        self._note(hunk, f"this is so already, at line {line_number(self._text, at)}.")

    def _refuse_many(self, hunk: Hunk, places: Sequence[Place]) -> None:
        message = (
            f"these lines stand {_times(len(places))}, at {_numbers(self._text, places)}. Add "
            "lines of context that only the one place has, or an `@@ ` line with the line that it "
            "is below."
        )
        self._refuse(hunk, "ambiguous", message)

    def _refuse_anchor(self, hunk: Hunk, anchors: Sequence[Place]) -> None:
        hint = " / ".join(hunk.hints)
        if anchors:
            message = (
                f"only additions, and the line that `{hint}` names stands {_times(len(anchors))}, "
                f"at {_numbers(self._text, anchors)}. Repeat lines of context, led by a space."
            )
            self._refuse(hunk, "ambiguous", message)
        else:
            message = f"only additions, and no line has `{hint}`. Copy a line that is in the file."
            self._refuse(hunk, "no_place", message)

    def _refuse_parts(self, hunk: Hunk, numbers: Sequence[int]) -> None:
        message = (
            f"the text of this hunk stands only within longer lines, at line {numbers[0]}. Copy "
            "whole lines, as read_file shows them."
        )
        self._refuse(hunk, "not_found", message)

    def _refuse(
        self, hunk: Hunk, code: FaultCode, message: str, regions: tuple[Region, ...] = ()
    ) -> None:
        regions = tuple(
            replace(region, difference=_in_our_words(region.difference)) for region in regions
        )
        problem = Problem(
            code=code,
            line=hunk.line,
            message=f"{self._path}: {_in_our_words(message)}",
            regions=regions,
        )
        self.problems.append(problem)


def _variants(hunk: Hunk) -> list[Hunk]:
    """`hunk` as it is written, then without bare empty lines at its end, then at its start."""
    head, tail = hunk.blank
    found = [hunk]
    if tail:
        found.append(replace(hunk, lines=hunk.lines[: len(hunk.lines) - tail], blank=(head, 0)))
    if head:
        found.append(replace(found[-1], lines=found[-1].lines[head:], blank=(0, 0)))
    return found


def _old(lines: Sequence[Row]) -> list[str]:
    return [text for kind, text in lines if kind != "+"]


def _new(lines: Sequence[Row]) -> list[str]:
    return [text for kind, text in lines if kind != "-"]


def _spliced(text: str, place: Place, lines: Sequence[Row]) -> str:
    """What stands at `place` once `lines` are applied: context as it is, new lines ended as those
    that they replace, or else as their neighbours."""
    parts: list[str] = []
    at = place.start
    for context, run in groupby(lines, lambda row: row[0] == " "):
        rows = list(run)
        if context:
            end = at
            for _ in rows:
                end = row_end(text, end)
            parts.append(text[at:end])
            at = end
            continue
        ends: list[str] = []
        start = at
        for kind, _ in rows:
            if kind == "-":
                at = row_end(text, at)
                ends.append("\r\n" if text.endswith("\r\n", 0, at) else "\n")
        ends = ends or [ending_at(text, start)]
        added = [row for kind, row in rows if kind == "+"]
        parts += [row + ends[min(n, len(ends) - 1)] for n, row in enumerate(added)]
    return "".join(parts)


def _is_telling(hunk: Hunk) -> bool:
    """Whether the new lines of `hunk`, its old ones being nowhere, show that it was applied.

    Lines that were only removed leave what was around them: that must be on both sides.
    """
    new = _new(hunk.lines)
    if any(kind == "+" for kind, _ in hunk.lines):
        return any(any(map(str.isalnum, row)) for row in new)
    return len(new) > 1 and hunk.lines[0][0] == hunk.lines[-1][0] == " "


def _parts_of_lines(text: str, old: str) -> list[int]:
    """The numbers of lines in which `old` begins behind other text."""
    flat = text.replace("\r\n", "\n")
    found: list[int] = []
    at = flat.find(old)
    while at >= 0 and not found:
        if flat[flat.rfind("\n", 0, at) + 1 : at].strip():
            found.append(line_number(flat, at))
        at = flat.find(old, at + 1)
    return found


def _inside_a_line(text: str, edit: Edit, old: Sequence[str]) -> bool:
    """Whether `edit` takes the end of a line for one of the lines `old`."""
    at = edit.pieces[0].start
    row = _condensed(text[text.rfind("\n", 0, at) + 1 : row_end(text, at)])
    wanted = {_condensed(line) for line in old} - {""}
    return row not in wanted and any(row.endswith(line) for line in wanted)


def _condensed(row: str) -> str:
    return "".join(plain(row).split())


def _in_our_words(message: str) -> str:
    """A message of `find_edit`, which speaks of the arguments of an edit of one place."""
    message = message.replace("old_string", "the old text of the hunk")
    return message.replace("new_string", "the new text of the hunk")


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _numbers(text: str, places: Sequence[Place]) -> str:
    shown = ", ".join(str(line_number(text, place.start)) for place in places[:8])
    return f"lines {shown}" + (", ..." if len(places) > 8 else "")
