"""The unified diff of an edit, exact to the last newline, at the cost of what changed."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

CONTEXT: Final = 3

COMPARED: Final = 2_000
"""Lines up to which a changed stretch is told line by line; a longer one as a whole."""

LONGEST: Final = 40_000
"""Characters of a diff at most; that something is left out is said."""

NO_NEWLINE: Final = "\\ No newline at end of file\n"

Opcode = tuple[str, int, int, int, int]


def unified(before: str | None, after: str | None, *, path: str, was: str | None = None) -> str:
    """How `before` became `after`, in the format of `diff -u`; empty if they are equal.

    `path` is the file's absolute path and `was` the one it had before, if that is another. None
    stands for no file.
    """
    if before == after:
        return ""
    old, new = before or "", after or ""
    head = _line_start(old, _same_head(old, new))
    tail = _same_tail(old, new, head)
    start, first = _back(old, head)
    old_end = _onward(old, len(old) - tail)
    new_end = old_end - len(old) + len(new)
    a, b = lines(old[start:old_end]), lines(new[start:new_end])
    names = (
        "/dev/null" if before is None else f"a/{was or path}",
        "/dev/null" if after is None else f"b/{path}",
    )
    parts = [f"--- {names[0]}\n+++ {names[1]}\n"]
    for group in _groups(a, b, lead=head - start, trail=old_end - len(old) + tail):
        parts += _hunk(a, b, group, first)
    text = "".join(parts)
    if len(text) <= LONGEST:
        return text
    cut = text.rfind("\n", 0, LONGEST) + 1
    return f"{text[:cut]}[{text.count(chr(10), cut)} more lines of this diff are not shown]\n"


def lines(text: str) -> list[str]:
    """The lines of `text` with their `\\n`; no other character ends a line."""
    parts = text.split("\n")
    last = parts.pop()
    whole = [part + "\n" for part in parts]
    return [*whole, last] if last else whole


def _groups(a: Sequence[str], b: Sequence[str], lead: int, trail: int) -> list[list[Opcode]]:
    """Hunks; the first `lead` and the last `trail` characters are the same in both."""
    if max(len(a), len(b)) <= COMPARED:
        return list(SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(CONTEXT))
    before = _count(a, lead)
    after = _count(a[::-1], trail)
    a_end, b_end = len(a) - after, len(b) - after
    return [
        [
            ("equal", 0, before, 0, before),
            ("replace", before, a_end, before, b_end),
            ("equal", a_end, len(a), b_end, len(b)),
        ]
    ]


def _count(rows: Sequence[str], characters: int) -> int:
    """How many of the first `rows` make up `characters`."""
    count = 0
    while characters > 0:
        characters -= len(rows[count])
        count += 1
    return count


def _hunk(a: Sequence[str], b: Sequence[str], group: Sequence[Opcode], first: int) -> list[str]:
    old = _range(first + group[0][1], first + group[-1][2])
    new = _range(first + group[0][3], first + group[-1][4])
    parts = [f"@@ -{old} +{new} @@\n"]
    for tag, i, j, k, m in group:
        if tag == "equal":
            parts += [_row(" ", line) for line in a[i:j]]
        else:
            parts += [_row("-", line) for line in a[i:j]]
            parts += [_row("+", line) for line in b[k:m]]
    return parts


def _range(start: int, end: int) -> str:
    """A range as `diff -u` writes it: an empty one is named by the line before it."""
    if end - start == 1:
        return str(start + 1)
    return f"{start + 1 if end > start else start},{end - start}"


def _row(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{NO_NEWLINE}"


def _same_head(a: str, b: str) -> int:
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _same_tail(a: str, b: str, head: int) -> int:
    """The length of the common end, made of whole lines, that does not reach into `head`."""
    low, high = 0, min(len(a), len(b)) - head
    while low < high:
        middle = (low + high + 1) // 2
        if a[len(a) - middle : len(a) - low] == b[len(b) - middle : len(b) - low]:
            low = middle
        else:
            high = middle - 1
    at = len(a) - low
    whole = at == head or a[at - 1] == "\n"
    whole_there = len(b) - low == head or b[len(b) - low - 1] == "\n"
    if whole and whole_there:
        return low
    newline = a.find("\n", at)
    return len(a) - newline - 1 if newline >= 0 else 0


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _back(text: str, at: int) -> tuple[int, int]:
    """Where CONTEXT lines before `at` begin, and how many lines are before that."""
    for _ in range(CONTEXT):
        if at:
            at = _line_start(text, at - 1)
    return at, text.count("\n", 0, at)


def _onward(text: str, at: int) -> int:
    for _ in range(CONTEXT):
        newline = text.find("\n", at)
        at = len(text) if newline < 0 else newline + 1
    return at
