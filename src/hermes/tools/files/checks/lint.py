"""What a linter says of a text that was just written: only what the edit brought in.

In-process for Python, JSON, YAML and TOML; programs on PATH for the rest (see `linters`).
"""

import sys
import warnings
from pathlib import PurePosixPath
from threading import Lock
from typing import Final

import anyio

from hermes.core.errors import ToolError
from hermes.tools.files.checks.formats import format_of
from hermes.tools.files.checks.linters import LINTERS, Attempt, Linter
from hermes.tools.files.checks.parsers import find_fault
from hermes.tools.files.checks.problems import Problem, Unchecked, fresh, told
from hermes.tools.files.checks.programs import Runner

LINT_SECONDS: Final = 30.0

TEXT_CHARS: Final = 1_000_000
"""Longer Python or program text is not checked: seconds of work for a file nobody wrote by hand."""

Lint = dict[str, str]
"""`{"status": "ok", "output": ""}`, `{"status": "error", "output", "message"?}` or
`{"status": "skipped", "message"}`, the reference's shape."""

Verdict = list[Problem] | Unchecked

_compiling = Lock()


async def lint(path: str, old: str | None, new: str, run: Runner) -> Lint:
    """The `lint` object for `path`, which held `old` (None: nothing) and now holds `new`.

    Takes LINT_SECONDS at most for each run of a program. Cancelling leaves nothing running.
    """
    now = await _problems(path, new, run)
    if isinstance(now, Unchecked):
        return {"status": "skipped", "message": f"not checked: {now.reason}"}
    if not now:
        return {"status": "ok", "output": ""}
    before = await _problems(path, old, run) if old is not None else []
    if isinstance(before, Unchecked) or not before:
        return {"status": "error", "output": told(now)}
    added = await anyio.to_thread.run_sync(fresh, old or "", new, before, now)
    kept = len(now) - len(added)
    if not added:
        verb = "was" if kept == 1 else "were"
        return {"status": "error", "output": "", "message": f"no new errors; {kept} {verb} there"}
    result = {"status": "error", "output": told(added)}
    if kept:
        result["message"] = f"new errors only; {kept} more {'was' if kept == 1 else 'were'} there"
    return result


async def _problems(path: str, text: str, run: Runner) -> Verdict:
    suffix = PurePosixPath(path).suffix.casefold()
    if form := format_of(path, text):
        fault = await anyio.to_thread.run_sync(find_fault, form, text, abandon_on_cancel=True)
        if isinstance(fault, Unchecked):
            return fault
        return [fault] if fault else []
    if suffix not in {".py", ".pyi"} and suffix not in LINTERS:
        return Unchecked(reason=f"there is no linter for {suffix or 'this kind of'} files")
    if len(text) > TEXT_CHARS:
        return Unchecked(reason=f"it is too large ({len(text):,} characters)")
    if suffix in LINTERS:
        return await _programs(LINTERS[suffix], text, run)
    return await anyio.to_thread.run_sync(_python, text)


def _python(text: str) -> Verdict:
    """The first syntax error. Compiles; runs nothing."""
    version = f"read as Python {sys.version_info.major}.{sys.version_info.minor}"
    try:
        # Filters of warnings belong to the process: one compilation at a time.
        with _compiling, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text.removeprefix("\ufeff"), "file", "exec", dont_inherit=True)
    except SyntaxError as e:
        line = f": {e.text.strip()}" if e.text and e.text.strip() else ""
        return [
            Problem(
                line=e.lineno or 1,
                column=max(e.offset or 1, 1),
                message=f"{type(e).__name__}: {e.msg} ({version}){line}",
            )
        ]
    except ValueError as e:  # NUL characters, lone surrogates
        return [Problem(line=1, column=1, message=str(e))]
    except (RecursionError, MemoryError, OverflowError):
        return Unchecked(reason="it is nested too deeply")
    return []


async def _programs(linter: Linter, text: str, run: Runner) -> Verdict:
    program = run.find(linter.program)
    if program is None:
        return Unchecked(reason=f"{linter.program} is not on PATH")
    first: list[Problem] = []
    for attempt in linter.attempts(text):
        verdict = await _attempt(linter, program, attempt, text, run)
        if isinstance(verdict, Unchecked) or not verdict:
            return verdict
        first = first or verdict
    if linter.foreign and linter.foreign.search(f"{first[0].message}\n{text}"):
        return Unchecked(reason=linter.foreign_reason)
    return first


async def _attempt(
    linter: Linter, program: str, attempt: Attempt, text: str, run: Runner
) -> Verdict:
    try:
        ran = await run.check(program, attempt.arguments, attempt.file, text, timeout=LINT_SECONDS)
    except (OSError, ToolError) as e:
        return Unchecked(reason=f"{linter.program} could not run: {e}")
    if ran.status is None:
        return Unchecked(reason=f"{linter.program} took more than {LINT_SECONDS:g} seconds")
    if problems := linter.problems(ran.output):
        return problems
    if ran.status == 0 or (linter.clean and linter.clean.search(ran.output)):
        return []
    said = next((line for line in ran.output.splitlines() if line.strip()), "no output")
    return Unchecked(reason=f"{linter.program} does not work here: {said.strip()[:200]}")
