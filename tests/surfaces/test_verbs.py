"""`hermes sessions`, `model`, `prompt-size`, `completion`: what they print, and their status."""

import json
import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from program import HERMES, Program

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
LONG = "x" * 5000


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A home with one session (a tool call, a blank reply, an answer), and its id."""
    folder = tmp_path_factory.mktemp("talked")
    program = Program(home=folder / "home", cwd=folder)
    (folder / "notes.txt").write_text(f"{LONG}\n", encoding="utf-8")
    script = [
        replies.calls(("read_file", {"path": "notes.txt"})),
        replies.text(""),
        replies.text(f"The key is {SECRET} \x1b[31mred\x9b"),
    ]
    with ScriptedModel(script) as model:
        program.configure(model.base_url)
        run = program.run("chat", "-q", "What is in the notes?")
    assert run.returncode == 0, run.stderr
    return program.home, run.stderr.decode().split()[1]


@pytest.fixture
def id(program: Program, talked: tuple[Path, str]) -> str:
    """The one session in the home of `program`."""
    home, id = talked
    shutil.copytree(home, program.home)
    return id


def listed(program: Program, *arguments: str) -> list[dict[str, object]]:
    run = program.run("sessions", "list", "--json", *arguments)
    rows: list[dict[str, object]] = json.loads(run.stdout)
    return rows


def test_the_list_shows_conversations_and_leaves_direct_tool_calls_out(
    program: Program, id: str
) -> None:
    for _ in range(3):
        program.run("tools", "call", "read_file", '{"path": "notes.txt"}')
    assert [row["id"] for row in listed(program, "--limit", "1")] == [id]
    assert len(listed(program, "--source", "tools", "--limit", "2")) == 2
    head, line = program.run("sessions").stdout.decode().splitlines()
    assert head.split()[0] == "ID"
    assert line.startswith(f"{id}  ")
    assert line.endswith("What is in the notes?")
    assert head.index("TITLE") == line.index("What is")


def test_a_home_without_conversations_says_so(program: Program) -> None:
    run = program.run("sessions", "list")
    assert (run.returncode, run.stdout.count(b"\n")) == (0, 1)


def test_a_transcript_names_who_spoke_and_shortens_results(program: Program, id: str) -> None:
    shown = program.run("sessions", "show", id[:-2]).stdout.decode()
    lines = shown.splitlines()
    assert lines[0].startswith(id)
    call = next(i for i, line in enumerate(lines) if "read_file" in line)
    assert lines[call].endswith("[done]")
    assert len(lines[call + 1]) < 200
    assert LONG not in shown
    speakers = [line.split("  ")[0] for line in lines[4:] if line and not line.startswith(" ")]
    assert speakers == [
        "You",
        "Tools",
        "custom/scripted [empty reply]",
        "[note of Hermes to the model]",
        "custom/scripted",
    ]
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert SECRET not in shown


def test_an_export_holds_every_entry_as_a_line_of_json_without_secrets(
    program: Program, id: str
) -> None:
    file = program.cwd / "out.jsonl"
    run = program.run("sessions", "export", str(file), "--session-id", id)
    assert (run.returncode, run.stdout) == (0, b"")
    entries = [json.loads(line) for line in file.read_bytes().splitlines()]
    assert [e["role"] for e in entries] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]
    assert {e["session_id"] for e in entries} == {id}
    assert [e["seq"] for e in entries] == sorted(e["seq"] for e in entries)
    assert entries[0]["content"] == "What is in the notes?"
    assert entries[0]["at"].endswith("Z")
    assert entries[1]["calls"][0]["tool"] == "read_file"
    assert entries[2]["results"][0]["call"] == entries[1]["calls"][0]["id"]
    assert LONG[:1000] in entries[2]["results"][0]["content"]
    assert entries[4]["origin"] == "harness"
    assert (entries[5]["model"], entries[5]["usage"]["output_tokens"] > 0) == (
        "custom/scripted",
        True,
    )
    assert file.stat().st_mode & 0o077 == 0
    assert SECRET.encode() not in file.read_bytes()


def test_an_export_to_stdout_can_be_left_unmasked_and_cannot_steer_a_terminal(
    program: Program,
    id: str,
) -> None:
    run = program.run("sessions", "export", "-", "--no-redact")
    last = json.loads(run.stdout.splitlines()[-1])
    assert last["content"] == f"The key is {SECRET} \x1b[31mred\x9b"
    assert b"\x1b" not in run.stdout
    assert "\x9b" not in run.stdout.decode()


def test_markdown_fences_are_longer_than_those_inside(program: Program) -> None:
    (program.cwd / "doc.md").write_text("````\ncode\n````\n", encoding="utf-8")
    with ScriptedModel([replies.calls(("read_file", {"path": "doc.md"})), "# done"]) as model:
        program.configure(model.base_url)
        program.run("-z", "read it")
    text = program.run("sessions", "export", "--format", "md").stdout.decode()
    assert text.startswith("# read it\n")
    assert "\n`````\n{" in text
    assert "\n# done\n" in text


def test_an_export_that_cannot_be_written_leaves_nothing_behind(program: Program, id: str) -> None:
    run = program.run("sessions", "export", str(program.cwd / "absent" / "out.jsonl"))
    assert run.returncode == 2
    assert b"was not written" in run.stderr
    assert not (program.cwd / "absent").exists()


def test_a_session_is_renamed_and_then_found_by_its_title(program: Program, id: str) -> None:
    program.run("sessions", "rename", id, "trip", "to Rome")
    assert [row["title"] for row in listed(program)] == ["trip to Rome"]
    assert id.encode() in program.run("sessions", "show", "trip to Rome").stdout
    assert program.run("sessions", "rename", id, " ").returncode == 2


def test_deleting_needs_a_yes(program: Program, id: str) -> None:
    refused = program.run("sessions", "delete", id)
    assert refused.returncode == 2
    assert b"-y" in refused.stderr
    assert len(listed(program)) == 1
    deleted = program.run("sessions", "delete", id, "-y")
    assert (deleted.returncode, id.encode() in deleted.stdout) == (0, True)
    assert listed(program) == []
    assert program.run("sessions", "delete", id, "-y").returncode == 2


@pytest.mark.parametrize(("answer", "left"), [(b"\n", 1), (b"y\n", 0)])
def test_a_person_is_asked_before_a_session_is_deleted(
    program: Program, id: str, answer: bytes, left: int
) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [str(HERMES), "sessions", "delete", id],
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=program.environment(),
    ) as child:
        assert child.stderr is not None
        asked = child.stderr.read(1)
        os.write(ours, answer)
        asked += child.stderr.read()
    os.close(ours)
    os.close(theirs)
    assert b"y/N" in asked
    assert child.returncode == left
    assert len(listed(program)) == left


def test_the_model_is_set_whole_and_shown(program: Program) -> None:
    assert program.run("model").returncode == 1
    run = program.run("model", "m1", "--base-url", "http://127.0.0.1:1/v1")
    assert run.returncode == 0
    shown = program.run("model").stdout.decode()
    assert shown.splitlines()[0].split() == ["model", "custom/m1"]
    assert "http://127.0.0.1:1/v1" in shown
    program.run("model", "m2")
    assert "custom/m2" in program.run("model").stdout.decode()


def test_a_model_that_cannot_be_reached_by_its_name_changes_nothing(program: Program) -> None:
    program.configure("http://127.0.0.1:1/v1")
    before = (program.home / "config.yaml").read_bytes()
    for arguments in (
        ("x", "--provider", "no-such-provider"),
        ("x", "--provider", "openrouter"),
        ("x", "--base-url", "ftp://example.com"),
        ("x", "--provider", "local"),
        ("install", "x"),
    ):
        assert program.run("model", *arguments).returncode == 2, arguments
    assert (program.home / "config.yaml").read_bytes() == before


def test_a_key_is_not_carried_to_another_address(program: Program) -> None:
    program.configure("http://127.0.0.1:1/v1")
    program.run("config", "set", "model.api_key", SECRET)
    refused = program.run("model", "x", "--base-url", "http://127.0.0.1:2/v1")
    assert refused.returncode == 2
    assert b"hermes config unset model.api_key" in refused.stderr
    assert program.run("model", "x", "--base-url", "http://127.0.0.1:1/v2").returncode == 0
    shown = program.run("model").stdout
    assert SECRET.encode() not in shown
    assert b"/v2" in shown


def test_prompt_size_adds_up(program: Program) -> None:
    keys = json.loads(program.run("prompt-size", "--json").stdout)
    assert keys["tools"]["count"] == len(keys["tool_bytes"])
    assert keys["tools"]["json_bytes"] == sum(keys["tool_bytes"].values())
    assert keys["system_prompt"]["chars"] >= sum(chars for _, chars, _ in keys["sections"])
    lines = program.run("prompt-size").stdout.decode().splitlines()
    assert int(lines[-1].split()[-1]) == keys["estimated_tokens"]
    assert len({line.rindex(line.split()[-1]) + len(line.split()[-1]) for line in lines}) == 1


def complete(script: bytes, *words: str) -> list[str]:
    """What bash would offer for the last of `words`."""
    test = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hermes; printf "%s\\n" "${COMPREPLY[@]}"'
    run = subprocess.run(
        ["bash", "-c", script.decode() + test, "bash", *words], capture_output=True, check=True
    )
    return run.stdout.decode().split()


def test_bash_completes_verbs_options_and_their_values(program: Program) -> None:
    script = program.run("completion", "bash").stdout
    assert "sessions" in complete(script, "hermes", "")
    assert complete(script, "hermes", "sessions", "ex") == ["export"]
    assert complete(script, "hermes", "sessions", "export", "--format", "") == ["jsonl", "md"]
    assert complete(script, "hermes", "sessions", "export", "--fo") == ["--format"]
    assert complete(script, "hermes", "-m", "sessions", "doc") == ["doctor"]
    assert complete(script, "hermes", "-m", "") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script_that_names_every_verb(program: Program, shell: str) -> None:
    script = program.run("completion", shell).stdout.decode()
    for word in ("hermes", "sessions", "export", "prompt-size"):
        assert word in script
