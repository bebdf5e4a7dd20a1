"""What is kept and found again: fault families store, lineage, restart, locks and config, through
the program itself."""

import os
import re
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from hermes.core.people import OWNER
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import Request, ScriptedModel
from program import Program
from rig import Rig, say

YOLO = "approvals:\n  mode: off\n"


def killed(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)


def appears(path: Path) -> None:
    end = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear within 20 s"
        os.sched_yield()


def test_what_was_said_before_a_kill_is_found_by_the_next_run(program: Program) -> None:
    with ScriptedModel([replies.never_ending("and "), "on"]) as model:
        program.configure(model.base_url)
        process = program.start("-z", "first")
        model.wait_for_request(1)
        killed(process)
        assert program.run("-c", "-z", "second").stdout == b"on\n"
    said = [m["content"] for m in model.requests[1].messages if m["role"] == "user"]
    assert said == ["first", "second"]


def test_a_command_that_ends_hermes_itself_is_not_run_again(program: Program) -> None:
    processes: list[subprocess.Popen[bytes]] = []

    def script(request: Request) -> replies.Reply | str:
        if request.number > 1:
            return "I shall ask first"
        command = f"echo x >> ran; kill -9 {processes[0].pid}; sleep 60"
        return replies.calls(("terminal", {"command": command}))

    with ScriptedModel(script) as model:
        # In the sandbox no command sees Hermes.
        program.configure(model.base_url, f"{YOLO}terminal:\n  local:\n    sandbox: off\n")
        processes.append(program.start("-z", "restart"))
        processes[0].communicate(timeout=20)
        run = program.run("-c", "-z", "well?")
    assert run.stdout == b"I shall ask first\n"
    assert (program.cwd / "ran").read_text(encoding="utf-8") == "x\n"
    (told,) = [m["content"] for m in model.requests[1].messages if m["role"] == "tool"]
    assert "was not run again" in told


def test_a_turn_that_is_killed_three_times_never_resumes_by_itself(program: Program) -> None:
    def script(request: Request) -> replies.Reply | str:
        last = request.messages[-1]["content"]
        if not str(last).startswith("hang"):
            return "here I am"
        return replies.calls(("terminal", {"command": f"touch {last[-1]}; sleep 60"}))

    with ScriptedModel(script) as model:
        program.configure(model.base_url, YOLO)
        for number in (1, 2, 3):
            go_on = () if number == 1 else ("-c",)
            process = program.start(*go_on, "-z", f"hang {number}")
            appears(program.cwd / str(number))
            killed(process)
            (program.cwd / str(number)).unlink()
        assert program.run("-c", "-z", "still there?").stdout == b"here I am\n"
    assert not [name for name in ("1", "2", "3") if (program.cwd / name).exists()]


def test_readers_and_writers_of_one_home_leave_it_whole(program: Program) -> None:
    with ScriptedModel(lambda _: "ok", check_prefix=False) as model:
        program.configure(model.base_url)
        program.run("-z", "begin")
        writers = [program.start("-z", f"message {n}") for n in range(5)]
        program.run("doctor")
        program.run("sessions", "list")
        for writer in writers:
            assert writer.wait(timeout=60) == 0
            writer.communicate()
    with closing(sqlite3.connect(program.home / "hermes.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        # Six sessions of a question and an answer each, and every answer on the meter.
        assert db.execute("SELECT count(*) FROM entries").fetchone() == (12,)
        assert db.execute("SELECT count(*) FROM usage").fetchone() == (6,)


def test_a_session_is_one_row_under_one_id_however_it_is_found(program: Program) -> None:
    with ScriptedModel(lambda _: "ok", check_prefix=False) as model:
        program.configure(model.base_url)
        id = program.run("chat", "-q", "one").stderr.decode().split()[1]
        program.run("sessions", "rename", id, "The", "plan")
        program.run("-z", "another conversation")
        program.run("--resume", "The plan", "-z", "two")
        program.run("--resume", id[:18], "-z", "three")
        listed = program.run("sessions", "list").stdout.decode()
        shown = program.run("sessions", "show", "The plan").stdout.decode()
    assert listed.count(id) == 1
    assert listed.index(id) < listed.index("another conversation")
    assert [
        word for word in ("one", "two", "three") if not re.search(rf"^  {word}$", shown, re.M)
    ] == []


def test_a_turn_that_fails_leaves_a_session_that_goes_on(program: Program) -> None:
    with ScriptedModel([replies.http(401, b"{}"), "fine"]) as model:
        program.configure(model.base_url)
        assert program.run("-z", "first").returncode == 1
        assert program.run("-c", "-z", "second").stdout == b"fine\n"
    said = [m["content"] for m in model.requests[1].messages if m["role"] == "user"]
    assert said == ["first", "second"]


@pytest.mark.anyio
async def test_a_session_whose_host_fails_is_free_for_the_next(rig: Rig) -> None:
    with ScriptedModel(["one", "two"]) as model:
        with pytest.raises(ExceptionGroup):
            async with rig.session(model) as session:
                await say(session, "hi")
                raise RuntimeError("surface broke")
        async with rig.session(model, session.id) as again:
            assert (await say(again, "on")).text == "two"
    async with rig.store() as store:
        assert len(await store.list(OWNER)) == 1
