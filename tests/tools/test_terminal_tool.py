"""The `terminal` tool as a model calls it."""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes.core.clock import SystemClock
from hermes.core.errors import ToolError
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.people import Origin
from hermes.ports.tool import SessionState, ToolContext
from hermes.terminals.environment import child_environment
from hermes.terminals.local import LocalTerminal
from hermes.tools.terminal.arguments import Wanted
from hermes.tools.terminal.command import Terminal

Call = Callable[..., Awaitable[dict[str, Any]]]


def redact(output: str, command: str) -> str:
    return output.replace("hunter2", "***") if "plain" not in command else output


class NoBackground:
    async def spawn(self, wanted: Wanted, context: ToolContext, cwd: str) -> dict[str, Any]:
        raise ToolError("nothing was started")


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
async def tool(backend: LocalTerminal) -> Terminal:
    return Terminal(
        backend=backend,
        redact=redact,
        jobs=NoBackground(),
        refusal=lambda command: "a server" if command == "serve" else None,
        default_timeout=60,
        max_bytes=50_000,
    )


def context(state: SessionState) -> ToolContext:
    return ToolContext(
        session=SessionId("s"),
        turn=TurnId("t"),
        call=CallId("c"),
        origin=Origin(surface="tools"),
        state=state,
    )


@pytest.fixture
def state(tmp_path: Path) -> SessionState:
    place = tmp_path / "place"
    (place / "d").mkdir(parents=True)
    return SessionState(str(place))


@pytest.fixture
def call(tool: Terminal, state: SessionState) -> Call:
    async def call(command: object = None, **arguments: object) -> dict[str, Any]:
        if command is not None:
            arguments["command"] = command
        output = await tool.run(arguments, context(state))
        output.content.encode()
        keys: dict[str, Any] = json.loads(output.content)
        fine = keys.get("error") is None and keys.get("exit_code") == 0
        assert output.outcome == ("ok" if fine else "failed") or "exit_code_meaning" in keys
        return keys

    return call


async def test_the_keys_of_a_plain_command_are_output_exit_code_and_error(call: Call) -> None:
    assert await call("echo out; echo err >&2") == {
        "output": "out\nerr",
        "exit_code": 0,
        "error": None,
    }
    assert await call("exit 3") == {"output": "", "exit_code": 3, "error": None}
    assert list(await call("")) == ["output", "exit_code", "error"]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (r"printf '   x\n\n'", "   x"),
        (r"printf '\033[31mred\033[0m\n\033]0;title\007ok\033(B\n'", "red\nok"),
        (r"printf 'x\xc2\x85y\xc2\x9bz\n'", "x\u0085y\u009bz"),
        (r"printf 'a\rb\rc\n'", "a\rb\rc"),
        (r"printf 'a\0b\n'", "a\0b"),
        (r"printf 'a\xffb\xed\xa0\x80\n'", "a\ufffdb\ufffd\ufffd\ufffd"),
        (r"printf 'tail  \n'", "tail  "),
        (r"echo password hunter2", "password ***"),
        (r"echo plain hunter2", "plain hunter2"),
    ],
)
async def test_output_is_shown_as_it_is_but_for_escapes_and_secrets(
    call: Call, command: str, output: str
) -> None:
    assert (await call(command))["output"] == output


async def test_the_working_folder_moves_with_the_session_and_is_told(
    call: Call, state: SessionState
) -> None:
    start = state.cwd
    assert await call("cd d") == {
        "output": "",
        "exit_code": 0,
        "error": None,
        "cwd": f"{start}/d",
    }
    assert state.cwd == f"{start}/d"
    assert (await call("pwd"))["output"] == f"{start}/d"
    assert "cwd" not in await call("pwd")


async def test_workdir_is_for_one_call_only(call: Call, state: SessionState) -> None:
    start = state.cwd
    for workdir in ("d", f"{start}/d"):
        assert await call("pwd; cd /", workdir=workdir) == {
            "output": f"{start}/d",
            "exit_code": 0,
            "error": None,
        }
    assert state.cwd == start
    (Path(start) / "d(1)").mkdir()
    assert (await call("pwd", workdir="d(1)"))["output"] == f"{start}/d(1)"
    assert (await call("pwd", workdir="~"))["output"] == os.path.expanduser("~")


async def test_a_workdir_that_is_not_there_is_an_error_and_nothing_runs(
    call: Call, state: SessionState
) -> None:
    for workdir in ("nope", "d;id"):
        answer = await call("touch ran", workdir=workdir)
        assert (answer["exit_code"], answer["error"]) == (126, None)
        assert f"{state.cwd}/{workdir}: No such file or directory" in answer["output"]
        assert "Nothing was run" in answer["hint"]
    assert "nothing was run" in (await call("touch ran", workdir=5))["error"]
    assert not list(Path(state.cwd).glob("**/ran"))


async def test_a_deleted_working_folder_is_left_and_the_model_is_told(
    call: Call, state: SessionState
) -> None:
    start = state.cwd
    await call("cd d")
    await call("rm -rf ../d")
    answer = await call("pwd")
    assert (answer["output"], answer["exit_code"], answer["cwd"]) == (start, 0, start)
    assert f"{start}/d is gone" in answer["hint"]
    assert (await call("pwd")) == {"output": start, "exit_code": 0, "error": None}


async def test_a_timeout_is_a_result_with_what_was_said(call: Call) -> None:
    answer = await call("echo start; sleep 300", timeout="0.5")
    assert answer["output"].startswith("start\n[timed out after 0.5 s")
    assert (answer["exit_code"], answer["error"]) == (124, None)
    assert "timeout" in answer["hint"]
    assert (await call("echo on"))["output"] == "on"


@pytest.mark.parametrize("timeout", [5, 1.5, "5", " 5 ", None, 600])
async def test_a_timeout_may_be_any_number(call: Call, timeout: object) -> None:
    assert (await call("echo x", timeout=timeout))["output"] == "x"


@pytest.mark.parametrize("timeout", ["abc", True, [5], "nan", "inf", 0, -1])
async def test_a_timeout_that_cannot_be_is_an_error(
    call: Call, state: SessionState, timeout: object
) -> None:
    answer = await call("touch ran", timeout=timeout)
    assert "timeout must be" in answer["error"]
    assert not (Path(state.cwd) / "ran").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        {"pty": True},
        {"notify": True},
        {"notify": ["x"]},
        {"notify_on_complete": True},
        {"watch_patterns": ["x"]},
        {"persist_on_release": True},
        {"notify": "yes", "background": True},
        {"notify": [1], "background": True},
        {"heartbeat": -1, "background": True},
        {"heartbeat": "often", "background": True},
        {"background": "perhaps"},
    ],
)
async def test_what_does_not_go_together_is_refused_and_nothing_runs(
    call: Call, state: SessionState, arguments: dict[str, object]
) -> None:
    answer = await call("touch ran", **arguments)
    assert list(answer) == ["error"]
    assert "nothing was run" in answer["error"]
    assert not (Path(state.cwd) / "ran").exists()


async def test_what_does_not_end_by_itself_is_not_waited_for(call: Call) -> None:
    answer = await call("serve")
    assert (answer["exit_code"], answer["status"], answer["error"]) == (-1, "error", "a server")
    assert (await call("serve", background=True))["error"] == "nothing was started"
    assert (await call("serve", timeout=601))["error"] == "a server"
    assert (await call("true", timeout=601))["error"] == "nothing was started"


async def test_arguments_that_ask_for_nothing_special_are_no_reason_to_refuse(call: Call) -> None:
    answer = await call(
        "echo x", background=False, pty=False, notify=None, watch_patterns=[], heartbeat=60
    )
    assert answer["output"] == "x"


async def test_wrong_commands_are_answered_in_words(call: Call) -> None:
    assert list(await call(code="print(1)")) == ["error"]
    for arguments in ({"command": 5}, {"command": ["ls"]}, {}, {"command": "echo a\0b"}):
        answer = await call(**arguments)
        assert list(answer) == ["output", "exit_code", "error", "status"]
        assert (answer["output"], answer["exit_code"], answer["status"]) == ("", -1, "error")
        assert "nothing was run" in answer["error"]


async def test_lone_surrogates_in_a_command_are_replaced(call: Call) -> None:
    assert (await call("echo 'a\udc80b'"))["output"] == "a\ufffdb"


@pytest.mark.parametrize(
    ("command", "exit_code", "meaning"),
    [
        ("echo a | grep zzz", 1, "no line matched"),
        ("echo a | grep 'z|y' ", 1, "no line matched"),
        ("echo a >a; echo b >b; LC_ALL=C /usr/bin/diff a b >/dev/null", 1, "the files differ"),
        ("test -f nope", 1, "the condition is false"),
        ("kill -9 $$", -9, "signal 9"),
        ("bash -c 'kill -SEGV $$'", 139, "signal 11"),
    ],
)
async def test_exit_codes_that_are_not_plain_are_explained(
    call: Call, command: str, exit_code: int, meaning: str
) -> None:
    answer = await call(command)
    assert answer["exit_code"] == exit_code
    assert answer["error"] is None
    assert meaning in answer["exit_code_meaning"]


async def test_a_missing_program_is_hinted_at(call: Call) -> None:
    answer = await call("nosuch_zz")
    assert (answer["output"], answer["exit_code"]) == (
        "bash: line 1: nosuch_zz: command not found",
        127,
    )
    assert answer["hint"]


async def test_output_of_exactly_the_limit_is_whole(call: Call) -> None:
    answer = await call("head -c 50000 /dev/zero | tr '\\0' x")
    assert answer == {"output": "x" * 50_000, "exit_code": 0, "error": None}


async def test_long_output_is_cut_at_lines_and_its_file_can_be_read(call: Call) -> None:
    whole = "".join(f"{i} ü\n" for i in range(1, 40_001))
    answer = await call("seq -f '%.0f ü' 1 40000")
    assert list(answer) == [
        "output",
        "exit_code",
        "error",
        "output_total_chars",
        "full_output_path",
        "truncation_note",
    ]
    assert Path(answer["full_output_path"]).read_text(encoding="utf-8") == whole
    assert Path(answer["full_output_path"]).stat().st_mode & 0o777 == 0o600
    assert answer["output_total_chars"] == len(whole)
    head, notice, tail = answer["output"].partition("\n[... ")
    assert notice
    left_out, _, tail = tail.partition(" characters left out; the whole output is in ")
    path, _, tail = tail.partition(" ...]\n")
    assert path == answer["full_output_path"]
    assert whole.startswith(head + "\n")
    assert whole.endswith(tail + "\n")
    assert len(head + "\n") + int(left_out) + len(tail + "\n") == len(whole)
    assert 0.35 < len(head) / len(head + tail) < 0.45


async def test_one_long_line_is_cut_at_characters(call: Call) -> None:
    answer = await call("printf 'ü%.0s' {1..60000}")
    assert "\ufffd" not in answer["output"]
    assert answer["output_total_chars"] == 60_000


async def test_a_long_output_is_shown_without_secrets_and_kept_for_the_user_alone(
    call: Call, tmp_path: Path
) -> None:
    answer = await call("for i in {1..20000}; do echo $i hunter2; done")
    assert "hunter2" not in answer["output"]
    assert "***" in answer["output"]
    assert Path(answer["full_output_path"]).stat().st_mode & 0o777 == 0o600
    assert len(list((tmp_path / "spill").iterdir())) == 1


async def test_what_comes_is_told_while_the_command_runs(
    tool: Terminal, state: SessionState
) -> None:
    told: list[str] = []
    go = Path(state.cwd) / "go"
    os.mkfifo(go)

    def tell(text: str) -> None:
        told.append(text)
        go.write_text("on\n", encoding="utf-8")

    seen = replace(context(state), progress=tell)
    await tool.run({"command": "echo hunter2; cat go; printf half", "timeout": 20}, seen)
    assert told[0] == "***\n"


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("python3 -c 'import nosuch_zz'", "module is missing"),
        ("mkdir d", "there already"),
        ("echo 'sudo: a password is required' >&2; false", "wanted a password"),
        ("cat /etc/shadow /proc/1/mem; echo 'x: Permission denied'; false", "not permitted"),
        ("bash -c 'echo error: no; exit 1' | tail -1", "pipefail"),
        ("nosuch_zz || true", "command not found"),
    ],
)
async def test_failures_are_hinted_at_even_where_a_pipe_hides_them(
    call: Call, command: str, hint: str
) -> None:
    answer = await call(command)
    assert hint in answer["hint"] + answer["output"]
    assert answer["hint"]


async def test_a_shell_that_was_killed_says_what_is_lost(call: Call) -> None:
    answer = await call("export A=1; kill -9 $BASHPID")
    assert "is lost" in answer["hint"]
    assert (await call("echo [$A]"))["output"] == "[]"


async def test_what_the_loop_and_people_are_told(tool: Terminal, state: SessionState) -> None:
    spec = tool.spec
    assert (spec.name, spec.effects, spec.toolset) == ("terminal", "world", "terminal")
    assert set(json.loads(spec.schema.parameters)["properties"]) == {
        "command",
        "background",
        "timeout",
        "workdir",
        "pty",
        "notify",
        "heartbeat",
        "persist_on_release",
    }
    assert len(spec.schema.description.split()) <= 60
    assert await tool.touches({"command": "rm x"}, state) == ()
    assert tool.summary({"command": "\n  make test\nmake more"}) == "make test\nmake more"
    assert tool.summary({"command": "rm -rf *", "workdir": "/x"}) == "rm -rf *\n(in /x)"
    assert tool.summary({}) == ""
