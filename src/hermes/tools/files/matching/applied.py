"""Whether an edit has been made already.

A model that is not sure sends an edit again. Where the new text holds the old one, the second
time would put the change into the change.
"""

from typing import Final

from hermes.tools.files.edits import NoChange, Refusal
from hermes.tools.files.matching.source import Source, Span, find_all
from hermes.tools.files.matching.tokens import kind, stands, words

_TELLING: Final = 8
"""Characters of a new text that are not there by chance."""

_READ: Final = 200
"""Characters of a text that are read for the names in it."""

_PLACES: Final = 100


def within_new(source: Source, old: str, new: str, places: list[Span]) -> NoChange | Refusal | None:
    """What is to be said of an edit each of whose `places` is part of `new` already, else None."""
    if len(new) <= len(old) or old not in new:
        return None
    if not not_yet(source, old, new, places):
        return done(source, places[0])
    start = places[0][0] - new.find(old)
    if len(places) > 1 or start < 0 or not source.flat.startswith(new, start):
        return None
    return Refusal(
        code="ambiguous",
        message=(
            "old_string is found once, and there the text goes on as new_string does, but in the "
            "middle of a word: it cannot be told whether the edit is made. Send whole lines in "
            "both, as shown."
        ),
        regions=(source.region(places[0], "old_string within new_string"),),
    )


def not_yet(source: Source, old: str, new: str, places: list[Span]) -> list[Span]:
    """Those of `places` of `old` that are not part of `new` already."""
    if len(new) <= len(old) or old not in new:
        return places
    nowhere = (len(source.flat) + 1, 0)
    made = (span for span in find_all(source.flat, new) if stands(source.flat, *span))
    start, end = next(made, nowhere)
    outside = []
    for place in places:
        while end and place[0] >= end:
            start, end = next(made, nowhere)
        if not (start <= place[0] and place[1] <= end):
            outside.append(place)
    return outside


def there(source: Source, old: str, new: str, *, once: bool) -> Span | None:
    """Where `new` is, `old` being nowhere, as whole words if it can be; None if it is not, or
    that proves nothing."""
    bare = new.strip()
    if not bare or (len(bare) < _TELLING and not _names(old) & _names(new)):
        return None
    found = source.places(new, _PLACES)
    found = [span for span in found if stands(source.flat, *span)] or found
    return found[0] if found and (not once or len(found) == 1) else None


def _names(text: str) -> set[str]:
    return {word for word in words(text[:_READ]) if kind(word) in ("word", "short name")}


def done(source: Source, place: Span) -> NoChange:
    """The answer to an edit that is made already, at `place`."""
    return NoChange(
        note=(
            f"new_string is already there, at line {source.line(place[0])}; nothing was changed. "
            "To have it once more, send more of the lines around it in both texts."
        )
    )
