"""Lint after a write: only what the edit brought in, and nothing of the workspace is run."""

import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.clock import SystemClock
from hermes.system.config.sections import LspSection
from hermes.system.env import Environment
from hermes.system.process import Reaper
from hermes.tools.files.checks.checker import Checker
from hermes.tools.files.checks.problems import Problem, fresh

PATH = Environment.current().get("PATH", "")


def needs(program: str) -> pytest.MarkDecorator:
    found = shutil.which(program, path=PATH)
    return pytest.mark.skipif(found is None, reason=f"{program} is not installed")


class Desk:
    """A folder `programs` that is all of PATH, beside a checker."""

    def __init__(self, folder: Path, path: str = "") -> None:
        self.programs = folder / "programs"
        self.programs.mkdir()
        self.log = folder / "log"
        self.reaper = Reaper()
        # The programs' own wrappers need a home.
        home = Environment.current().get("HOME", "/")
        self.checker = Checker(
            LspSection(enabled=False),
            reaper=self.reaper,
            env={"PATH": path or f"relative:{self.programs}", "HOME": home, "LOG": str(self.log)},
            clock=SystemClock(),
            redact=lambda text: text.replace("hunter2", "***"),
        )

    def program(self, name: str, script: str) -> None:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    await desk.reaper.aclose()


@pytest.fixture
async def real(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path, PATH)
    yield desk
    await desk.reaper.aclose()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "x = '\\d'\nif x is 1: pass\n"),
        ("a.py", "\ufeffx = 1\n"),
        ("a.pyi", "def f() -> int: ...\n"),
        ("a.json", "{}"),
        ("a.yaml", "a: 1\n"),
        ("a.toml", "a = 1\n"),
        ("a.jsonl", "{}\n{}\n"),
    ],
)
async def test_clean_text_is_ok(desk: Desk, path: str, text: str) -> None:
    assert await desk.checker.lint(path, None, text) == {"status": "ok", "output": ""}


@pytest.mark.parametrize(
    ("path", "text", "place"),
    [
        ("a.py", "x = 1\ndef f(:\n", "line 2, column 7: SyntaxError"),
        ("a.py", "def f():\n\treturn 1\n        return 2\n", "line 3"),
        ("a.py", "return 1\n", "line 1, column 1: SyntaxError: 'return' outside function"),
        ("a.py", "x = '\0'\n", "line 1, column 1"),
        ("a.jsonl", '{}\n{"a":\n', "line 2, column 6"),
        ("a.yaml", "a: b: c\n", "line 1, column 5"),
    ],
)
async def test_errors_are_told_with_their_place(
    desk: Desk, path: str, text: str, place: str
) -> None:
    result = await desk.checker.lint(path, None, text)
    assert result["status"] == "error"
    assert result["output"].startswith(place)
    assert "message" not in result


async def test_lines_that_are_quoted_are_shown_without_secrets(desk: Desk) -> None:
    desk.program("gofmt", 'for last; do :; done; echo "$last:1:1: found hunter2" >&2; exit 2')
    result = await desk.checker.lint("a.go", None, "hunter2\n")
    assert "***" in result["output"]
    assert "hunter2" not in str(result)


async def test_an_error_that_was_there_is_not_told_again(desk: Desk) -> None:
    result = await desk.checker.lint("a.py", "def f(:\n", "# c\n\ndef f(:\n")
    assert result == {"status": "error", "output": "", "message": "no new errors; 1 was there"}


async def test_another_error_than_the_one_before_is_new(desk: Desk) -> None:
    result = await desk.checker.lint("a.py", "x = 1\ndef f(:\n", "x = )\ndef f():\n  pass\n")
    assert result["output"].startswith("line 1, column 5: SyntaxError: unmatched ')'")


async def test_python_code_is_never_run(desk: Desk, tmp_path: Path) -> None:
    proof = tmp_path / "ran"
    text = f"open({str(proof)!r}, 'w', encoding='utf-8')\n"
    assert (await desk.checker.lint("a.py", None, text))["status"] == "ok"
    assert not proof.exists()


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("a.md", "# x\n", "no linter for .md files"),
        ("Makefile", "x\n", "no linter"),
        ("a.go", "package a\n", "gofmt is not on PATH"),
        ("a.py", "x = 1\n" * 200_000, "too large"),
        ("a.yaml", "{% if x %}\na: {{ b }}\n", "a template"),
        ("renovate.json", "{a: 1}", "JSON5"),
    ],
)
async def test_what_is_not_checked_says_why(desk: Desk, path: str, text: str, reason: str) -> None:
    result = await desk.checker.lint(path, None, text)
    assert result["status"] == "skipped"
    assert reason in result["message"]


GO_STUB = """
pwd > "$LOG"; for last; do :; done; /bin/cat "$last" >> "$LOG"
n=0; while IFS= read -r line; do n=$((n + 1))
case "$line" in *BAD*) echo "$last:$n:1: expected ';', found BAD" >&2; bad=1 ;; esac
done < "$last"; [ -z "$bad" ] || exit 2
"""


async def test_a_program_sees_the_text_in_a_folder_of_its_own(desk: Desk, tmp_path: Path) -> None:
    desk.program("gofmt", GO_STUB)
    target = tmp_path / "a.go"
    assert (await desk.checker.lint(str(target), None, "fine\n"))["status"] == "ok"
    folder, text = desk.log.read_text(encoding="utf-8").splitlines()
    assert text == "fine"
    assert not target.exists()
    assert not folder.startswith(str(tmp_path / "a"))
    assert not Path(folder).exists()


async def test_only_new_errors_of_a_program_are_told(desk: Desk) -> None:
    desk.program("gofmt", GO_STUB)
    old = "a\nBAD\nb\n"
    result = await desk.checker.lint("a.go", old, "BAD\nzero\na\nBAD\nb\n")
    assert result == {
        "status": "error",
        "output": "line 1, column 1: expected ';', found BAD",
        "message": "new errors only; 1 more was there",
    }


async def test_a_program_that_does_not_work_is_told_as_such(desk: Desk) -> None:
    desk.program("gofmt", "echo 'gofmt: no toolchain' >&2; exit 1")
    result = await desk.checker.lint("a.go", None, "x\n")
    assert result["status"] == "skipped"
    assert "does not work here: gofmt: no toolchain" in result["message"]


async def test_a_program_on_a_relative_path_is_not_run(desk: Desk, tmp_path: Path) -> None:
    desk.programs.rename(tmp_path / "relative")
    (tmp_path / "relative" / "gofmt").symlink_to("/bin/true")
    result = await desk.checker.lint("a.go", None, "x\n")
    assert result["message"] == "not checked: gofmt is not on PATH"


async def test_a_cancelled_lint_leaves_no_process_and_no_folder(desk: Desk) -> None:
    desk.program("gofmt", 'pwd > "$LOG.part"; /bin/mv "$LOG.part" "$LOG"; exec /bin/sleep 600')
    started = time.monotonic()
    async with anyio.create_task_group() as group:
        group.start_soon(desk.checker.lint, "a.go", None, "x\n")
        with anyio.fail_after(10):
            while not desk.log.exists():
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
        started = time.monotonic()
    assert time.monotonic() - started < 1.0
    assert not Path(desk.log.read_text(encoding="utf-8").strip()).exists()


@needs("node")
@pytest.mark.parametrize(
    ("path", "text", "status"),
    [
        ("a.js", "let a = 1;\n", "ok"),
        ("a.js", "import x from 'x';\nawait x;\n", "ok"),
        ("a.js", "const x = require('x');\nreturn;\n", "ok"),
        ("a.js", "const x = <div>a</div>;\n", "skipped"),
        ("a.js", "let a = 1;\nlet b = ;\n", "error"),
        ("a.mjs", "export default 1;\n", "ok"),
        ("a.cjs", "let a = 1;\nlet b = ;\n", "error"),
    ],
)
async def test_javascript_is_a_script_or_a_module(
    real: Desk, path: str, text: str, status: str
) -> None:
    result = await real.checker.lint(path, None, text)
    assert result["status"] == status
    if status == "error":
        assert result["output"] == "line 2, column 9: SyntaxError: Unexpected token ';'"


@needs("rustfmt")
@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("fn main() {}\n", "ok"),
        ("mod other;\nasync fn a() {let x=1;}\n", "ok"),
        ("fn main() {\n    let x = ;\n}\n", "error"),
    ],
)
async def test_rust_is_parsed_whatever_its_style(real: Desk, text: str, status: str) -> None:
    result = await real.checker.lint("a.rs", None, text)
    if result["status"] == "skipped":
        pytest.skip(result["message"])
    assert result["status"] == status
    if status == "error":
        assert result["output"].startswith("line 2, column 13: expected expression")


LINES = st.lists(st.sampled_from(["a", "b", "BAD", "BAD two"]), max_size=12)


def _scan(lines: list[str]) -> list[Problem]:
    return [
        Problem(line=n, column=1, message=line) for n, line in enumerate(lines, 1) if "BAD" in line
    ]


@given(LINES, LINES, LINES)
def test_lines_put_around_a_text_make_none_of_its_errors_new(
    top: list[str], text: list[str], end: list[str]
) -> None:
    added = fresh(
        "\n".join(text), "\n".join(top + text + end), _scan(text), _scan(top + text + end)
    )
    assert sorted(p.message for p in added) == sorted(p.message for p in _scan(top + end))


@given(LINES, LINES)
def test_no_more_errors_are_known_than_there_were(old: list[str], new: list[str]) -> None:
    before, now = _scan(old), _scan(new)
    added = fresh("\n".join(old), "\n".join(new), before, now)
    assert len(added) >= len(now) - len(before)
    assert all(p in now for p in added)
