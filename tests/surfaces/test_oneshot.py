"""`hermes -z` and `hermes chat -q`, run as a person or a script would."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.core.content import visible
from hermes.core.entries import UserEntry
from hermes.core.inputs import Submit
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from program import Program
from rig import CLI, Rig, say


def test_the_answer_is_on_stdout_and_nothing_else(program: Program) -> None:
    with ScriptedModel(["The answer"]) as model:
        program.configure(model.base_url)
        run = program.run("-z", "question")
    assert (run.returncode, run.stdout, run.stderr) == (0, b"The answer\n", b"")


def test_a_query_says_on_stderr_how_to_go_on(program: Program) -> None:
    with ScriptedModel(["one", "two"]) as model:
        program.configure(model.base_url)
        run = program.run("chat", "-q", "first")
        assert (run.returncode, run.stdout) == (0, b"one\n")
        line = run.stderr.decode().strip()
        assert line.startswith("session ")
        again = program.run("--resume", line.split()[1], "-z", "second")
        assert again.stdout == b"two\n"
    assert [m["content"] for m in model.requests[1].messages[1:]] == ["first", "one", "second"]


def test_continue_goes_on_with_the_last_session(program: Program) -> None:
    with ScriptedModel(["one", "two"]) as model:
        program.configure(model.base_url)
        program.run("-z", "first")
        assert program.run("-c", "-z", "second").stdout == b"two\n"
    assert len(model.requests[1].messages) == 4


def test_a_session_goes_on_in_its_own_folder_with_its_own_prompt(
    program: Program, tmp_path: Path
) -> None:
    with ScriptedModel(["one", "two"]) as model:
        program.configure(model.base_url)
        program.run("-z", "first")
        program.cwd = tmp_path
        again = program.run("-c", "-z", "second")
    assert b"Working in" in again.stderr
    first, second = model.requests
    assert second.body.startswith(first.body.removesuffix(b"]}"))


def test_a_session_taken_to_another_folder_says_so_to_the_model(
    program: Program, tmp_path: Path
) -> None:
    with ScriptedModel(["one", "two"], check_prefix=False) as model:
        program.configure(model.base_url)
        program.run("-z", "first")
        program.cwd = tmp_path
        again = program.run("-c", "--no-restore-cwd", "-z", "second")
    assert again.stderr == b""
    assert f"Working folder: {tmp_path}\n" in model.requests[1].messages[0]["content"] + "\n"


@pytest.mark.anyio
async def test_a_message_that_waited_is_answered_first_and_its_answer_is_not_ours(
    program: Program,
) -> None:
    program.home.mkdir()
    rig = Rig(program.home)
    with ScriptedModel(["one"]) as model:
        async with rig.session(model) as session:
            await say(session, "first")
    async with rig.store() as store:
        lease = await store.claim(session.id)
        await store.enqueue(lease, Submit(text="waited", origin=CLI))
    with ScriptedModel(
        lambda request: f"answer to {request.messages[-1]['content']}", check_prefix=False
    ) as model:
        program.configure(model.base_url)
        run = program.run("--resume", session.id, "-z", "new")
    assert run.stdout == b"answer to new\n"
    said = [visible(e.content) for e in await rig.entries(session.id) if isinstance(e, UserEntry)]
    assert said == ["first", "waited", "new"]


def test_an_answer_is_shown_in_any_locale(program: Program) -> None:
    program.env = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with ScriptedModel(["caf\u00e9"]) as model:
        program.configure(model.base_url)
        run = program.run("-z", "hi")
    assert run.returncode == 0
    assert run.stdout.startswith(b"caf")


def test_piped_input_joins_the_message(program: Program) -> None:
    with ScriptedModel(["ok", "ok"]) as model:
        program.configure(model.base_url)
        program.run("-z", "What is this?", stdin=b"some text\n")
        program.run(stdin=b"only this, \xff and more")
    first, second = (r.messages[-1]["content"] for r in model.requests)
    assert first == "What is this?\n\nsome text\n"
    assert second == "only this, \N{REPLACEMENT CHARACTER} and more"


def test_with_nothing_configured_it_exits_2_with_one_sentence(program: Program) -> None:
    run = program.run("-z", "hi")
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr.count(b"\n") == 1
    assert b"No model is configured" in run.stderr


def test_an_empty_message_is_refused(program: Program) -> None:
    run = program.run("-z", "")
    assert (run.returncode, run.stdout) == (2, b"")


def test_the_usage_file_has_the_references_keys(program: Program, tmp_path: Path) -> None:
    with ScriptedModel(["ok"]) as model:
        program.configure(model.base_url)
        program.run("-z", "hi", "--usage-file", str(tmp_path / "usage.json"))
    usage = json.loads((tmp_path / "usage.json").read_bytes())
    assert usage["completed"] is True
    assert usage["api_calls"] == 1
    assert usage["input_tokens"] > 0
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["turn_exit_reason"] == "finished"


def test_an_unfinished_turn_is_not_a_success_and_its_reason_is_on_stderr(program: Program) -> None:
    with ScriptedModel(lambda _: replies.text("")) as model:
        program.configure(model.base_url)
        run = program.run("-z", "hi")
    assert (run.returncode, run.stdout) == (1, b"")
    assert b"gave no answer" in run.stderr


def test_one_interrupt_stops_the_turn_and_says_so_when_all_is_quiet(program: Program) -> None:
    with ScriptedModel([replies.never_ending("and ")]) as model:
        program.configure(model.base_url)
        process = program.start("-z", "hi")
        model.wait_for_request(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        model.wait_for_disconnect(1)
    assert process.returncode == 130
    assert err.decode().strip().endswith("stopped")
    assert out == b""


def test_an_interrupt_ends_the_command_that_runs_and_its_children(program: Program) -> None:
    call = replies.calls(("terminal", {"command": "sh run.sh"}))
    with ScriptedModel([call]) as model:
        program.configure(model.base_url, "approvals:\n  mode: off\n")
        script = program.cwd / "run.sh"
        script.write_text("setsid sleep 4242 &\nsleep 4242\n", encoding="utf-8")
        process = program.start("-z", "hi")
        model.wait_for_request(1)
        wait_until(lambda: len(processes("sleep 4242", program)) == 2)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert processes("sleep 4242", program) == []


def processes(command: str, program: Program) -> list[str]:
    """The processes running `command` that were started under this program's home."""
    marker = "HERMES_SESSION_ID="
    found = []
    for folder in Path("/proc").iterdir():
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            mine = marker.encode() in (folder / "environ").read_bytes()
            here = (folder / "cwd").resolve() == program.cwd
        except OSError:
            continue
        if line == command and mine and here:
            found.append(folder.name)
    return found


def wait_until(holds) -> None:  # type: ignore[no-untyped-def]
    import time

    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end, "it did not come to pass within 20 s"
        os.sched_yield()


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (replies.http(401, b'{"error":{"message":"bad key"}}'), "key"),
        (replies.html(), "HTML"),
        (replies.http(500, b"boom"), "500"),
        (replies.drop([replies.chunk({"role": "assistant", "content": "half"})]), "ended before"),
    ],
)
def test_a_provider_that_fails_gives_one_clear_sentence(
    program: Program, reply: replies.Reply, words: str
) -> None:
    with ScriptedModel(lambda _: reply) as model:
        program.configure(model.base_url)
        run = program.run("-z", "hi")
    assert (run.returncode, run.stdout) == (1, b"")
    text = run.stderr.decode()
    assert words.lower() in text.lower(), text
    assert text.count("\n") == 1
    assert "Traceback" not in text


def test_a_dead_endpoint_names_its_address(program: Program) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program.configure(f"http://127.0.0.1:{port}/v1")
    run = program.run("-z", "hi")
    assert run.returncode == 1
    assert f"127.0.0.1:{port}" in run.stderr.decode()


def test_broken_yaml_names_file_and_line_and_changes_nothing(program: Program) -> None:
    program.configure("http://127.0.0.1:1/v1")
    config = program.home / "config.yaml"
    config.write_text("model:\n  default: x\n bad indent: [\n", encoding="utf-8")
    run = program.run("-z", "hi")
    assert run.returncode == 2
    assert b"config.yaml" in run.stderr
    assert b"3" in run.stderr
    assert config.read_text(encoding="utf-8") == "model:\n  default: x\n bad indent: [\n"


def test_a_home_that_cannot_be_written_is_one_sentence(program: Program) -> None:
    program.home.write_text("a file", encoding="utf-8")
    run = program.run("-z", "hi")
    assert run.returncode == 2
    assert b"Traceback" not in run.stderr
    assert program.home.read_text(encoding="utf-8") == "a file"


def test_a_database_that_is_damaged_stops_and_keeps_a_copy(program: Program) -> None:
    with ScriptedModel(["ok"]) as model:
        program.configure(model.base_url)
        program.run("-z", "hi")
        database = program.home / "hermes.db"
        database.write_bytes(b"not a database at all" * 1000)
        for side in ("-wal", "-shm"):
            (program.home / f"hermes.db{side}").unlink(missing_ok=True)
        run = program.run("-z", "again")
    assert run.returncode == 1
    assert run.stderr.count(b"\n") == 1
    assert list(program.home.glob("hermes.db.corrupt-*"))
    assert len(model.requests) == 1


def test_a_newer_database_is_refused_and_not_touched(program: Program) -> None:
    with ScriptedModel(["ok"]) as model:
        program.configure(model.base_url)
        program.run("-z", "hi")
        database = program.home / "hermes.db"
        with sqlite3.connect(database) as db:
            db.execute("PRAGMA user_version = 9999")
        db.close()
        before = database.read_bytes()
        run = program.run("-z", "again")
    assert run.returncode == 1
    assert b"newer" in run.stderr
    assert database.read_bytes() == before


def test_a_second_process_on_one_session_is_told_who_has_it(program: Program) -> None:
    with ScriptedModel(["one", replies.stall(), "never"]) as model:
        program.configure(model.base_url)
        line = program.run("chat", "-q", "first").stderr.decode()
        id = line.split()[1]
        holder = program.start("--resume", id, "-z", "second")
        model.wait_for_request(2)
        run = program.run("--resume", id, "-z", "third")
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
        taken = program.run("sessions", "show", id)
    assert run.returncode == 1
    assert str(holder.pid) in run.stderr.decode()
    assert b"first" in taken.stdout
    assert b"third" not in taken.stdout


def test_the_references_files_in_the_same_home_are_never_written(program: Program) -> None:
    with ScriptedModel(["ok"]) as model:
        program.configure(model.base_url)
        theirs = {
            "state.db": b"SQLite format 3\0 theirs",
            "processes.json": b"[]",
            "auth.json": b"{}",
            "checkpoints/store/HEAD": b"ref: refs/heads/x\n",
            "memories/MEMORY.md": b"remember\n",
        }
        for name, data in theirs.items():
            path = program.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            os.utime(path, ns=(1, 1))
        program.run("-z", "hi")
        program.run("doctor")
    for name, data in theirs.items():
        path = program.home / name
        assert path.read_bytes() == data
        assert path.stat().st_mtime_ns == 1
        assert sorted(p.name for p in path.parent.iterdir() if p.name.startswith(path.name)) == [
            path.name
        ]


FORBIDDEN = frozenset(
    {"openai", "anthropic", "pydantic", "textual", "rich", "prompt_toolkit", "starlette", "uvicorn"}
    | {"fastapi", "requests", "xllamacpp", "ruamel", "sqlite3", "hypothesis", "trio"}
)
"""Vendor SDKs, screens, servers, and what only some other run needs."""


@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        (["--version"], ("anyio", "msgspec", "apsw", "httpx2", "argparse")),
        (["--help"], ("apsw", "httpx2", "hermes.agent")),
        (["-z", "hi"], ("httpx2", "hermes.tools.files.patch", "hermes.stores.checkpoints")),
    ],
)
def test_a_start_imports_only_what_it_needs(
    program: Program, arguments: list[str], more: tuple[str, ...]
) -> None:
    script = (
        "import sys; from hermes.app.main import main\n"
        f"sys.argv = ['hermes', *{arguments!r}]\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('MODULES', *sorted(sys.modules))"
    )
    with ScriptedModel(["ok"] * 2) as model:
        program.configure(model.base_url)
        for _ in range(2):
            # The first run reads a changed config.yaml; the second is the ordinary one.
            run = subprocess.run(
                [sys.executable, "-c", script],
                env=program.environment(),
                cwd=program.cwd,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=60,
                check=True,
            )
    loaded = set(run.stdout.decode().rpartition("MODULES ")[2].split())
    assert "hermes.app.main" in loaded
    assert sorted(loaded & {*FORBIDDEN, *more}) == []
