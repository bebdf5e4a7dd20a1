"""Backslashes too many: texts that were escaped once more than the file is.

Escapes may help to find a place; they are never taken out of what is written. An edit whose new
part would need that is refused.
"""

import re
from dataclasses import dataclass
from typing import Final

from hermes.tools.files.edits import Refusal
from hermes.tools.files.matching.source import Source, flat

_CONTROL: Final = re.compile(r"(?<!\\)\\([ntr])")
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r"}
_RUN: Final = re.compile(r"\\+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """`old` and `new` with the same escapes taken out of both, and what to say of it."""

    old: str
    new: str
    note: str


def quotes(source: Source, old: str, new: str) -> Reading | Refusal | None:
    """The reading in which each quote is sent without the backslash before it."""
    kinds = [quote for quote in "\"'" if "\\" + quote in old and _always_escaped(old, quote)]
    if not kinds:
        return None
    bare = _bare(old, kinds)
    if bare not in source.flat:
        return None
    drifted = [quote for quote in "\"'" if "\\" + quote in new and quote not in kinds]
    if drifted or not all(_always_escaped(new, quote) for quote in kinds):
        return refused("its quotes have backslashes before them that the file does not have")
    note = "The quotes in old_string were found without the backslashes before them."
    return Reading(old=bare, new=_bare(new, kinds), note=note)


def doubled(source: Source, old: str, new: str) -> Reading | Refusal | None:
    """The reading in which each pair of backslashes is one."""
    runs = _RUN.findall(old)
    if not runs or any(len(run) % 2 for run in runs):
        return None
    half = _RUN.sub(lambda run: run[0][: len(run[0]) // 2], old)
    if half not in source.flat:
        return None
    if "\\" in new:
        return refused("it has two backslashes where the file has one")
    return Reading(old=half, new=new, note="old_string was found with half of its backslashes.")


def controls(source: Source, old: str, new: str) -> Reading | Refusal | None:
    """The reading in which a backslash and n, t or r is the control character."""
    if not _CONTROL.search(old):
        return None
    bare = _unescaped(old)
    if not bare.strip() or bare not in source.flat:
        return None
    if "\\n" in new:
        return refused("it has a backslash and an n where the file has a line end")
    note = "Backslash sequences in old_string were found as the characters that they stand for."
    return Reading(old=bare, new=_unescaped(new), note=note)


def drift(old: str, new: str, there: str) -> Refusal | None:
    """Why `new` would bring backslashes that `there`, found for `old`, does not have."""
    for quote in ("\\'", '\\"'):
        if quote in old and quote in new and quote not in there:
            return refused("its quotes have backslashes before them that the file does not have")
    if "\\n" in new and "\n" in there and old.count("\\n") > there.count("\\n"):
        return refused("it has a backslash and an n where the file has a line end")
    sent, found, put = ([len(run) for run in _RUN.findall(t)] for t in (old, there, new))
    if sent and sent == [2 * n for n in found] and put != found:
        return refused("it has two backslashes where the file has one")
    return None


def refused(what: str) -> Refusal:
    """`what` says where the escapes of the texts are not those of the file."""
    return Refusal(
        code="escapes",
        message=(
            f"The text was escaped once too often: {what}. Nothing was changed. Send old_string "
            "and new_string again with the characters as read_file shows them."
        ),
    )


def _always_escaped(text: str, quote: str) -> bool:
    return len(re.findall(rf"(?<!\\)\\{quote}", text)) == text.count(quote)


def _bare(text: str, kinds: list[str]) -> str:
    for quote in kinds:
        text = text.replace("\\" + quote, quote)
    return text


def _unescaped(text: str) -> str:
    return flat(_CONTROL.sub(lambda found: _CONTROLS[found[1]], text))
