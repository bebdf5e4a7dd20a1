"""The words of V4A patches: operations, hunks, and what can be wrong with them."""

from dataclasses import dataclass
from typing import Literal

from hermes.tools.files.edits import RefusalCode, Region

FaultCode = (
    RefusalCode
    | Literal[
        "no_operations",  # there is no header in it
        "unified_diff",  # a diff of git or diff -u
        "indented_header",
        "unknown_header",
        "stray_line",  # a line that belongs to no file
        "nested_begin",  # a second Begin before the End of the first
        "bad_path",  # empty, or with a .. in it
        "bad_move",  # not one source and one target
        "no_hunks",  # an Update that changes nothing
        "empty_hunk",  # a hunk without lines
        "not_added",  # a line of a new file that has no +
        "has_lines",  # lines below a Delete or Move
        "no_place",  # only additions, and nothing that says where
        "missing",
        "exists",
        "not_a_file",
        "unreadable",
        "nothing_to_do",  # every hunk leaves its lines as they are
    ]
)

Row = tuple[Literal[" ", "-", "+"], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One place of a file to change.

    `line` is the line of the patch where it begins; `hints` are the texts after `@@`, outermost
    first; `at` and `to` are the old and the new line number of a unified header. Of `lines`, the
    first `blank[0]` and the last `blank[1]` are bare empty lines, which may be layout of the patch
    rather than context. `old_bare` and `new_bare` tell that the last line before and after the
    change has no newline; `at_end` that the file ends after the hunk.
    """

    line: int
    hints: tuple[str, ...] = ()
    at: int | None = None
    to: int | None = None
    lines: tuple[Row, ...] = ()
    blank: tuple[int, int] = (0, 0)
    at_end: bool = False
    old_bare: bool = False
    new_bare: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateFile:
    """Change parts of a file, and rename it if `move_to` is given; `line` is its header's."""

    path: str
    move_to: str | None
    hunks: tuple[Hunk, ...]
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AddFile:
    """Make a file that is not there."""

    path: str
    content: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFile:
    """Remove a file, or a link itself."""

    path: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveFile:
    """Rename a file, or a link itself."""

    source: str
    target: str
    line: int


Operation = UpdateFile | AddFile | DeleteFile | MoveFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What a patch asks for, in its order; at least one operation."""

    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong at `line` of the patch; `message` ends with what works instead."""

    code: FaultCode
    line: int
    message: str
    regions: tuple[Region, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchFault:
    """Everything that is wrong with a patch, at least one problem, by line."""

    problems: tuple[Problem, ...]

    @property
    def code(self) -> FaultCode:
        """The code of the first problem."""
        return self.problems[0].code

    @property
    def line(self) -> int:
        """The line of the patch that has the first problem, from 1."""
        return self.problems[0].line
