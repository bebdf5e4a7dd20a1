"""`hermes sandbox`, as a person runs it."""

import json
import shutil
from pathlib import Path

import pytest

from program import Program

BUBBLEWRAP = shutil.which("bwrap")
KEYS = {"level", "network", "engine", "program", "landlock", "passed_over"}


def configure(program: Program, local: str) -> None:
    program.home.mkdir(parents=True, exist_ok=True)
    text = f"terminal:\n  local:\n{local}"
    (program.home / "config.yaml").write_text(text, encoding="utf-8")


def without_bubblewrap(program: Program, folder: Path) -> None:
    """A PATH on which it is not found."""
    program.env["PATH"] = str(folder)


def test_status_names_level_engine_and_why_not_a_better_one(
    program: Program, tmp_path: Path
) -> None:
    without_bubblewrap(program, tmp_path)
    said = json.loads(program.run("sandbox", "status", "--json").stdout)
    assert said.keys() == KEYS
    assert said["level"] == "protect"
    assert "bubblewrap" in said["passed_over"] or said["program"]
    text = program.run("sandbox").stdout.decode()
    assert text.startswith(f"Level: protect\nEngine: {said['engine']}\nNetwork: open\n")


@pytest.mark.skipif(BUBBLEWRAP is None, reason="bubblewrap is not installed")
def test_bubblewrap_is_taken_where_it_is(program: Program) -> None:
    said = json.loads(program.run("sandbox", "status", "--json").stdout)
    assert (said["engine"], said["program"], said["passed_over"]) == ("bubblewrap", BUBBLEWRAP, {})


def test_off_is_said_and_is_no_failure(program: Program) -> None:
    configure(program, "    sandbox: 'off'\n")
    said = program.run("sandbox", "status")
    assert said.returncode == 0
    assert b"Engine: none" in said.stdout
    open_ = json.loads(program.run("sandbox", "explain", "--json").stdout)["open"]
    assert [each["name"] for each in open_] == ["everything"]


def test_explain_tells_what_is_closed_and_what_is_open_with_the_keys(program: Program) -> None:
    user = program.home.parent
    (user / ".aws").mkdir()
    (user / ".bashrc").touch()
    configure(program, "    sandbox: protect\n")
    said = json.loads(program.run("sandbox", "explain", "--json").stdout)
    hidden = {each["path"]: each["key"] for each in said["hidden"]}
    assert hidden[str(user / ".aws")] == "terminal.local.expose: aws"
    assert str(user / ".bashrc") in said["read_only"]
    assert str(program.home) in said["read_only"]
    left = {each["name"]: each["key"] for each in said["open"]}
    assert left["network"] == "terminal.local.network"
    assert {"projects", "tmp", "late", "kernel"} <= left.keys()
    text = program.run("sandbox", "explain").stdout.decode()
    assert f"  {user}/.aws  [terminal.local.expose: aws]\n" in text
    assert "Left open:\n" in text


def test_a_level_is_obeyed_and_a_wrong_one_is_an_error(program: Program) -> None:
    configure(program, "    sandbox: read-only\n    network: none\n")
    said = json.loads(program.run("sandbox", "explain", "--json").stdout)
    assert (said["level"], said["network"]) == ("read-only", "none")
    assert "network" not in {each["name"] for each in said["open"]}
    configure(program, "    sandbox: strict\n")
    wrong = program.run("sandbox", "status")
    assert wrong.returncode != 0
    assert b"terminal.local.sandbox" in wrong.stderr


def test_an_unknown_store_is_an_error(program: Program) -> None:
    configure(program, "    expose: [sshh]\n")
    wrong = program.run("sandbox", "status")
    assert wrong.returncode != 0
    assert b"Did you mean `ssh`?" in wrong.stderr


def test_test_tries_to_break_out_and_says_what_came_of_it(program: Program) -> None:
    user = program.home.parent
    (user / ".ssh").mkdir()
    (user / ".ssh/id_rsa").write_text("key\n", encoding="utf-8")
    configure(program, "    sandbox: protect\n")
    said = program.run("sandbox", "test", "--json")
    if said.returncode and b"No sandbox" in said.stderr:
        pytest.skip(said.stderr.decode())
    outcomes = json.loads(said.stdout)
    assert said.returncode == 0, [each for each in outcomes if each["verdict"] == "broken"]
    tried = {(each["attempt"], each["target"]): each["verdict"] for each in outcomes}
    assert tried["read", str(user / ".ssh/id_rsa")] == "held"
    assert len({attempt for attempt, _ in tried}) >= 15
    text = program.run("sandbox", "test").stdout.decode()
    assert f"held    read {user}/.ssh/id_rsa (" in text
