"""Where in a text an edit belongs, and what it changes there."""

from typing import Final

from hermes.tools.files.edits import Edit, NoChange, Outcome, Refusal
from hermes.tools.files.matching import applied, escapes
from hermes.tools.files.matching.loose import (
    Strategy,
    line_trimmed,
    unicode_normalized,
    whitespace_normalized,
)
from hermes.tools.files.matching.nearest import ambiguous, near, not_found
from hermes.tools.files.matching.pieces import Found, edit, masked
from hermes.tools.files.matching.similar import GAP, Candidate, Similar
from hermes.tools.files.matching.source import UNREADABLE, Source, Span, unreadable
from hermes.tools.files.matching.tokens import differing, risky, stands

_PLACES: Final = 50_000
"""Places that one edit may change."""

_LOOSE_PLACES: Final = 1_000

_SHOWN: Final = 6
"""Places that are looked for when only one may be: five to show, and one to know of more."""

_BEFORE_ESCAPES: Final[tuple[tuple[str, Strategy], ...]] = (
    ("line_trimmed", line_trimmed),
    ("whitespace_normalized", whitespace_normalized),
)


def find_edit(
    text: str,
    old: str,
    new: str,
    *,
    replace_all: bool = False,
    within: Span | None = None,
) -> Outcome:
    """What replacing `old` by `new` in `text` comes to.

    `text` has its own line endings, and lone surrogates for bytes that are no text; `old` and
    `new` may end lines in either way. `within` limits where a match may lie, in offsets of
    `text`. A piece holds characters of `new` only, line endings aside. Never raises.
    """
    if not old.strip():
        return Refusal(
            code="empty_old",
            message=(
                "old_string is blank. Send the text that is to be replaced; to make a new file, "
                "use write_file."
            ),
        )
    source = Source(text, within, masks=UNREADABLE in old)
    search = _Search(source, old, new, everywhere=replace_all)
    if search.old == search.new:
        return Refusal(
            code="identical",
            message=(
                "old_string and new_string are the same, line endings aside. Send the text that "
                "shall be there in new_string."
            ),
        )
    return search.outcome()


class _Search:
    """One search of `old`, to be replaced by `new`, in `source`."""

    def __init__(self, source: Source, old: str, new: str, *, everywhere: bool) -> None:
        self.source = source
        self.sent = old, new
        self.old = source.shown(old)
        self.new = source.shown(new)
        self.everywhere = everywhere

    def outcome(self) -> Outcome:
        if places := self._exact(self.old):
            return self._at_exact(places)
        made = applied.there(self.source, self.old, self.new, once=not self.everywhere)
        loose = self._loose()
        if made is not None and (answer := self._made(made, loose)):
            return answer
        if loose is None:
            return self._similar()
        return loose if isinstance(loose, Refusal) else self._at_loose(loose)

    def _exact(self, old: str) -> list[Span]:
        places = self.source.places(old, _PLACES + 1)
        if len(places) == 1 and not self.everywhere:
            # A second place may begin within the first.
            start = self.source.flat.find(old, places[0][0] + 1)
            places += [(start, start + len(old))] if start >= 0 else []
        return [span for span in places if self.source.stands_for(self.sent[0], span)]

    def _at_exact(self, places: list[Span]) -> Outcome:
        note = None
        if self.everywhere:
            todo = applied.not_yet(self.source, self.old, self.new, places)
            if not todo:
                return applied.done(self.source, places[0])
            if len(todo) < len(places):
                left = len(places) - len(todo)
                note = f"Left alone, for new_string is there already: {left} of {len(places)}."
            places = todo
        elif made := applied.within_new(self.source, self.old, self.new, places):
            return made
        return self._edit(
            Found(
                places=places,
                old=self.old,
                new=self.new,
                sent=self.new,
                strategy="exact",
                note=note,
            )
        )

    def _edit(self, found: Found) -> Edit | NoChange | Refusal:
        """The edit at `found`, if it may be made at so many places."""
        limit = _PLACES if found.strategy == "exact" else _LOOSE_PLACES
        count = len(found.places)
        if count > 1 and not self.everywhere:
            more = f"{count}" if found.strategy == "exact" or count < _SHOWN else f"{count - 1}+"
            return ambiguous(self.source, list(found.places), more)
        if count > limit:
            return Refusal(
                code="ambiguous",
                message=(
                    f"old_string fits in more than {limit:,} places. Nothing was changed. Choose "
                    "a longer old_string, or use a command for it."
                ),
            )
        if self.source.masked:
            # Each unreadable run of new must be one of old, as long, in the same order.
            runs = iter(unreadable(self.sent[0]))
            if not all(run in runs for run in unreadable(self.sent[1])):
                return masked(self.source, found.places[0])
        return edit(self.source, found)

    def _loose(self) -> Found | Refusal | None:
        """Places that are old but for blanks, escapes or typography, by the first way to do it."""
        for reading in (escapes.quotes, escapes.doubled):
            if read := reading(self.source, self.old, self.new):
                return self._read(read, "exact")
        limit = _LOOSE_PLACES + 1 if self.everywhere else _SHOWN
        for name, strategy in _BEFORE_ESCAPES:
            if found := self._found(strategy(self.source, self.old, limit), name):
                return found
        if read := escapes.controls(self.source, self.old, self.new):
            return self._read(read, "escape_normalized")
        places = unicode_normalized(self.source, self.old, limit)
        return self._found(places, "unicode_normalized")

    def _read(self, read: escapes.Reading | Refusal, strategy: str) -> Found | Refusal:
        """Places of the old text, read with other escapes."""
        if isinstance(read, Refusal):
            return read
        return Found(
            places=self.source.places(read.old, _PLACES + 1),
            old=read.old,
            new=read.new,
            sent=self.new,
            strategy=strategy,
            fine=True,
            note=read.note,
        )

    def _found(self, places: list[Span], name: str) -> Found | None:
        sure = [span for span in places if self.source.stands_for(self.sent[0], span)]
        if not sure:
            return None
        fine = self.source.masked or name == "unicode_normalized"
        return Found(
            places=sure, old=self.old, new=self.new, sent=self.new, strategy=name, fine=fine
        )

    def _at_loose(self, loose: Found) -> Outcome:
        if loose.old == self.old:
            for start, end in loose.places:
                if why := escapes.drift(self.old, self.new, self.source.flat[start:end]):
                    return why
        return self._edit(loose)

    def _made(self, made: Span, loose: Found | Refusal | None) -> NoChange | Refusal | None:
        """The answer if the edit is made: the new text is at `made` and the old one nowhere,
        unless it is what was found as `loose`."""
        if isinstance(loose, Found):
            apart = [p for p in loose.places if p[1] <= made[0] or p[0] >= made[1]]
            if apart:
                return Refusal(
                    code="ambiguous",
                    message=(
                        "new_string is there already, and old_string is not, but for lines that "
                        "have other blanks or signs. If those are meant, copy them as shown into "
                        "old_string; otherwise nothing is to be done."
                    ),
                    regions=(
                        self.source.region(made, "new_string", around=0),
                        self.source.region(apart[0], "nearly old_string", around=0),
                    ),
                )
        return applied.done(self.source, made) if stands(self.source.flat, *made) else None

    def _similar(self) -> Outcome:
        similar = Similar(self.source, self.old)
        for name, find in (
            ("block_anchor", similar.block_anchor),
            ("context_aware", similar.context_aware),
        ):
            if candidates := find():
                return self._at_similar(similar, candidates, name)
        hint = None
        if self.new.strip() and self.new in self.source.flat:
            line = self.source.line(self.source.flat.index(self.new))
            hint = f"new_string is there, at line {line}: perhaps the edit is made already."
        return not_found(self.source, similar, self.old, hint)

    def _at_similar(self, similar: Similar, candidates: list[Candidate], name: str) -> Outcome:
        best, rivals = candidates[0], candidates[1:]
        if any(best.score - rival.score < GAP for rival in rivals):
            return Refusal(
                code="ambiguous",
                message=(
                    "old_string is not in the file, and several places are about as much like it. "
                    "Copy the lines that are meant as shown."
                ),
                regions=tuple(near(similar, c, self.old) for c in candidates[:5]),
            )
        span = similar.span(best)
        there = self.source.flat[span[0] : span[1]]
        runs = differing(self.old.removesuffix("\n"), there.removesuffix("\n"))
        if runs is None or any(map(risky, runs)) or not self.source.stands_for(self.sent[0], span):
            return Refusal(
                code="differs",
                message=(
                    "old_string is not in the file; the lines most like it differ in what must "
                    f"not be guessed{_named(runs)}. If they are meant, copy them as shown."
                ),
                regions=(near(similar, best, self.old),),
            )
        if why := escapes.drift(self.old, self.new, there):
            return why
        line = self.source.line(span[0])
        return self._edit(
            Found(
                places=[span],
                old=self.old,
                new=self.new,
                sent=self.new,
                strategy=name,
                note=(
                    f"old_string was not there word for word; the lines from line {line} were "
                    f"taken for it ({near(similar, best, self.old).difference}). Check the diff."
                ),
            )
        )


def _named(runs: list[tuple[str, str]] | None) -> str:
    told = [run for run in runs or () if risky(run)][:3]
    return ": " + ", ".join(f"{a or 'nothing'} / {b or 'nothing'}" for a, b in told) if told else ""
