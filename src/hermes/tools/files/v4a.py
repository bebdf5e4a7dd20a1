"""V4A patches: several files changed by one text. This parses them; nothing is looked up here.

A patch is `*** Begin Patch`, then headers (`*** Update File: p`, `*** Add File: p`,
`*** Delete File: p`, `*** Move File: a -> b`) each with its lines, then `*** End Patch`. Both
markers may be missing. Headers stand in column one, so one behind a space, `+` or `-` is text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from hermes.tools.files.v4a_types import (
    AddFile,
    DeleteFile,
    Hunk,
    MoveFile,
    Operation,
    Parsed,
    PatchFault,
    Problem,
    Row,
    UpdateFile,
)

__all__ = ["Parsed", "PatchFault", "headers", "parse", "paths"]

SHOWN: Final = 80
"""Characters of a line of the patch that a message repeats."""

TOLD: Final = 20
"""Problems of a text that are told at most."""


@dataclass(slots=True)
class _Section:
    """A header and the lines below it, each with its number."""

    verb: str
    path: str
    line: int
    rows: list[tuple[int, str]] = field(default_factory=list)


_HEADER: Final = re.compile(r"\*\*\* ?(Update|Add|Delete|Move) File:(.*)", re.DOTALL)
_MOVE_TO: Final = re.compile(r"\*\*\* ?Move to:(.*)", re.DOTALL)
_MARKER: Final = re.compile(r"\*\*\* ?(Begin Patch|End Patch|End of File)\s*")
_LIKE_HEADER: Final = re.compile(
    r"\*\*\* ?([A-Za-z][A-Za-z ]{0,30}:|(Begin|End|Update|Add|Delete|Move|Create|Rename|Remove)\b)"
)
_UNIFIED: Final = re.compile(
    r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@(.*)", re.DOTALL
)
_DIFF: Final = re.compile(r"(diff --git |--- \S|\+\+\+ \S|@@ -\d)")
_NO_NEWLINE: Final = re.compile(r"\\ ?No newline\b", re.IGNORECASE)
_NAMED: Final = re.compile(
    r"^\*\*\* ?(?:Update File|Add File|Delete File|Move File|Move to):(.*)$", re.M
)

_FORMS: Final = (
    "`*** Update File: path`, `*** Add File: path`, `*** Delete File: path` or "
    "`*** Move File: path -> path`, in column one"
)


def parse(patch: str) -> Parsed | PatchFault:
    """What `patch` asks for, or what is wrong with it; for any text at all, in linear time."""
    rows = [row.removesuffix("\r") for row in patch.split("\n")]
    if rows[-1] == "":
        rows.pop()
    problems: list[Problem] = []
    sections = _sections(rows, problems)
    operations = [_operation(section, problems) for section in sections]
    if not sections and not problems:
        problems.append(_nothing(rows))
    if problems:
        problems.sort(key=lambda problem: problem.line)
        return PatchFault(problems=tuple(problems[:TOLD]))
    return Parsed(operations=tuple(operations))


def headers(patch: str) -> tuple[str, ...]:
    """Every path that `patch` names in a header, both ends of a move, in order and once.

    Total on any text. For a patch that cannot be parsed these are all that look like one.
    """
    parsed = parse(patch)
    names: list[str] = []
    if isinstance(parsed, Parsed):
        for operation in parsed.operations:
            names += paths(operation)
    else:
        for match in _NAMED.finditer(patch):
            names += [part.strip() for part in match[1].split(" -> ")]
    return tuple(dict.fromkeys(name for name in names if name))


def paths(operation: Operation) -> tuple[str, ...]:
    """The paths that `operation` names, as they are written."""
    if isinstance(operation, MoveFile):
        return operation.source, operation.target
    if isinstance(operation, UpdateFile) and operation.move_to is not None:
        return operation.path, operation.move_to
    return (operation.path,)


def _sections(rows: Sequence[str], problems: list[Problem]) -> list[_Section]:
    sections: list[_Section] = []
    current: _Section | None = None
    begun = ended = False
    since = 0
    for n, row in enumerate(rows, 1):
        mark = _MARKER.fullmatch(row) if row.startswith("***") else None
        header = _HEADER.fullmatch(row) if row.startswith("***") else None
        if mark is not None and mark[1] == "Begin Patch":
            if len(sections) > since:
                message = "`*** Begin Patch` again, before `*** End Patch`. Send one patch."
                problems.append(Problem(code="nested_begin", line=n, message=message))
            current, begun, ended = None, True, False
        elif mark is not None and mark[1] == "End Patch":
            current, ended = None, True
            since = len(sections)
        elif header is not None and not ended:
            current = _Section(header[1], header[2].strip(), n)
            sections.append(current)
        elif current is not None:
            current.rows.append((n, row))
        elif not problems and (header or (begun and not ended and _means_something(row))):
            problems.append(_stray(n, row))
    return sections


def _means_something(row: str) -> bool:
    """Whether `row`, above the first header, is more than a remark."""
    return row.startswith(("+", "-", "@@")) or row.lstrip().startswith("***")


def _stray(line: int, row: str) -> Problem:
    if row.startswith((" ", "\t")):
        message = f"the header {_cut(row)} is indented. Write it in column one."
        return Problem(code="indented_header", line=line, message=message)
    if row.startswith("***") and _HEADER.fullmatch(row) is None:
        return _unknown(line, row)
    message = f"{_cut(row)} belongs to no file. Put it below a header between Begin and End."
    return Problem(code="stray_line", line=line, message=message)


def _unknown(line: int, row: str) -> Problem:
    message = f"{_cut(row)} is no header. Use {_FORMS}; text of a file is led by a space, - or +."
    return Problem(code="unknown_header", line=line, message=message)


def _nothing(rows: Sequence[str]) -> Problem:
    """Why there is no operation in `rows`."""
    for n, row in enumerate(rows, 1):
        if row.startswith((" ", "\t")) and _HEADER.fullmatch(row.strip()):
            return _stray(n, row)
        if _DIFF.match(row):
            message = (
                "this is a unified diff. Send a V4A patch: for each file a header "
                f"({_FORMS}), and below it its hunks, without --- and +++ lines."
            )
            return Problem(code="unified_diff", line=n, message=message)
        if _LIKE_HEADER.match(row) and not _MARKER.fullmatch(row):
            return _unknown(n, row)
    message = f"the patch changes nothing: it has no header. Begin each file with {_FORMS}."
    return Problem(code="no_operations", line=1, message=message)


def _operation(section: _Section, problems: list[Problem]) -> Operation:
    line = section.line
    if section.verb == "Move":
        _refuse_rows(section, problems)
        source, *targets = (part.strip() for part in section.path.split(" -> "))
        if len(targets) != 1:
            message = "a move is written `*** Move File: path -> path`."
            problems.append(Problem(code="bad_move", line=line, message=message))
        target = targets[0] if targets else ""
        for path in (source, *targets[:1]):
            _check_path(path, line, problems)
        return MoveFile(source=source, target=target, line=line)
    _check_path(section.path, line, problems)
    if section.verb == "Delete":
        _refuse_rows(section, problems)
        return DeleteFile(path=section.path, line=line)
    if section.verb == "Add":
        return AddFile(path=section.path, content=_content(section, problems), line=line)
    return _update(section, problems)


def _check_path(path: str, line: int, problems: list[Problem]) -> None:
    message = None
    if not path:
        message = "the header names no path. Write the path after the colon."
    elif ".." in re.split(r"[/\\]", path):
        message = f"{_cut(path)} has a `..` in it. Write the path without."
    if message is not None:
        problems.append(Problem(code="bad_path", line=line, message=message))


def _refuse_rows(section: _Section, problems: list[Problem]) -> None:
    """A Delete may repeat what it deletes; nothing else has a meaning there."""
    for n, row in section.rows:
        if not row.strip() or (section.verb == "Delete" and row.startswith("-")):
            continue
        message = f"{section.verb} File takes no lines, but there is {_cut(row)}. "
        message += "To change a file and move it, use `*** Update File:` and `*** Move to:`."
        problems.append(Problem(code="has_lines", line=n, message=message))
        return


def _content(section: _Section, problems: list[Problem]) -> str:
    """The text of a new file: each `+` line is one line of it."""
    lines: list[str] = []
    empty = 0
    bare = False
    for n, row in section.rows:
        if row.startswith("+"):
            lines += [""] * (empty if lines else 0) + [row[1:]]
            empty, bare = 0, False
        elif not row.strip():
            empty += 1
        elif _NO_NEWLINE.match(row):
            bare = True
        elif not _is_end_of_file(row) and not (row.startswith("@@") and not lines):
            message = f"{_cut(row)} is not led by +. Put a + before each line of a new file."
            problems.append(Problem(code="not_added", line=n, message=message))
            break
    return "\n".join(lines) + ("\n" if lines and not bare else "")


def _is_end_of_file(row: str) -> bool:
    mark = _MARKER.fullmatch(row)
    return mark is not None and mark[1] == "End of File"


def _update(section: _Section, problems: list[Problem]) -> UpdateFile:
    move_to: str | None = None
    hunks: list[Hunk] = []
    current = _Open()
    for n, row in section.rows:
        if moved := _MOVE_TO.fullmatch(row):
            if move_to is not None:
                message = "this file is moved twice. Name one `*** Move to:`."
                problems.append(Problem(code="bad_move", line=n, message=message))
            move_to = moved[1].strip()
            _check_path(move_to, n, problems)
        elif row.startswith("@@"):
            if current.rows:
                hunks += current.closed()
                current = _Open()
            current.hint(n, row)
        elif _is_end_of_file(row):
            hunks += current.closed(at_end=True)
            current = _Open()
        elif _LIKE_HEADER.match(row):
            problems.append(_unknown(n, row))
        else:
            current.add(n, row)
    hunks += current.closed()
    for hunk in hunks:
        if not hunk.lines:
            message = "this hunk has no lines. Write below @@ what to change, led by - and +."
            problems.append(Problem(code="empty_hunk", line=hunk.line, message=message))
    if not hunks and move_to is None:
        message = f"no hunk for {_cut(section.path)}. Write below the header lines led by - and +."
        problems.append(Problem(code="no_hunks", line=section.line, message=message))
    return UpdateFile(path=section.path, move_to=move_to, hunks=tuple(hunks), line=section.line)


class _Open:
    """The hunk that is being read; its lines so far are `rows`."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._line = 0
        self._hints: list[str] = []
        self._at: int | None = None
        self._to: int | None = None
        self._bare: list[bool] = []
        self._no_newline = [False, False]

    def hint(self, line: int, row: str) -> None:
        self._line = self._line or line
        if unified := _UNIFIED.fullmatch(row):
            self._at, self._to = int(unified[1]), int(unified[2])
            text = unified[3].strip()
        else:
            text = row[2:].strip().removesuffix("@@").strip()
        if text:
            self._hints.append(text)

    def add(self, line: int, row: str) -> None:
        if _NO_NEWLINE.match(row):
            if self.rows:
                kind = self.rows[-1][0]
                self._no_newline[0] |= kind != "+"
                self._no_newline[1] |= kind != "-"
            return
        self._line = self._line or line
        self._bare.append(row == "")
        match row[:1]:
            case "-" | "+" | " " as kind:
                self.rows.append((kind, row[1:]))
            case _:
                self.rows.append((" ", row))

    def closed(self, *, at_end: bool = False) -> tuple[Hunk, ...]:
        """The hunk, or nothing if it asks for nothing."""
        empty = all(self._bare)
        if empty and not self._hints and self._at is None:
            return ()
        head = next((n for n, bare in enumerate(self._bare) if not bare), 0)
        tail = next((n for n, bare in enumerate(reversed(self._bare)) if not bare), 0)
        hunk = Hunk(
            line=self._line,
            hints=tuple(self._hints),
            at=self._at,
            to=self._to,
            lines=() if empty else tuple(self.rows),
            blank=(head, tail),
            at_end=at_end,
            old_bare=self._no_newline[0],
            new_bare=self._no_newline[1],
        )
        return (hunk,)


def _cut(text: str) -> str:
    text = text.strip()
    return f"`{text[:SHOWN]}...`" if len(text) > SHOWN else f"`{text}`"
