"""`terminal` in the background, and `process`, as a model calls them."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from job_rig import ONE, TWO, Hermes, read_fifo, there


@pytest.fixture
async def hermes(tmp_path: Path) -> AsyncIterator[Hermes]:
    async with Hermes(tmp_path) as hermes:
        yield hermes


async def test_a_background_command_answers_at_once_and_is_waited_for(hermes: Hermes) -> None:
    answer = await hermes.run("sleep 0.2; echo done; exit 7", background=True)
    assert list(answer) == ["output", "session_id", "pid", "exit_code", "error", "hint"]
    assert answer["pid"] > 1
    assert await hermes.act("wait", answer["session_id"]) == {
        "status": "exited",
        "command": "sleep 0.2; echo done; exit 7",
        "exit_code": 7,
        "completion_reason": "exited",
        "termination_source": "",
        "output": "done\n",
    }
    polled = await hermes.act("poll", answer["session_id"])
    assert (polled["status"], polled["output_preview"]) == ("exited", "done\n")


async def test_it_sees_the_session_s_folder_and_exports(hermes: Hermes) -> None:
    await hermes.run("mkdir d; cd d; export SEEN=yes; f() { echo fn; }; alias al='echo al'")
    id = await hermes.start("pwd; echo $SEEN; f; al")
    waited = await hermes.act("wait", id)
    assert waited["output"] == f"{hermes.place}/d\nyes\nfn\nal\n"


async def test_input_works_without_a_terminal(hermes: Hermes) -> None:
    id = await hermes.start("read x; echo got:$x; cat; echo eof")
    assert await hermes.act("write", id, data="hel") == {"status": "ok", "bytes_written": 3}
    assert (await hermes.act("submit", id, data="lo"))["status"] == "ok"
    await hermes.act("write", id, data="rest")
    await hermes.act("close", id)
    assert (await hermes.act("wait", id))["output"] == "got:hello\nresteof\n"
    assert (await hermes.act("write", id, data="x"))["status"] == "already_exited"


async def test_a_terminal_of_its_own_has_a_size_and_takes_ctrl_d(
    hermes: Hermes, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    command = f"stty size; test -t 0 && echo tty; echo >{ready}; cat; echo eof"
    id = await hermes.start(command, pty=True)
    await read_fifo(ready)
    await hermes.act("submit", id, data="line")
    await hermes.act("close", id)
    waited = await hermes.act("wait", id)
    assert waited["output"] == "30 120\r\ntty\r\nline\r\nline\r\neof\r\n"


@pytest.mark.parametrize(
    "command",
    [
        "echo $BASHPID >{fifo}; sleep 300",
        "trap '' TERM; echo $BASHPID >{fifo}; sleep 300; sleep 300",
        "(setsid sh -c 'trap \"\" TERM; echo $$ >{fifo}; sleep 300; sleep 300' &); sleep 300",
    ],
    ids=["plain", "ignores TERM", "setsid"],
)
async def test_kill_ends_the_whole_tree(hermes: Hermes, tmp_path: Path, command: str) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    id = await hermes.start(command.format(fifo=fifo))
    pid = int(await read_fifo(fifo))
    with anyio.fail_after(1.5):
        killed = await hermes.act("kill", id)
    assert killed == {
        "status": "killed",
        "session_id": id,
        "completion_reason": "killed",
        "termination_source": "process.kill",
        "output": "",
    }
    assert not there(pid)
    assert (await hermes.act("kill", id))["status"] == "already_exited"
    assert (await hermes.act("poll", id))["exit_code"] == -15


async def test_commands_end_with_their_session_and_with_hermes(
    hermes: Hermes, tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    command = f"echo $BASHPID >{fifo}; sleep 300"
    await hermes.start(command)
    pid = int(await read_fifo(fifo))
    await hermes.close(ONE)
    assert not there(pid)
    async with Hermes(tmp_path) as other:
        await other.start(command, session=TWO)
        pid = int(await read_fifo(fifo))
    assert not there(pid)


async def test_one_session_does_not_reach_another_s_commands(hermes: Hermes) -> None:
    id = await hermes.start("sleep 300")
    for action in ("poll", "log", "wait", "kill", "write"):
        answer = await hermes.act(action, id, session=TWO, data="x")
        assert answer["status"] == "not_found"
    assert await hermes.act("list", session=TWO) == {"processes": []}
    assert (await hermes.act("poll", id))["status"] == "running"


async def test_wrong_calls_are_answered_in_words(hermes: Hermes) -> None:
    assert list(await hermes.act("zap", "x")) == ["error"]
    assert list(await hermes.act("poll")) == ["error"]
    assert (await hermes.act("poll", "proc_000000000000"))["status"] == "not_found"
    one, two = await hermes.start("sleep 300"), await hermes.start("sleep 300")
    assert (await hermes.act("poll", "proc_"))["status"] == "not_found"
    alone = next(one[:n] for n in range(6, 18) if not two.startswith(one[:n]))
    assert (await hermes.act("poll", alone))["session_id"] == one
    assert (await hermes.act("wait", one, timeout=0))["status"] == "error"
    assert (await hermes.act("write", one))["status"] == "error"


async def test_waiting_too_long_says_so_and_leaves_it_running(hermes: Hermes) -> None:
    id = await hermes.start("echo up; sleep 300")
    answer = await hermes.act("wait", id, timeout=0.3)
    assert (answer["status"], answer["process_running"]) == ("timeout", True)
    assert "timeout_note" in await hermes.act("wait", await hermes.start("true"), timeout=99_999)


async def test_the_log_is_paged_by_lines(hermes: Hermes) -> None:
    id = await hermes.start("seq 1 500")
    await hermes.act("wait", id)
    assert (await hermes.act("log", id))["output"].split("\n")[0] == "301"
    page = await hermes.act("log", id, offset=10, limit=2)
    assert (page["output"], page["total_lines"], page["showing"]) == ("11\n12", 500, "2 lines")


async def test_of_a_flood_the_newest_is_kept(hermes: Hermes) -> None:
    id = await hermes.start("seq 1 60000")
    assert (await hermes.act("wait", id))["output"].endswith("\n59999\n60000\n")
    assert (await hermes.act("log", id, offset=0, limit=1))["total_lines"] < 60_000


async def test_too_many_are_refused_and_none_is_dropped(hermes: Hermes) -> None:
    async with anyio.create_task_group() as group:
        for _ in range(64):
            group.start_soon(hermes.start, "sleep 300")
    answer = await hermes.run("true", background=True)
    assert "64 background commands are running" in answer["error"]
    assert len((await hermes.act("list"))["processes"]) == 64


async def test_a_command_that_is_started_by_a_call_that_is_cut_off_is_ended(
    hermes: Hermes,
) -> None:
    blocked = anyio.CancelScope()

    async def start() -> None:
        with blocked:
            await hermes.start("sleep 300")

    async with anyio.create_task_group() as group:
        group.start_soon(start)
        with anyio.fail_after(20):
            while not (jobs := await hermes.jobs.of(ONE)):
                await anyio.lowlevel.checkpoint()
        blocked.cancel()
    assert not there(jobs[0].pid)
    assert not jobs[0].running


async def test_input_that_nobody_reads_is_not_waited_for_without_end(hermes: Hermes) -> None:
    id = await hermes.start("sleep 300")
    answer = await hermes.act("write", id, data="x" * 1_000_000)
    assert answer["status"] == "error"
    assert "did not read" in answer["error"]


async def test_odd_texts_as_input_and_to_watch_for_hurt_nobody(hermes: Hermes) -> None:
    id = await hermes.start("cat", notify=["\ud800", "ready"])
    assert (await hermes.act("submit", id, data="\ud800\udc80 ready"))["status"] == "ok"
    [text] = await hermes.next()
    assert "ready" in text


@pytest.mark.parametrize("limit", [0, -5, "x", True, 1.5])
async def test_a_log_of_no_lines_is_no_log(hermes: Hermes, limit: object) -> None:
    id = await hermes.start("seq 10")
    await hermes.act("wait", id)
    assert "limit" in (await hermes.act("log", id, limit=limit))["error"]
    assert (await hermes.act("log", id, limit=2.0))["output"] == "9\n10"
    assert (await hermes.act("log", id, limit="2", offset="3"))["output"] == "4\n5"
