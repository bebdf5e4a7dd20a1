"""`execute_code` as a model calls it, with a real kernel."""

import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from hermes.core.clock import SystemClock
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.people import Origin
from hermes.ports.tool import Arguments, SessionState, ToolContext
from hermes.system.tasks import SideTasks
from hermes.terminals.environment import child_environment
from hermes.terminals.local import LocalTerminal
from hermes.tools.code.execute import ExecuteCode
from hermes.tools.code.kernels import Kernels

Run = Callable[..., Awaitable[dict[str, Any]]]
ONE, TWO = SessionId("s-one"), SessionId("s-two")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    place.mkdir()
    return place


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[LocalTerminal]:
    backend = LocalTerminal(
        env=child_environment(os.environ, ()),
        state_dir=tmp_path / "state",
        spill_dir=tmp_path / "spill",
        clock=SystemClock(),
    )
    yield backend
    await backend.aclose()


@pytest.fixture
async def run(backend: LocalTerminal, tmp_path: Path, place: Path) -> AsyncIterator[Run]:
    async def echo(name: str, arguments: Arguments) -> str:
        if name == "terminal":
            return json.dumps({"output": "", "exit_code": -1, "error": "no", "status": "blocked"})
        return json.dumps({"tool": name, "arguments": dict(arguments)})

    async with SideTasks() as tasks:
        kernels = Kernels(
            backend,
            mode="project",
            strict_folder=tmp_path / "strict",
            most=2,
            idle=1_800,
            clock=SystemClock(),
            tasks=tasks.group,
        )

        async def run(
            code: object, *, timeout: float = 30, session: SessionId = ONE, **arguments: object
        ) -> dict[str, Any]:
            tool = ExecuteCode(
                kernels,
                lambda text: text.replace("hunter2", "***"),
                spill_folder=tmp_path / "exec",
                clock=SystemClock(),
                timeout=timeout,
                most_calls=5,
            )
            context = ToolContext(
                session=session,
                turn=TurnId("t"),
                call=CallId("c"),
                origin=Origin(surface="tools"),
                state=SessionState(str(place)),
                offered=frozenset(("read_file", "patch", "terminal")),
                call_tool=echo,
            )
            output = await tool.run({"code": code, **arguments}, context)
            keys: dict[str, Any] = json.loads(output.content)
            assert (output.outcome == "ok") == (keys.get("status") == "success")
            return keys

        yield run


async def test_what_is_printed_comes_back_under_the_contract_s_keys(run: Run) -> None:
    answer = await run("print(1+1)")
    assert answer.pop("duration_seconds") >= 0
    assert answer == {
        "status": "success",
        "output": "2\n",
        "exit_code": 0,
        "tool_calls_made": 0,
        "kernel": {
            "mode": "session",
            "reused": False,
            "execution_count": 1,
            "state_reset": False,
        },
        "stdout_truncated": False,
        "stdout_bytes_captured": 2,
        "stdout_bytes_total": 2,
        "stdout_bytes_omitted": 0,
    }


async def test_variables_and_folder_last_also_after_an_exception(run: Run, place: Path) -> None:
    await run("import os\nx = 41\nos.mkdir('d'); os.chdir('d')\nraise KeyError('k')")
    answer = await run("print(x + 1, os.getcwd())")
    assert answer["output"] == f"42 {place}/d\n"
    assert answer["kernel"] == {
        "mode": "session",
        "reused": True,
        "execution_count": 2,
        "state_reset": False,
    }
    fresh = await run("print('x' in globals())", reset=True)
    assert fresh["output"] == "False\n"
    assert fresh["kernel"]["state_reset"] is True


async def test_an_exception_is_shown_from_the_code_s_own_frames(run: Run) -> None:
    answer = await run("print('a')\ndef f():\n    raise ValueError('boom')\nf()")
    assert (answer["status"], answer["exit_code"]) == ("error", 1)
    assert answer["error"] == "ValueError: boom"
    head, _, trace = answer["output"].partition("--- stderr ---\n")
    assert head == "a\n"
    assert trace.startswith('Traceback (most recent call last):\n  File "<cell 1>", line 4')
    assert "raise ValueError('boom')" in trace
    assert "kernel_program" not in trace
    assert (await run("def f(:"))["error"].startswith("SyntaxError")


@pytest.mark.parametrize(
    ("code", "status", "exit_code"),
    [
        ("import sys; print('x'); sys.exit(3)", "error", 3),
        ("import sys; print('x'); sys.exit()", "success", 0),
        ("import os; print('x', flush=True); os._exit(5)", "error", 5),
        ("import os; print('x', flush=True); os.kill(os.getpid(), 9)", "error", -9),
    ],
)
async def test_code_that_ends_its_kernel_tells_the_true_status(
    run: Run, code: str, status: str, exit_code: int
) -> None:
    answer = await run(code)
    assert (answer["status"], answer["exit_code"], answer["output"]) == (status, exit_code, "x\n")
    assert answer["kernel"]["ended"] is True
    assert (await run("print('again')"))["output"] == "again\n"


async def test_input_does_not_wait(run: Run) -> None:
    answer = await run("try:\n    input()\nexcept EOFError:\n    print('EOF')")
    assert answer["output"] == "EOF\n"


async def test_tools_are_called_with_positional_and_named_arguments(run: Run) -> None:
    answer = await run(
        "from hermes_tools import read_file, patch, json_parse, shell_quote, retry\n"
        "print(read_file('a', limit=3))\nprint(patch('p', 'x', 'y')['arguments'])\n"
        "print(shell_quote('a b'), json_parse('[1]'), retry(lambda: 7))"
    )
    assert answer["output"] == (
        "{'tool': 'read_file', 'arguments': {'path': 'a', 'limit': 3}}\n"
        "{'path': 'p', 'old_string': 'x', 'new_string': 'y'}\n'a b' [1] 7\n"
    )
    assert answer["tool_calls_made"] == 2


async def test_a_tool_that_is_not_there_cannot_be_imported_and_the_others_are_named(
    run: Run,
) -> None:
    answer = await run("from hermes_tools import web_search")
    assert answer["error"].startswith("ImportError: cannot import name 'web_search'")
    assert "read_file, patch, terminal" in answer["hint"]


async def test_calls_have_a_limit_and_failures_are_counted(run: Run) -> None:
    answer = await run(
        "from hermes_tools import read_file, terminal\n"
        "print(sum('limit' in str(read_file('x').get('error')) for _ in range(7)))"
    )
    assert answer["output"] == "2\n"
    assert answer["tool_calls_made"] == 5
    assert answer["tool_errors"] == {"count": 2, "tools": ["read_file"]}
    blocked = await run("from hermes_tools import terminal\nprint(terminal('rm -rf /')['status'])")
    assert blocked["output"] == "blocked\n"
    assert blocked["tool_errors"] == {"count": 1, "tools": ["terminal"]}


async def test_programs_that_the_code_starts_are_heard_and_see_no_channel(run: Run) -> None:
    answer = await run(
        "import subprocess\nsubprocess.run(['sh', '-c', 'echo child; ls /proc/self/fd | wc -l'])"
    )
    assert answer["output"] == "child\n4\n"


async def test_output_beyond_the_limit_keeps_its_ends_and_goes_into_a_file(run: Run) -> None:
    answer = await run("print('x' * 60000)\nimport sys\nprint('e' * 20000, file=sys.stderr)")
    assert answer["stdout_truncated"] is True
    assert answer["stdout_bytes_total"] == 60_001
    assert answer["stdout_bytes_omitted"] == 10_001
    assert Path(answer["stdout_spill_path"]).read_text(encoding="utf-8") == "x" * 60_000 + "\n"
    assert Path(answer["stdout_spill_path"]).stat().st_mode & 0o777 == 0o600
    assert answer["output"].count("e") < 10_100


async def test_output_is_shown_without_secrets_and_escapes(run: Run) -> None:
    answer = await run("print('\\x1b[31mhunter2\\x1b[0m')")
    assert answer["output"] == "***\n"


@pytest.mark.parametrize("stubborn", ["", "import signal; signal.signal(15, lambda *_: None)\n"])
async def test_a_time_out_ends_the_code_and_the_next_call_has_a_new_kernel(
    run: Run, stubborn: str
) -> None:
    await run("pass")
    begun = time.monotonic()
    answer = await run(f"{stubborn}print('begun', flush=True)\nwhile True: pass", timeout=2)
    assert time.monotonic() - begun < 10
    assert (answer["status"], answer["output"]) == ("timeout", "begun\n")
    assert answer["kernel"]["ended"] is True
    assert (await run("print('again')"))["kernel"]["execution_count"] == 1


async def test_cancelling_ends_the_kernel_and_its_children_within_a_second(
    run: Run, place: Path
) -> None:
    os.mkfifo(place / "fifo")
    code = (
        "import subprocess, os\np = subprocess.Popen(['setsid', 'sleep', '300'])\n"
        "open('fifo', 'w').write(f'{os.getpid()} {p.pid}')\np.wait()"
    )
    async with anyio.create_task_group() as group:
        group.start_soon(run, code)
        text = await to_thread.run_sync((place / "fifo").read_text, "utf-8")
        begun = time.monotonic()
        group.cancel_scope.cancel()
    assert time.monotonic() - begun < 1
    assert not any(Path(f"/proc/{pid}").exists() for pid in text.split())


async def test_sessions_have_kernels_of_their_own_and_the_oldest_gives_way(run: Run) -> None:
    await run("x = 1")
    assert (await run("print('x' in globals())", session=TWO))["output"] == "False\n"
    await run("pass", session=SessionId("s-three"))
    assert (await run("print('x' in globals())"))["output"] == "False\n"


async def test_wrong_calls_are_answered_in_words(run: Run) -> None:
    for code in ("   ", 5, None):
        assert list(await run(code)) == ["error"]


async def test_code_that_breaks_the_channel_ends_its_kernel_only(run: Run) -> None:
    answer = await run(
        "import gc, socket\n[s.sendall(b'nonsense\\n') for s in gc.get_objects()"
        " if isinstance(s, socket.socket)]\nimport time; time.sleep(60)"
    )
    assert answer["status"] == "error"
    assert (await run("print('again')"))["output"] == "again\n"


async def test_a_kernel_that_runs_code_does_not_give_way_to_another(run: Run, place: Path) -> None:
    answers: list[dict[str, Any]] = []

    async def busy(session: SessionId) -> None:
        answers.append(await run(f"open('{session}').read()", session=session))

    async with anyio.create_task_group() as group, AsyncExitStack() as files:
        for session in (ONE, TWO):
            os.mkfifo(place / session)
            group.start_soon(busy, session)
            # Open once the code reads.
            files.enter_context(await to_thread.run_sync((place / session).open, "w"))
        answer = await run("print('other')", session=SessionId("s-three"))
        assert "nothing was run" in answer["error"]
    assert [answer["status"] for answer in answers] == ["success", "success"]
    assert (await run("print('other')", session=SessionId("s-three")))["status"] == "success"


async def test_reset_is_true_or_false_and_nothing_else(run: Run) -> None:
    await run("x = 1")
    assert "reset" in (await run("x = 2", reset="false"))["error"]
    assert (await run("print(x)"))["output"] == "1\n"


async def test_a_kernel_that_dies_before_its_children_is_not_waited_for(run: Run) -> None:
    begun = time.monotonic()
    answer = await run("import os, time\nif os.fork() == 0: time.sleep(60)\nos._exit(7)")
    assert time.monotonic() - begun < 10
    assert (answer["status"], answer["exit_code"]) == ("error", 7)
    assert (await run("print('again')"))["output"] == "again\n"
