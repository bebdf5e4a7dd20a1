"""What is wrong at a place of a text, and which of it an edit brought in."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

SHOWN: Final = 20
"""Problems that are told at most; what is left out is counted."""

MESSAGE: Final = 300
"""Characters of one message."""

DIFFED: Final = 2_000
"""Changed lines up to which an exact diff is made; its time grows with their square."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault. `line` and `column` count from 1, columns in characters."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchecked:
    """Nothing can be said of a text, and why."""

    reason: str


LineMap = Callable[[int], tuple[int, int]]
"""From a line of the old text to the first and last line of the new one where it can be now."""


def fresh(old: str, new: str, before: Sequence[Problem], now: Sequence[Problem]) -> list[Problem]:
    """Those of `now`, found in `new`, that are not among `before`, found in `old`.

    They are the same if their messages are (but for line numbers in them) and the line of one is
    where the edit put the line of the other. One old problem accounts for one new problem only.
    """
    if not before or not now:
        return list(now)
    place = line_map(old, new)
    known = [(_bare(p.message), *place(p.line)) for p in before]
    found = []
    for problem in now:
        message = _bare(problem.message)
        for i, (text, first, last) in enumerate(known):
            if text == message and first <= problem.line <= last:
                del known[i]
                break
        else:
            found.append(problem)
    return found


def edited_lines(old: str, new: str) -> tuple[int, int]:
    """The first and last line of `new` between which all changes lie."""
    a, b = old.split("\n"), new.split("\n")
    top, tail = _ends(a, b)
    return top + 1, max(len(b) - tail, top + 1)


def line_map(old: str, new: str) -> LineMap:
    """How lines move from `old` to `new`; a line that was changed maps to what replaced it."""
    a, b = old.split("\n"), new.split("\n")
    top, tail = _ends(a, b)
    middle = _blocks(a[top : len(a) - tail], b[top : len(b) - tail])

    def place(line: int) -> tuple[int, int]:
        if line <= top:
            return line, line
        if line > len(a) - tail:
            moved = line + len(b) - len(a)
            return moved, moved
        inside = line - 1 - top
        for i1, i2, j1, j2, same in middle:
            if i1 <= inside < i2:
                if same:
                    moved = line + j1 - i1
                    return moved, moved
                # A place in a block that was cut out can still be told of the line that follows.
                return top + j1 + 1, top + max(j2, j1 + 1)
        return line, line

    return place


def told(problems: Sequence[Problem]) -> str:
    """The problems as text, a line each."""
    lines = [str(p)[:MESSAGE] for p in problems[:SHOWN]]
    if len(problems) > SHOWN:
        lines.append(f"... and {len(problems) - SHOWN} more")
    return "\n".join(lines)


def _bare(message: str) -> str:
    return re.sub(r"\bline \d+|\(<[^>]*>, line \d+\)", "line", message)


def _ends(a: Sequence[str], b: Sequence[str]) -> tuple[int, int]:
    """How many lines are equal at the start and at the end."""
    top = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
    rest = min(len(a), len(b)) - top
    ends = zip(reversed(a), reversed(b), strict=False)
    tail = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], ends))
    return top, min(tail, rest)


def _blocks(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int, int, int, bool]]:
    if not a or not b or len(a) + len(b) > DIFFED:
        return [(0, len(a), 0, len(b), False)]
    # lazy: only a file that had problems before and after needs it, and it costs 5 ms to import
    from difflib import SequenceMatcher

    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [(i1, i2, j1, j2, tag == "equal") for tag, i1, i2, j1, j2 in codes]
