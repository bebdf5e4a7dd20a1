"""Commands that hang, and what a person reads when they are ended: fault family cmd-hang."""

import fcntl
import signal
import time

import anyio
import pytest
from family_parts import terminal_tool

from hermes.core.entries import ToolBatchEntry
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from program import Program
from rig import Rig, say

pytestmark = pytest.mark.anyio


def test_ctrl_c_says_stopped_only_when_the_command_is_gone(program: Program) -> None:
    # All that comes of the command holds the lock; its process numbers are the sandbox's own.
    command = "trap '' INT TERM; exec 9>lock; flock -n 9; echo up >begun; sleep 60"
    call = replies.calls(("terminal", {"command": command}))
    with ScriptedModel([call]) as model:
        program.configure(model.base_url, "approvals:\n  mode: off\n")
        process = program.start("-z", "hi")
        begun = program.cwd / "begun"
        end = time.monotonic() + 20
        while not begun.exists():
            assert time.monotonic() < end
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"stopped" in err
    with (program.cwd / "lock").open(encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("echo out; setsid sleep 300 & disown", "out"),
        ("echo out; python3 -m http.server 0 >&2 &", "out"),
        ("seq 200", "200"),
        ("cat", ""),
        ("read -p 'name? ' x; echo \"[$x]\"", "[]"),
        ("git --version | less; echo out", "out"),
        ("sleep 1.2; echo quiet", "quiet"),
    ],
)
async def test_a_command_returns_when_its_shell_does_and_waits_for_nobody(
    rig: Rig, command: str, wanted: str
) -> None:
    call = replies.calls(("terminal", {"command": command, "timeout": 20}))
    async with terminal_tool(rig):
        with ScriptedModel([call, "ok"]) as model:
            async with rig.session(model) as session:
                start = anyio.current_time()
                assert (await say(session, "go")).text == "ok"
                assert anyio.current_time() - start < 8
    assert wanted in model.requests[1].messages[3]["content"]


async def test_a_time_out_is_a_result_and_the_turn_goes_on(rig: Rig) -> None:
    call = replies.calls(("terminal", {"command": "echo a; sleep 200", "timeout": 1}))
    async with terminal_tool(rig):
        with ScriptedModel([call, "I see"]) as model:
            async with rig.session(model) as session:
                assert (await say(session, "go")).text == "I see"
    assert "timed out after 1 s" in model.requests[1].messages[3]["content"]
    batch = (await rig.entries(session.id))[2]
    assert isinstance(batch, ToolBatchEntry)


def test_a_piped_run_asks_nobody_and_denies_at_once(program: Program) -> None:
    call = replies.calls(("terminal", {"command": "rm -r old; touch made"}))
    with ScriptedModel([call, "I may not"]) as model:
        program.configure(model.base_url)
        start = time.monotonic()
        run = program.run("-z", "do it", stdin=b"hi\n")
        assert time.monotonic() - start < 10
    assert run.stdout == b"I may not\n"
    assert not (program.cwd / "made").exists()
    assert "nobody is there" in model.requests[1].messages[3]["content"]
