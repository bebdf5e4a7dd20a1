"""The programs that check source files, as data, and how their words are read."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from hermes.tools.files.checks.problems import Problem

ESM: Final = re.compile(r"^\s*(?:import\b(?!\s*\()|export\b)", re.MULTILINE)
FOREIGN: Final = re.compile(r"^SyntaxError: Unexpected token '<'|@flow\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One way to run a linter: the name its file gets, and the arguments before it."""

    file: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Linter:
    """A program that parses one language.

    A text is fine if any of `attempts` finds nothing. `problems` reads its output; `clean` tells a
    failing exit that says nothing of the syntax. `foreign` marks, in the first message and the text
    after it, what the program cannot judge.
    """

    program: str
    attempts: Callable[[str], Sequence[Attempt]]
    problems: Callable[[str], list[Problem]]
    clean: re.Pattern[str] | None = None
    foreign: re.Pattern[str] | None = None
    foreign_reason: str = ""


def _only(file: str, *arguments: str) -> Callable[[str], Sequence[Attempt]]:
    return lambda _: (Attempt(file=file, arguments=arguments),)


def _script(text: str) -> Sequence[Attempt]:
    """A `.js` file is a module or a script, which only the project's settings would tell."""
    kinds = ("mjs", "cjs") if ESM.search(text) else ("cjs", "mjs")
    return [Attempt(file=f"check.{kind}", arguments=("--check",)) for kind in kinds]


def _rust(_: str) -> Sequence[Attempt]:
    return [
        Attempt(file="check.rs", arguments=("--check", "--color", "never", "--edition", edition))
        for edition in ("2021", "2024", "2015")
    ]


def _found(pattern: str) -> Callable[[str], list[Problem]]:
    """A reader of output in which `pattern` has the groups line, column (or caret) and message."""
    compiled = re.compile(pattern, re.MULTILINE)

    def read(output: str) -> list[Problem]:
        found = []
        for match in compiled.finditer(output):
            groups = match.groupdict()
            caret = groups.get("caret")
            column = int(match["column"]) if caret is None else len(caret) + 1
            message = match["message"].strip()
            found.append(Problem(line=int(match["line"]), column=column, message=message))
        return found

    return read


_NODE = _found(
    r"check\.[mc]js:(?P<line>\d+)\n.*\n(?P<caret> *)\^+\n+(?P<message>\w*Error: .*)",
)

_TSC_FLAGS: Final = (
    "--noEmit",
    "--noResolve",
    "--noLib",
    "--skipLibCheck",
    *("--pretty", "false"),
    *("--target", "esnext"),
    *("--module", "esnext"),
    *("--jsx", "preserve"),
)

_TSC = _found(r"^check\.tsx?\((?P<line>\d+),(?P<column>\d+)\): error (?P<message>TS1\d{3}: .*)")
"""Errors from 1000 to 1999 are those of the syntax; others need the project's modules."""

LINTERS: Final[dict[str, Linter]] = {
    ".js": Linter(
        program="node",
        attempts=_script,
        problems=_NODE,
        foreign=FOREIGN,
        foreign_reason="node reads neither JSX nor Flow",
    ),
    ".mjs": Linter(program="node", attempts=_only("check.mjs", "--check"), problems=_NODE),
    ".cjs": Linter(program="node", attempts=_only("check.cjs", "--check"), problems=_NODE),
    ".ts": Linter(
        program="tsc",
        attempts=_only("check.ts", *_TSC_FLAGS),
        problems=_TSC,
        clean=re.compile(r"error TS[2-9]\d{3}\b"),
    ),
    ".tsx": Linter(
        program="tsc",
        attempts=_only("check.tsx", *_TSC_FLAGS),
        problems=_TSC,
        clean=re.compile(r"error TS[2-9]\d{3}\b"),
    ),
    ".go": Linter(
        program="gofmt",
        attempts=_only("check.go", "-e", "-l"),
        problems=_found(r"^(?:\./)?check\.go:(?P<line>\d+):(?P<column>\d+): (?P<message>.*)"),
    ),
    ".rs": Linter(
        program="rustfmt",
        attempts=_rust,
        problems=_found(
            r"^error(?:\[\w+\])?: (?P<message>.*)\n\s*--> .*check\.rs:(?P<line>\d+):(?P<column>\d+)"
        ),
        clean=re.compile(r"^Diff in |failed to resolve mod ", re.MULTILINE),
    ),
}
"""By suffix. Each parses only: none runs, resolves or downloads anything of the workspace."""
