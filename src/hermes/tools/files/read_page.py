"""Lines as a model is shown them: numbered, cut to a size, without secrets."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from hermes.safety.redact import carries_mask
from hermes.tools.files.encoding import Encoding, visible

LINE_CUT: Final = "... [truncated]"

CONTEXT: Final = 120
"""Lines before and after a page in which the rest of a secret is looked for; a private key of 8192
bits has a hundred."""

NEAR: Final = 4
"""Of these, lines that always count: a name may stand on one line and its secret on the next."""

_MARKS: Final = (("PRIVATE KEY", ""), ("Secret", "kind"))
"""What stands together in the first or last lines of a long secret: a key, a secret manifest."""

SLACK: Final = 512
"""Characters beyond the width of a line in which the rest of a secret is looked for."""

HIDDEN: Final = "[REDACTED PRIVATE KEY]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is shown at most: lines of a page, characters of a line and of a page."""

    lines: int
    line: int
    chars: int

    @property
    def width(self) -> int:
        """Bytes of a line that may be needed; a character of UTF-8 has four at most."""
        return 4 * (self.line + SLACK) + 4


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The text shown, the numbers of its lines, and those of which only the beginning is."""

    content: str
    lines: range
    cut: frozenset[int]
    masked: bool
    full: bool
    conflicts: int


def span(offset: int, limit: int) -> tuple[int, int]:
    """First line and number of lines to read so that `view` can show `limit` from `offset`."""
    first = max(1, offset - CONTEXT)
    return first, offset - first + limit + CONTEXT


def decoded(lines: Sequence[bytes], encoding: Encoding, first: int) -> list[str]:
    """The text of `lines`, of which the first is line `first`; not for wide encodings."""
    if not lines:
        return []
    if encoding.codec != "utf-8":
        return [visible(encoding.decode_part(line)) for line in lines]
    data = b"\n".join(lines)
    if first == 1:
        data = data.removeprefix(encoding.bom)
    return visible(encoding.decode_part(data)).split("\n")


def view(
    lines: Sequence[str],
    *,
    first: int,
    offset: int,
    limit: int,
    limits: Limits,
    redact: Callable[[str], str],
) -> View:
    """At most `limit` of `lines` from line `offset`; `lines` begin with line `first`.

    Secrets are masked after the page is cut, but with what is around it in view, so that a part of
    one is not taken for something else. A line keeps its number whatever was masked.
    """
    start = offset - first
    count, over = _fitting(lines[start : start + limit], offset, limits)
    low, high = _around(lines, start, start + count)
    around = [line[: limits.line + SLACK] for line in lines[low:high]]
    clean = _aligned(around, redact("\n".join(around)))
    rows: list[str] = []
    cut: set[int] = set()
    masked = False
    for number in range(offset, offset + count):
        at = number - first
        text, original = clean[at - low], lines[at]
        masked = masked or text != around[at - low]
        width = limits.line if count > 1 else min(limits.line, limits.chars)
        if len(original) > width:
            text = text[:width] + LINE_CUT
            cut.add(number)
        rows.append(f"{number}|{text}")
    return View(
        content="\n".join(rows),
        lines=range(offset, offset + count),
        cut=frozenset(cut),
        masked=masked,
        full=over,
        conflicts=_conflicts(lines[start : start + count]),
    )


def _around(lines: Sequence[str], start: int, stop: int) -> tuple[int, int]:
    """The lines in which secrets of those from `start` to before `stop` are looked for."""
    far = lines[max(0, start - CONTEXT) : start], lines[stop : stop + CONTEXT]
    if any(mark in line and word in line for mark, word in _MARKS for line in (*far[0], *far[1])):
        return start - len(far[0]), stop + len(far[1])
    return max(0, start - NEAR), min(len(lines), stop + NEAR)


def _fitting(lines: Sequence[str], offset: int, limits: Limits) -> tuple[int, bool]:
    """How many lines fit on a page, one at least, and whether there are more."""
    used = 0
    for nth, line in enumerate(lines):
        length = len(line)
        if length > limits.line:
            length = limits.line + len(LINE_CUT)
        used += len(str(offset + nth)) + 1 + length
        if used > limits.chars and nth:
            return nth, True
        used += 1
    return len(lines), False


def _aligned(lines: list[str], redacted: str) -> list[str]:
    """`redacted` in as many lines as it was made from: a mask that took several stands on each."""
    clean = redacted.split("\n")
    if len(clean) == len(lines) or not lines:
        return clean
    rows: list[str] = []
    matcher = difflib.SequenceMatcher(None, lines, clean, autojunk=False)
    for _, low, high, start, stop in matcher.get_opcodes():
        found = clean[start:stop][: high - low]
        mask = next((row for row in found if carries_mask(row)), HIDDEN)
        rows += found + [mask] * (high - low - len(found))
    return rows


def _conflicts(lines: Sequence[str]) -> int:
    """How many merge conflicts are in `lines`, from mark to mark."""
    count = 0
    opened = False
    for line in lines:
        if line.startswith("<<<<<<< "):
            opened = True
        elif opened and line.startswith(">>>>>>> "):
            count, opened = count + 1, False
    return count
