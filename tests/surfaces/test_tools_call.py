"""`hermes tools`: tools called as a model would, without a model."""

import json
import os
import select
import subprocess
from typing import Any

from program import HERMES, Program


def lines(program: Program, *wishes: object, options: tuple[str, ...] = ()) -> list[Any]:
    """What `tools call --jsonl` answers to `wishes`; bytes are sent as they are."""
    sent = [w if isinstance(w, bytes) else json.dumps(w).encode() for w in wishes]
    run = program.run("tools", "call", "--jsonl", *options, stdin=b"\n".join(sent))
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_a_call_prints_the_string_that_a_model_would_receive(program: Program) -> None:
    (program.cwd / "a.txt").write_text("hello\n", encoding="utf-8")
    run = program.run("tools", "call", "read_file", '{"path": "a.txt"}')
    assert run.returncode == 0
    assert run.stdout.count(b"\n") == 1
    assert "hello" in json.loads(run.stdout)["content"]


def test_what_needs_a_person_is_denied_unless_all_is_approved(program: Program) -> None:
    wish = ("write_file", '{"path": "AGENTS.md", "content": "x"}')
    denied = program.run("tools", "call", *wish)
    assert denied.returncode == 0
    assert "nobody is there" in json.loads(denied.stdout)["error"]
    assert not (program.cwd / "AGENTS.md").exists()
    program.run("tools", "call", *wish, "--approve", "all")
    assert (program.cwd / "AGENTS.md").read_text(encoding="utf-8") == "x"


def test_an_ordinary_file_is_written_without_a_question(program: Program) -> None:
    program.run("tools", "call", "write_file", '{"path": "b.txt", "content": "x"}')
    assert (program.cwd / "b.txt").read_text(encoding="utf-8") == "x"


def test_one_session_lasts_over_all_lines(program: Program) -> None:
    (program.cwd / "inner").mkdir()
    (program.cwd / "inner" / "a.txt").write_text("found\n", encoding="utf-8")
    moved, read = lines(
        program,
        {"tool": "terminal", "args": {"command": "cd inner"}},
        {"sleep": 0.01},
        b"",
        {"tool": "read_file", "args": {"path": "a.txt"}},
        options=("--approve", "all"),
    )
    assert moved["exit_code"] == 0
    assert "found" in read["content"]


def test_a_broken_line_is_answered_with_its_number_and_the_next_one_runs(
    program: Program,
) -> None:
    (program.cwd / "a.txt").write_text("hello\n", encoding="utf-8")
    broken = [
        b"no json",
        b"[]",
        b'{"tool": "read_file", "args": [1]}',
        b'{"tool": "read_file", "arguments": {}}',
        b'{"sleep": -1}',
        b'{"sleep": true}',
        b'{"sleep": NaN}',
        b'{"sleep": 1e999}',
        b'{"tool": "\xff"}',
        b"[" * 100_000,
    ]
    answers = lines(program, *broken, {"tool": "read_file", "args": {"path": "a.txt"}})
    for number, answer in enumerate(answers[:-1], 1):
        assert answer["error"].startswith(f"line {number}: ")
    assert len(answers) == len(broken) + 1
    assert "hello" in answers[-1]["content"]


def test_an_unknown_tool_is_answered_as_a_model_would_be(program: Program) -> None:
    (answer,) = lines(program, {"tool": "nothing_like_it", "args": {}})
    assert "read_file" in answer["error"]


def test_a_result_of_several_lines_is_still_one_line(program: Program) -> None:
    (program.home).mkdir()
    config = "tool_output:\n  max_bytes: 1000000\n"
    (program.home / "config.yaml").write_text(config, encoding="utf-8")
    wish = {"tool": "terminal", "args": {"command": "seq 1 40000"}}
    (answer,) = lines(program, wish)
    assert isinstance(answer, str)
    assert answer.startswith("<persisted-output>\n")


def test_each_answer_comes_before_the_next_line_is_sent(program: Program) -> None:
    (program.cwd / "a.txt").write_text("hello\n", encoding="utf-8")
    with subprocess.Popen(
        [str(HERMES), "tools", "call", "--jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=program.environment(),
        cwd=program.cwd,
        bufsize=0,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for limit in (1, 2):
            wish = b'{"tool": "read_file", "args": {"path": "a.txt", "limit": %d}}\n' % limit
            child.stdin.write(wish[:20])
            child.stdin.write(wish[20:])
            assert select.select([child.stdout], [], [], 30)[0]
            assert b"hello" in os.read(child.stdout.fileno(), 65536)
        child.stdin.close()
        assert child.wait(30) == 0


def test_wrong_usage_exits_2_and_calls_nothing(program: Program) -> None:
    for arguments in (
        (),
        ("read_file",),
        ("read_file", "{"),
        ("read_file", "[]"),
        ("read_file", "{}", "--jsonl"),
        ("--jsonl", "--cwd", "no-such-folder"),
    ):
        run = program.run("tools", "call", *arguments)
        assert (run.returncode, run.stdout) == (2, b""), arguments
        assert run.stderr


def test_the_working_folder_can_be_named(program: Program) -> None:
    (program.cwd / "inner").mkdir()
    (program.cwd / "inner" / "a.txt").write_text("hello\n", encoding="utf-8")
    wish = {"tool": "read_file", "args": {"path": "a.txt"}}
    (answer,) = lines(program, wish, options=("--cwd", "inner"))
    assert "hello" in answer["content"]


def test_the_list_names_every_tool_with_its_effects(program: Program) -> None:
    rows = [line.split() for line in program.run("tools").stdout.decode().splitlines()]
    effects = {row[0]: row[2] for row in rows[1:]}
    assert effects["read_file"] == "reads"
    assert effects["terminal"] == "world"
