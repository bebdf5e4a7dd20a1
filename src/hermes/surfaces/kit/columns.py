"""Rows of text, aligned as a terminal shows them."""

import unicodedata
from collections.abc import Collection, Sequence

GAP = "  "


def columns(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    """`rows` as lines with their cells below each other; the columns in `right` end together.

    Rows may differ in length. Nothing is padded at the end of a line.
    """
    widths: list[int] = []
    for row in rows:
        for i, cell in enumerate(row):
            widths[i : i + 1] = [max(width(cell), *widths[i : i + 1], 0)]
    return [GAP.join(_cells(row, widths, right)).rstrip() for row in rows]


def width(text: str) -> int:
    """How many columns `text` takes: East Asian wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def shortened(text: str, most: int) -> str:
    """`text` on one line, in at most `most` columns; what is cut off shows as `…`."""
    text = " ".join(text.split())
    if width(text) <= most:
        return text
    kept, taken = [], 1
    for character in text:
        taken += _width(character)
        if taken > most:
            break
        kept.append(character)
    return "".join(kept) + "…"


def wrapped(text: str, columns: int) -> str:
    """`text` broken at spaces so that its lines fit in `columns`; continuations keep the indent.

    A word that is wider stays whole.
    """
    return "\n".join(part for line in text.split("\n") for part in _broken(line, columns))


def _broken(line: str, columns: int) -> list[str]:
    if width(line) <= columns:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    parts = [indent]
    for word in line.split():
        joined = f"{parts[-1]} {word}" if parts[-1] != indent else indent + word
        if width(joined) > columns and parts[-1] != indent:
            parts.append(indent + word)
        else:
            parts[-1] = joined
    return parts


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _cells(row: Sequence[str], widths: Sequence[int], right: Collection[int]) -> list[str]:
    cells = []
    for i, cell in enumerate(row):
        space = " " * (widths[i] - width(cell))
        cells.append(space + cell if i in right else cell + space)
    return cells
