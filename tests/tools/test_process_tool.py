"""`terminal` in the background, and `process`, as a model calls them."""

import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from hermes.core.clock import SystemClock
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.people import Origin
from hermes.ports.tool import SessionState, Tool, ToolContext
from hermes.system.tasks import SideTasks
from hermes.terminals.environment import child_environment
from hermes.terminals.local import LocalTerminal
from hermes.tools.terminal.command import Terminal
from hermes.tools.terminal.jobs import Jobs
from hermes.tools.terminal.process import Process
from hermes.tools.terminal.receipts import Receipts

ONE, TWO = SessionId("s-one"), SessionId("s-two")
Call = Callable[..., Awaitable[dict[str, Any]]]


def redact(output: str, command: str) -> str:
    return output.replace("hunter2", "***")


class Hermes:
    """One Hermes over a folder, and what it told its sessions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = folder / "place"
        self.place.mkdir(exist_ok=True)
        self.told: list[tuple[SessionId, str]] = []
        self.heard = anyio.Event()
        self.closed: set[SessionId] = set()
        self._tasks = SideTasks()
        self._states: dict[SessionId, SessionState] = {}
        self._backend = LocalTerminal(
            env=child_environment(os.environ, ()),
            state_dir=folder / "state",
            spill_dir=folder / "spill",
            clock=SystemClock(),
        )

    async def __aenter__(self) -> "Hermes":
        await self._tasks.__aenter__()
        self.jobs = Jobs(
            backend=self._backend,
            receipts=Receipts(self.folder / "receipts", redact),
            redact=redact,
            tell=self._tell,
            clock=SystemClock(),
            tasks=self._tasks.group,
            watch_pause=1,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tasks.__aexit__()
        await self._backend.aclose()

    async def _tell(self, session: SessionId, text: str) -> bool:
        if session in self.closed:
            return False
        self.told.append((session, text))
        self.heard.set()
        return True

    async def next(self, count: int = 1) -> list[str]:
        """What was told, once it is `count` messages."""
        with anyio.fail_after(20):
            while len(self.told) < count:
                self.heard = anyio.Event()
                await self.heard.wait()
        return [text for _, text in self.told]

    async def close(self, session: SessionId) -> None:
        self.closed.add(session)
        await self.jobs.forget(session)
        await self._backend.forget(session)

    async def run(
        self, command: str, *, session: SessionId = ONE, surface: str = "cli", **options: object
    ) -> dict[str, Any]:
        """A call of `terminal`."""
        tool = Terminal(
            backend=self._backend, redact=redact, jobs=self.jobs, refusal=lambda _: None
        )
        return await self._call(tool, {"command": command, **options}, session, surface)

    async def start(self, command: str, **options: Any) -> str:
        """The id of a background command."""
        answer = await self.run(command, background=True, **options)
        assert answer["error"] is None, answer
        return str(answer["session_id"])

    async def act(
        self, action: str, id: str | None = None, *, session: SessionId = ONE, **options: object
    ) -> dict[str, Any]:
        """A call of `process`."""
        tool = Process(self.jobs, redact, SystemClock(), default_wait=20, taken_within=1)
        named = {} if id is None else {"session_id": id}
        return await self._call(tool, {"action": action, **named, **options}, session, "cli")

    async def _call(
        self, tool: Tool, arguments: dict[str, object], session: SessionId, surface: str
    ) -> dict[str, Any]:
        state = self._states.setdefault(session, SessionState(str(self.place)))
        context = ToolContext(
            session=session,
            turn=TurnId("t"),
            call=CallId("c"),
            origin=Origin(surface=surface),
            state=state,
        )
        output = await tool.run(arguments, context)
        keys: dict[str, Any] = json.loads(output.content)
        return keys


@pytest.fixture
async def hermes(tmp_path: Path) -> AsyncIterator[Hermes]:
    async with Hermes(tmp_path) as hermes:
        yield hermes


def there(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


async def read_fifo(path: Path) -> str:
    return await to_thread.run_sync(path.read_text, "utf-8", abandon_on_cancel=True)


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


async def test_the_end_is_told_once_and_not_if_it_is_known(hermes: Hermes) -> None:
    told = await hermes.run("echo hunter2; exit 3", background=True, notify=True)
    assert told["notify_on_complete"] is True
    assert "hint" not in told
    [text] = await hermes.next()
    assert told["session_id"] in text
    assert "exit code 3" in text
    assert text.endswith("***]")
    known = await hermes.start("sleep 0.2", notify=True)
    await hermes.act("wait", known)
    last = await hermes.start("true", notify=True)
    assert last in (await hermes.next(2))[1]
    assert known not in str(hermes.told)


async def test_watched_lines_are_told_as_they_come_and_a_flood_is_one_message(
    hermes: Hermes,
) -> None:
    id = await hermes.start(
        "read x; echo no; printf 'is REA'; printf 'DY now\\n'; read x;"
        " for i in {1..500}; do echo ERR $i; done",
        notify=["READY", "ERR"],
    )
    await hermes.act("submit", id, data="")
    [first] = await hermes.next()
    assert "is READY now" in first
    assert "\nno" not in first
    await hermes.act("submit", id, data="")
    second = (await hermes.next(2))[1]
    assert "ERR 500" in second
    assert len(second) < 3_000
    assert len(hermes.told) == 2


async def test_a_session_that_ends_with_its_answer_is_told_nothing_later(hermes: Hermes) -> None:
    answer = await hermes.run("true", surface="oneshot", background=True, notify=True)
    assert "notify_unsupported" in answer
    assert "notify_on_complete" not in answer


async def test_what_outlives_hermes_is_found_again_and_can_be_ended(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    async with Hermes(tmp_path) as first:
        answer = await first.run(
            f"echo begun; echo >{ready}; sleep 300", background=True, persist_on_release=True
        )
        await read_fifo(ready)
        assert answer["persist_on_release"] is True
        id, pid = answer["session_id"], answer["pid"]
    assert there(pid)
    async with Hermes(tmp_path) as second:
        polled = await second.act("poll", id)
        assert (polled["status"], polled["detached"], polled["pid"]) == ("running", True, pid)
        assert polled["output_preview"] == "begun\n"
        assert (await second.act("kill", id))["status"] == "killed"
        assert not there(pid)


async def test_the_end_of_what_outlived_hermes_is_told_once_by_the_next(tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    async with Hermes(tmp_path) as first:
        answer = await first.run(
            f"cat {go}; exit 5", background=True, persist_on_release=True, notify=True
        )
    gone = os.pidfd_open(answer["pid"])
    go.write_text("last words\n", encoding="utf-8")
    with anyio.fail_after(10):
        await anyio.wait_readable(gone)
    os.close(gone)
    async with Hermes(tmp_path) as second:
        await second.jobs.recover(ONE)
        [text] = await second.next()
        assert "exit code 5" in text
        assert "last words" in text
    async with Hermes(tmp_path) as third:
        assert (await third.act("poll", answer["session_id"]))["exit_code"] == 5
        assert third.told == []


async def test_a_number_that_has_gone_to_another_program_is_left_alone(tmp_path: Path) -> None:
    async with Hermes(tmp_path) as first:
        answer = await first.run("sleep 300", background=True, persist_on_release=True)
        id, pid = answer["session_id"], answer["pid"]
    receipt = tmp_path / "receipts" / f"{id}.json"
    content = json.loads(receipt.read_bytes())
    content["detached"]["started"] += 1
    receipt.write_text(json.dumps(content), encoding="utf-8")
    async with Hermes(tmp_path) as second:
        assert (await second.act("poll", id))["completion_reason"] == "lost"
        assert (await second.act("kill", id))["status"] == "already_exited"
    assert there(pid)
    os.kill(pid, signal.SIGKILL)


async def test_receipts_are_private_redacted_and_say_what_was_lost(tmp_path: Path) -> None:
    async with Hermes(tmp_path) as first:
        id = await first.start("echo hunter2")
        await first.act("wait", id)
    [receipt] = (tmp_path / "receipts").glob("*.json")
    assert receipt.stat().st_mode & 0o777 == 0o600
    assert "hunter2" not in receipt.read_text(encoding="utf-8")
    async with Hermes(tmp_path) as second:
        answer = await second.act("wait", id)
        assert (answer["status"], answer["output"]) == ("exited", "***\n")
        assert (await second.act("poll", id, session=TWO))["status"] == "not_found"


async def test_too_many_are_refused_and_none_is_dropped(hermes: Hermes) -> None:
    async with anyio.create_task_group() as group:
        for _ in range(64):
            group.start_soon(hermes.start, "sleep 300")
    answer = await hermes.run("true", background=True)
    assert "64 background commands are running" in answer["error"]
    assert len((await hermes.act("list"))["processes"]) == 64


async def test_an_end_that_nobody_could_be_told_is_told_when_the_session_is_opened_again(
    tmp_path: Path,
) -> None:
    async with Hermes(tmp_path) as first:
        id = await first.start("sleep 300", notify=True)
        await first.close(ONE)
    assert first.told == []
    async with Hermes(tmp_path) as second:
        await second.jobs.recover(ONE)
        [text] = await second.next()
        assert f"{id} was ended because its session was closed" in text
        assert (await second.act("poll", id))["termination_source"] == "session.close"
    async with Hermes(tmp_path) as third:
        await third.jobs.recover(ONE)
        await third.start("true", notify=True)
        assert id not in str(await third.next())


async def test_the_end_is_told_if_the_call_that_killed_it_is_cut_off(hermes: Hermes) -> None:
    id = await hermes.start("trap '' TERM; echo READY; while :; do sleep 1; done", notify=True)
    job = await hermes.jobs.find(ONE, id)
    assert job is not None
    with anyio.fail_after(20):
        while not job.output.total:
            await anyio.lowlevel.checkpoint()
    async with anyio.create_task_group() as group:
        group.start_soon(hermes.act, "kill", id)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    [text] = await hermes.next()
    assert f"{id} has ended, exit code -15" in text


async def test_an_end_that_became_known_before_its_message_went_out_is_not_told(
    hermes: Hermes,
) -> None:
    first = await hermes.start("true", notify=True)
    await hermes.next()
    second = await hermes.start("true", notify=True)
    job = await hermes.jobs.find(ONE, second)
    assert job is not None
    await job.done.wait()
    await hermes.act("wait", second)
    third = await hermes.start("true", notify=True)
    text = (await hermes.next(2))[1]
    assert third in text
    assert second not in text
    assert first not in text


async def test_what_was_killed_is_not_lost_to_a_later_hermes(tmp_path: Path) -> None:
    async with Hermes(tmp_path) as first:
        id = await first.start("sleep 300", persist_on_release=True, notify=True)
        assert (await first.act("kill", id))["termination_source"] == "process.kill"
    async with Hermes(tmp_path) as second:
        await second.jobs.recover(ONE)
        polled = await second.act("poll", id)
        assert (polled["completion_reason"], polled["exit_code"]) == ("killed", -15)
        last = await second.start("true", notify=True)
        [text] = await second.next()
        assert last in text
        assert id not in text


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


async def test_lines_that_come_soon_after_one_another_are_all_told_in_time(
    hermes: Hermes,
) -> None:
    id = await hermes.start("echo READY 1; read x; echo READY 2; read x", notify=["READY"])
    assert "READY 1" in (await hermes.next())[0]
    await hermes.act("submit", id, data="")
    with anyio.fail_after(30):
        assert "READY 2" in (await hermes.next(2))[1]
    assert (await hermes.act("poll", id))["status"] == "running"
