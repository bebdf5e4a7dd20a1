"""`hermes approvals check`: what a command is, told without running it."""

import json
import subprocess
from pathlib import Path

from program import HERMES, Program


def test_a_command_is_told_by_its_verdict_its_rules_and_its_parts(program: Program) -> None:
    run = program.run("approvals", "check", "sudo rm -rf /; echo $x")
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["verdict"] == "deny"
    assert told["hardline"] is True
    assert told["dangerous"] is True
    assert told["families"] == ["remove_root", "recursive_delete"]
    assert told["reason"]
    assert told["segments"][0] == {
        "text": "sudo rm -rf /",
        "program": "rm",
        "words": ["rm", "-rf", "/"],
        "wrappers": ["sudo"],
    }
    assert told["segments"][1]["words"] == ["echo", "$x"]


def test_each_line_is_answered_at_once(program: Program) -> None:
    with subprocess.Popen(
        [str(HERMES), "approvals", "check", "--jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=program.environment(),
        cwd=program.cwd,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for command, verdict in (("ls", "allow"), ("a\nrm -r \u2028 b", "ask"), ("halt", "deny")):
            process.stdin.write(json.dumps(command).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["verdict"] == verdict
        process.stdin.close()
        assert process.wait(20) == 0


def test_a_line_that_is_no_string_is_an_error_and_the_rest_is_answered(program: Program) -> None:
    run = program.run("approvals", "check", "--jsonl", stdin=b'{"a": 1}\nnot json\n"ls"\n')
    first, second, third = map(json.loads, run.stdout.splitlines())
    assert run.returncode == 1
    assert "error" in first
    assert "error" in second
    assert third["verdict"] == "allow"


def test_without_a_command_the_way_that_works_is_named(program: Program) -> None:
    run = program.run("approvals", "check")
    assert run.returncode != 0
    assert b"--jsonl" in run.stderr


def test_nothing_is_run(program: Program, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    assert program.run("approvals", "check", f"touch {mark}; echo $(touch {mark})").returncode == 0
    assert not mark.exists()
