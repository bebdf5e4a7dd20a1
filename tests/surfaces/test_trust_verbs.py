"""`hermes trust`, and what a folder's own hooks do before and after it."""

import json
import shutil
from pathlib import Path

import pytest

from hermes.sdk.testing.model_server import ScriptedModel
from program import Program
from terminal import CTRL_D, Terminal, chat


@pytest.fixture
def project(program: Program) -> Program:
    """A folder that brings a hook of its own."""
    folder = program.cwd / ".hermes"
    folder.mkdir()
    script = folder / "hook.sh"
    script.write_text("#!/bin/sh\ncat > ran.json\n", encoding="utf-8")
    script.chmod(0o755)
    (folder / "config.yaml").write_text(
        "hooks:\n  on_session_end:\n    - command: .hermes/hook.sh\n", encoding="utf-8"
    )
    return program


def ran(program: Program) -> bool:
    return (program.cwd / "ran.json").exists()


def test_in_a_run_without_a_person_it_is_inert_and_said_in_one_line(project: Program) -> None:
    with ScriptedModel(["hello"]) as model:
        project.configure(model.base_url, "hooks_auto_accept: true\n")
        run = project.run("-z", "hi")
    assert run.stdout == b"hello\n"
    assert run.stderr.count(b"\n") == 1
    assert f"hermes trust {project.cwd}" in run.stderr.decode()
    assert not ran(project)


def test_a_trusted_folders_hooks_still_need_a_consent_each(project: Program) -> None:
    with ScriptedModel(["one", "two"]) as model:
        project.configure(model.base_url)
        done = project.run("trust")
        assert (done.returncode, done.stderr) == (0, b"")
        assert ".hermes/config.yaml" in done.stdout.decode()
        first = project.run("-z", "hi")
        assert b"did not run" in first.stderr
        assert not ran(project)
        assert project.run("hooks", "allow", ".hermes/hook.sh").returncode == 0
        second = project.run("-z", "hi")
    assert (second.stdout, second.stderr) == (b"two\n", b"")
    assert ran(project)


def test_from_a_subfolder_the_project_counts_and_its_hooks_run_in_it(project: Program) -> None:
    inner = project.cwd / "a" / "b"
    inner.mkdir(parents=True)
    with ScriptedModel(["one"]) as model:
        project.configure(model.base_url, "hooks_auto_accept: true\n")
        project.run("trust", str(project.cwd))
        run = Program(home=project.home, cwd=inner).run("-z", "hi")
    assert (run.returncode, run.stderr) == (0, b"")
    assert ran(project)


def test_list_and_revoke(project: Program) -> None:
    assert b"No folder is trusted" in project.run("trust", "--list").stdout
    said = json.loads(project.run("trust", "--json").stdout)
    assert said == {
        "path": str(project.cwd),
        "trusted": True,
        "things": [".hermes/config.yaml"],
    }
    (row,) = json.loads(project.run("trust", "--list", "--json").stdout)
    assert (row["path"], row["trusted"], row["same"]) == (str(project.cwd), True, True)
    assert str(project.cwd) in project.run("trust", "--list").stdout.decode()
    assert project.run("trust", "--revoke", ".").returncode == 0
    again = project.run("trust", "--revoke", ".")
    assert (again.returncode, again.stdout) == (2, b"")
    assert json.loads(project.run("trust", "--list", "--json").stdout) == []


def test_a_folder_that_is_replaced_is_shown_as_such(project: Program) -> None:
    other = project.cwd.with_name("other")
    other.mkdir()
    project.run("trust", str(other))
    other.rename(project.cwd.with_name("kept"))
    other.mkdir()
    assert "does not count" in project.run("trust", "--list").stdout.decode()


def test_what_cannot_be_trusted_is_refused_with_the_reason(project: Program) -> None:
    for path, reason in (("/", "more than a project"), ("none", "No such file")):
        run = project.run("trust", path)
        assert run.returncode == 2
        assert reason in run.stderr.decode()


def test_safe_mode_leaves_a_project_out_and_says_nothing(project: Program) -> None:
    project.run("trust")
    with ScriptedModel(["one"]) as model:
        project.configure(model.base_url, "hooks_auto_accept: true\n")
        project.env |= {"HERMES_MODEL": "scripted"}
        run = project.run("hooks", "list")
        assert b".hermes/hook.sh" in run.stdout
        run = project.run("-z", "hi", "--safe-mode")
    assert not ran(project)
    assert b"trusted" not in run.stderr


def test_a_broken_project_file_stops_the_run_by_name(project: Program) -> None:
    project.run("trust")
    (project.cwd / ".hermes" / "config.yaml").write_text("hooks: [", encoding="utf-8")
    with ScriptedModel([]) as model:
        project.configure(model.base_url)
        run = project.run("-z", "hi")
    assert run.returncode == 2
    assert ".hermes/config.yaml" in run.stderr.decode()


def test_no_secret_is_put_into_a_projects_settings(project: Program) -> None:
    (project.cwd / ".hermes" / "config.yaml").write_text(
        "hooks:\n  on_session_end:\n    - command: curl ${API_TOKEN}\n", encoding="utf-8"
    )
    project.env["API_TOKEN"] = "tok-123456"
    project.run("trust")
    shown = project.run("hooks", "list").stdout.decode()
    assert "${API_TOKEN}" in shown
    assert "tok-123456" not in shown


def question(program: Program, terminal: Terminal) -> None:
    terminal.until(lambda: "Trust this folder?" in terminal.text)


def test_a_chat_asks_once_and_a_yes_is_kept(project: Program) -> None:
    with ScriptedModel(["one", "two"]) as model:
        project.configure(model.base_url, "hooks_auto_accept: true\n")
        with Terminal(project) as terminal:
            question(project, terminal)
            assert ".hermes/config.yaml" in terminal.text
            terminal.say("y")
            terminal.prompt(1)
            terminal.say("hi")
            terminal.prompt(2)
            terminal.type(CTRL_D)
            assert terminal.status() == 0
        assert ran(project)
        with chat(project) as terminal:
            assert "Trust this folder?" not in terminal.text


@pytest.mark.parametrize(("answer", "asked_again"), [("", True), ("n", True), ("never", False)])
def test_anything_but_yes_leaves_it_inert(project: Program, answer: str, asked_again: bool) -> None:
    with ScriptedModel(["one"]) as model:
        project.configure(model.base_url, "hooks_auto_accept: true\n")
        with Terminal(project) as terminal:
            question(project, terminal)
            terminal.say(answer)
            terminal.prompt(1)
            terminal.say("hi")
            terminal.prompt(2)
            terminal.type(CTRL_D)
            assert terminal.status() == 0
        assert not ran(project)
        with Terminal(project) as terminal:
            if asked_again:
                question(project, terminal)
            else:
                terminal.prompt(1)
                assert "Trust this folder?" not in terminal.text


def test_a_folder_that_brings_nothing_is_not_asked_about(program: Program) -> None:
    with ScriptedModel([]) as model:
        program.configure(model.base_url)
        with chat(program) as terminal:
            assert "Trust" not in terminal.text


def test_a_clone_in_the_place_of_a_trusted_folder_is_inert(project: Program) -> None:
    project.run("trust")
    kept = Path(f"{project.cwd}-kept")
    project.cwd.rename(kept)
    shutil.copytree(kept, project.cwd)
    with ScriptedModel(["one"]) as model:
        project.configure(model.base_url, "hooks_auto_accept: true\n")
        run = project.run("-z", "hi")
    assert b"is not trusted" in run.stderr
    assert not ran(project)
