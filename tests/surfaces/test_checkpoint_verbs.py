"""`hermes checkpoints`: what a tool changed is shown and brought back, and nothing else is."""

import json
import os
from dataclasses import replace
from typing import Any

import pytest

from hermes.sdk.testing.model_server import ScriptedModel
from program import Program
from terminal import CTRL_D, chat


@pytest.fixture
def project(program: Program) -> Program:
    (program.cwd / "pyproject.toml").write_text("", encoding="utf-8")
    (program.cwd / "a.txt").write_text("one\n", encoding="utf-8")
    return program


def call(program: Program, tool: str, **arguments: Any) -> dict[str, Any]:
    run = program.run("tools", "call", tool, json.dumps(arguments), "--approve", "all")
    keys: dict[str, Any] = json.loads(run.stdout)
    return keys


def text(program: Program, name: str) -> str:
    return (program.cwd / name).read_text(encoding="utf-8")


def patch(program: Program, old: str, new: str) -> None:
    assert call(program, "patch", path="a.txt", old_string=old, new_string=new)["success"]


def test_an_edit_a_new_file_and_a_command_are_all_taken_back(project: Program) -> None:
    patch(project, "one", "two")
    call(project, "write_file", path="n/b.txt", content="x\n")
    call(project, "terminal", command="echo three > a.txt; rm pyproject.toml; touch c")
    shown = project.run("checkpoints").stdout.decode()
    assert [line.split()[0] for line in shown.splitlines()[1:]] == ["3", "2", "1"]
    dry = project.run("checkpoints", "restore", "1", "--dry-run")
    assert text(project, "a.txt") == "three\n"
    done = project.run("checkpoints", "restore", "1")
    assert (dry.returncode, done.returncode) == (0, 0)
    names = sorted(path.name for path in project.cwd.iterdir())
    assert names == ["a.txt", "pyproject.toml"]
    assert text(project, "a.txt") == "one\n"


def test_a_restore_can_be_undone(project: Program) -> None:
    patch(project, "one", "two")
    project.run("checkpoints", "restore", "1")
    project.run("checkpoints", "restore", "2")
    assert text(project, "a.txt") == "two\n"


def test_later_edits_of_the_person_are_kept_unless_told_otherwise(project: Program) -> None:
    patch(project, "one", "two")
    (project.cwd / "a.txt").write_text("mine\n", encoding="utf-8")
    kept = project.run("checkpoints", "restore", "1")
    assert (kept.returncode, text(project, "a.txt")) == (1, "mine\n")
    assert b"edited after" in kept.stderr
    project.run("checkpoints", "restore", "1", "--overwrite")
    assert text(project, "a.txt") == "one\n"


def test_files_that_no_tool_changed_are_never_touched(project: Program) -> None:
    (project.cwd / "out.csv").write_text("untracked\n", encoding="utf-8")
    patch(project, "one", "two")
    (project.cwd / "later.txt").write_text("later\n", encoding="utf-8")
    project.run("checkpoints", "restore", "1")
    assert (text(project, "out.csv"), text(project, "later.txt")) == ("untracked\n", "later\n")


def test_a_file_that_is_too_large_is_said_to_be_not_covered(project: Program) -> None:
    big = project.cwd / "big.log"
    big.write_bytes(b"x" * (11 << 20))
    call(project, "terminal", command="echo more >> big.log")
    shown = project.run("checkpoints", "show", "1").stdout.decode()
    assert "big.log is not covered: too large" in shown
    assert project.run("checkpoints", "restore", "1").returncode == 1
    assert big.stat().st_size == (11 << 20) + 5


def test_a_command_that_only_reads_makes_no_checkpoint(project: Program) -> None:
    call(project, "terminal", command="ls | head")
    assert b"There are no checkpoints" in project.run("checkpoints").stdout


def test_one_of_several_files_and_one_of_several_checkpoints(project: Program) -> None:
    patch(project, "one", "two")
    call(project, "write_file", path="b.txt", content="x\n")
    project.run("checkpoints", "restore", "1", "b.txt")
    assert (text(project, "a.txt"), (project.cwd / "b.txt").exists()) == ("two\n", False)


def test_the_diff_is_from_captured_to_now_and_secrets_are_masked(project: Program) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" * 2
    (project.cwd / "a.txt").write_text(f"k={secret}\none\n", encoding="utf-8")
    patch(project, "one", "two")
    masked = project.run("checkpoints", "diff", "1").stdout.decode()
    assert "-one\n+two\n" in masked
    assert secret not in masked
    assert secret in project.run("checkpoints", "diff", "1", "--no-redact").stdout.decode()


def test_switched_off_means_nothing_is_kept(project: Program) -> None:
    project.run("config", "set", "checkpoints.enabled", "false")
    patch(project, "one", "two")
    assert b"There are no checkpoints" in project.run("checkpoints").stdout


def test_the_store_is_its_owners_alone_and_can_be_cleared(project: Program) -> None:
    patch(project, "one", "two")
    folder = project.home / "checkpoints"
    assert os.stat(folder).st_mode & 0o077 == 0
    assert project.run("checkpoints", "clear").returncode == 2
    assert project.run("checkpoints", "clear", "--force").returncode == 0
    assert b"There are no checkpoints" in project.run("checkpoints").stdout


def test_a_number_that_is_not_there_is_a_plain_error(project: Program) -> None:
    patch(project, "one", "two")
    run = project.run("checkpoints", "restore", "9")
    assert run.returncode != 0
    assert b"There is no checkpoint 9" in run.stderr


def read_json(program: Program, *words: str) -> Any:
    return json.loads(program.run("checkpoints", *words, "--json").stdout)


def test_each_verb_prints_json_too(project: Program) -> None:
    assert read_json(project, "list") == [{"root": str(project.cwd), "checkpoints": []}]
    assert read_json(project, "status") == []
    patch(project, "one", "two")
    (listed,) = read_json(project, "list")
    (row,) = listed["checkpoints"]
    assert (listed["root"], row["number"], row["files"]) == (str(project.cwd), 1, 1)
    assert (row["tools"], row["missed"], row["gaps"]) == (["patch"], 0, [])
    (place,) = read_json(project, "status")
    assert (place["root"], place["checkpoints"], place["exists"]) == (str(project.cwd), 1, True)
    assert place["bytes"] == row["bytes"] > 0
    path = str(project.cwd / "a.txt")
    (file,) = read_json(project, "show", "1")["files"]
    assert (file["path"], file["deed"], file["was"]["size"]) == (path, "changed", 4)
    (compared,) = read_json(project, "diff", "1")["files"]
    assert "-one\n+two\n" in compared["diff"]
    dry = read_json(project, "restore", "1", "--dry-run")
    done = read_json(project, "restore", "1")
    files = [{"path": path, "deed": "written", "hindrance": None, "detail": ""}]
    assert dry == {"dry_run": True, "complete": True, "undo": None, "files": files}
    assert done == {"dry_run": False, "complete": True, "undo": 2, "files": files}
    assert read_json(project, "prune", "--dry-run")["checkpoints"] == 0
    assert read_json(project, "prune")["left"] > 0


def test_a_diff_of_a_file_that_is_not_in_the_checkpoint_says_so(project: Program) -> None:
    patch(project, "one", "two")
    run = project.run("checkpoints", "diff", "1", "b.txt")
    assert run.returncode == 2
    assert b"no file of checkpoint 1" in run.stderr
    (project.cwd / "here").symlink_to(".")
    assert b"+two" in project.run("checkpoints", "diff", "1", "here/a.txt").stdout


def test_a_damaged_store_is_an_error_and_no_empty_list(project: Program) -> None:
    patch(project, "one", "two")
    (project.home / "checkpoints/checkpoints.db").write_bytes(b"")
    for words in (["list"], ["status"], ["show", "1"], ["restore", "1"], ["prune"]):
        run = project.run("checkpoints", *words, "--json")
        assert (run.returncode != 0, run.stdout) == (True, b"")
        assert b"checkpoints.db" in run.stderr


def test_a_chat_lists_compares_and_brings_back(project: Program) -> None:
    patch(project, "one", "two")
    with ScriptedModel([]) as model:
        project.configure(model.base_url)
        with chat(project) as terminal:
            for number, (words, expected) in enumerate(
                (
                    ("", "1 files, patch"),
                    ("list --all", "1 files, patch"),
                    ("diff 1", "+two"),
                    ("diff 1 b.txt", "no file of checkpoint 1"),
                    ("restore 1 --dry-run", "Nothing was changed"),
                    ("restore 1 a.txt", "/rollback restore 2"),
                    ("2", "1 restored"),
                    ("restore 9", "There is no checkpoint 9"),
                    ("undo everything", "Say /rollback"),
                ),
                start=2,
            ):
                terminal.say(f"/rollback {words}".strip())
                terminal.prompt(number)
                block = terminal.block(f"> /rollback {words}".rstrip())
                assert expected in " ".join(line.strip() for line in block)
                if words == "restore 1 a.txt":
                    assert text(project, "a.txt") == "one\n"
            terminal.type(CTRL_D)
            assert terminal.status() == 0
    assert text(project, "a.txt") == "two\n"


@pytest.mark.parametrize(("by_link", "in_project"), [(False, True), (True, False)])
def test_run_in_a_sub_folder_hand_edits_are_kept_as_anywhere(
    project: Program, by_link: bool, in_project: bool
) -> None:
    if not in_project:
        (project.cwd / "pyproject.toml").unlink()
    (project.cwd / "sub").mkdir()
    (project.cwd / "by-link").symlink_to("sub")
    call(project, "write_file", path="sub/made.txt", content="x\n")
    patch(project, "one", "two")
    (project.cwd / "a.txt").write_text("mine\n", encoding="utf-8")
    below = replace(project, cwd=project.cwd / ("by-link" if by_link else "sub"))
    below.env = {"PWD": str(below.cwd)}
    done = below.run("checkpoints", "restore", "1")
    assert b"edited after" in done.stderr
    assert (done.returncode, text(project, "a.txt")) == (1, "mine\n")
    assert not (project.cwd / "sub/made.txt").exists()
    assert below.run("checkpoints", "restore", "2", "../a.txt", "--overwrite").returncode == 0
    assert text(project, "a.txt") == "one\n"
