"""Diagnostics as our own values: what a server found, by file, and how it is told."""

from collections.abc import Sequence
from typing import Final

from hermes.tools.files.checks.problems import MESSAGE, SHOWN, Problem

KEPT: Final = 1_000
"""Diagnostics of one file that are looked at; a server may send any number."""


def character(line: str, units: int, encoding: str) -> int:
    """The column, from 1 and in characters, of the protocol's `units` in `line`."""
    if encoding == "utf-32":
        return min(units, len(line)) + 1
    width = 2 if encoding == "utf-16" else 1
    data = line.encode("utf-16-le" if width == 2 else "utf-8", "surrogatepass")
    before = data[: units * width]
    return len(before.decode("utf-16-le" if width == 2 else "utf-8", "ignore")) + 1


def shown(problems: Sequence[Problem], name: str = "") -> str | None:
    """The problems of one edit, a line each, at most SHOWN lines; None if there are none.

    `name` of the file is put before each if given.
    """
    if not problems:
        return None
    ordered = sorted(problems, key=lambda p: (p.line, p.column))
    room = SHOWN if len(ordered) <= SHOWN else SHOWN - 1
    where = f"{name}:" if name else ""
    lines = [f"{where}{p.line}:{p.column} {p.message}"[:MESSAGE] for p in ordered[:room]]
    if len(ordered) > room:
        lines.append(f"... and {len(ordered) - room} more errors")
    return "\n".join(lines)
