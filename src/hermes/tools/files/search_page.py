"""A page of what was found: without secrets, cut around the hits, and of bounded size."""

import re
from collections.abc import Sequence
from typing import Any, Final

from hermes.core.text import clean
from hermes.tools.files.search_found import Found, Row
from hermes.tools.files.workspace import Redact

WIDTH: Final = 500
LEAD: Final = 100

INLINE: Final = 5
"""From this many rows on, matches come as text."""

CHARS: Final = 80_000
"""What the rows of a page have at most, in characters."""

FORMAT: Final = "path, then its lines as `  number: text`; `  number- text` is context"
HIDDEN: Final = "[a secret of several lines is masked here]"

_NARROW: Final = "narrow the search by path, file_glob or pattern"


def names(paths: Sequence[str], offset: int, limit: int) -> dict[str, Any]:
    """A page of paths."""
    keys, page = _cut(paths, offset, limit)
    return keys | {"files": [clean(path) for path in page]} if page else keys


def counts(found: Found, offset: int, limit: int) -> dict[str, Any]:
    """A page of files, with how many hits are in each."""
    keys, page = _cut(sorted(found.counts), offset, limit)
    keys["total_count"] = found.counts.total()
    return keys | {"counts": {clean(path): found.counts[path] for path in page}} if page else keys


def _cut(paths: Sequence[str], offset: int, limit: int) -> tuple[dict[str, Any], Sequence[str]]:
    page = paths[offset : offset + limit]
    size = 0
    for n, path in enumerate(page):
        size += len(path) + 8
        if n and size > CHARS:
            page = page[:n]
            break
    return {"total_count": len(paths)} | _more(len(paths), offset, len(page), limit), page


def lines(found: Found, offset: int, limit: int, context: int, redact: Redact) -> dict[str, Any]:
    """A page of lines, with those around them."""
    total = found.counts.total()
    keys: dict[str, Any] = {"total_count": total}
    hits = [n for n, row in enumerate(found.rows) if row.hit]
    if offset >= len(hits):
        if hits and offset < total:
            keys["error"] = (
                f"offset {offset} is beyond the first {len(hits)} hits, which are all that is kept "
                f"of {total}; {_NARROW}."
            )
        return keys
    page = hits[offset : offset + limit]
    rows = _with_context(found.rows, page[0], page[-1], context)
    masked = masked_lines([row.text for row in rows], redact)
    shown = [window(row, text) for row, text in zip(rows, masked, strict=True)]
    fits = _fitting(rows, shown)
    shown_hits = sum(row.hit for row in rows[:fits])
    keys |= _rows(rows[:fits], shown[:fits])
    return keys | _more(total, offset, shown_hits, limit, kept=len(hits))


def _fitting(rows: list[Row], shown: list[str]) -> int:
    """How many of the rows fit on a page, one hit at least."""
    size = hits = 0
    path = None
    for n, row in enumerate(rows):
        size += len(shown[n]) + 12 + (0 if row.path == path else len(row.path))
        path = row.path
        if hits and size > CHARS:
            return n
        hits += row.hit
    return len(rows)


def _more(
    total: int, offset: int, shown: int, limit: int, kept: int | None = None
) -> dict[str, Any]:
    """That there is more than what is shown, and how to go on."""
    end = offset + shown
    if shown == 0 or total <= end:
        return {}
    if kept is not None and end >= kept:
        hint = f"{total - end} more, which are not kept: {_NARROW}."
    else:
        hint = f"{total - end} more: go on with offset {end}."
        if shown < limit:
            hint = f"The page is full ({CHARS} characters). {hint}"
    return {"truncated": True, "_hint": hint}


def _rows(rows: list[Row], shown: list[str]) -> dict[str, Any]:
    # A newline in a path would read as a line.
    if len(rows) < INLINE or any(re.search(r"[\r\n]", path) for path in {r.path for r in rows}):
        matches = []
        for row, text in zip(rows, shown, strict=True):
            one = {"path": clean(row.path), "line": row.line, "content": text}
            matches.append(one if row.hit else one | {"context": True})
        return {"matches": matches}
    written: list[str] = []
    path = None
    for row, text in zip(rows, shown, strict=True):
        if row.path != path:
            path = row.path
            written.append(clean(path))
        written.append(f"  {row.line}{':' if row.hit else '-'} {text}")
    return {"matches_format": FORMAT, "matches_text": "\n".join(written)}


def _with_context(rows: list[Row], first: int, last: int, context: int) -> list[Row]:
    """The rows from one hit to another, with the lines around both."""
    while context and first > 0 and not rows[first - 1].hit:
        if rows[first - 1].path != rows[first].path or rows[first - 1].line < rows[first].line - 1:
            break
        first -= 1
    while last + 1 < len(rows) and not rows[last + 1].hit:
        if rows[last + 1].path != rows[last].path or rows[last + 1].line > rows[last].line + 1:
            break
        last += 1
    return rows[first : last + 1]


def masked_lines(lines: list[str], redact: Redact) -> list[str]:
    """The lines without secrets, one for one; a secret of several lines is masked in each."""
    masked = redact("\n".join(lines)).split("\n")
    if len(masked) == len(lines):
        return masked
    fewer = min(len(masked), len(lines))
    head = next((n for n in range(fewer) if masked[n] != lines[n]), fewer)
    rest = fewer - head
    tail = next((n for n in range(rest) if masked[-1 - n] != lines[-1 - n]), rest)
    return [*lines[:head], *[HIDDEN] * (len(lines) - head - tail), *lines[len(lines) - tail :]]


def window(row: Row, masked: str) -> str:
    """What is shown of the line `row`, whose text without secrets is `masked`."""
    at = row.at
    if not masked.startswith(row.text[:at]):
        # What was masked before the hit has moved it.
        at += len(masked) - len(row.text)
    at = max(0, min(at, len(masked)))
    start = at - LEAD if at > WIDTH - LEAD else 0
    return clean(masked[start : start + WIDTH])
