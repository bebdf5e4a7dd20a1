"""Shell hooks: what is handed to them, what their answers mean, and what is left of them."""

import json
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.clock import SystemClock
from hermes.core.errors import ConfigError
from hermes.core.ids import SessionId
from hermes.ports.hooks import HookAnswer, HookEvent, HookPayload
from hermes.safety.hooks.answers import read
from hermes.safety.hooks.bus import ShellHooks
from hermes.safety.hooks.configured import Hook, hooks_of
from hermes.safety.hooks.consent import Consents
from hermes.safety.hooks.run import STDOUT_BYTES, HookRunner, Ran
from hermes.system.config.sections import HookSection, HooksSection
from hermes.system.paths import Home

pytestmark = pytest.mark.anyio


class Bench:
    """Hooks in a home and a working folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder / "home", folder)
        self.home.root.mkdir()
        self.cwd = folder / "work"
        self.cwd.mkdir()
        self.env = {"PATH": os.environ["PATH"], "GREETING": "hello"}
        self.runner = HookRunner(self.env, self.home.root)

    def script(self, name: str, body: str) -> str:
        path = self.home.root / name
        path.write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def consents(self, *, accept: bool = False) -> Consents:
        return Consents(self.home, SystemClock(), accept=accept)

    def hooks(self, *configured: Hook, accept: bool = True) -> ShellHooks:
        return ShellHooks(
            configured,
            consents=self.consents(accept=accept),
            runner=self.runner,
            profile="default",
            redact=lambda text: text.replace("s3cret", "***"),
        )

    async def judge(self, body: str, *, tool: str = "terminal", **keys: Any) -> HookAnswer:
        """What one pre_tool_call hook with this body says of a call."""
        hook = one("pre_tool_call", self.script("judge.sh", body), **keys)
        return await self.hooks(hook).fire(self.call("pre_tool_call", tool))

    def call(self, event: HookEvent = "pre_tool_call", tool: str = "terminal") -> HookPayload:
        return HookPayload(
            event=event,
            session=SessionId("s1"),
            cwd=str(self.cwd),
            tool=tool,
            tool_input={"command": "ls", "text": "ä\ud800"},
            extra={"tool_call_id": "c1"},
        )


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    try:
        yield bench
    finally:
        await bench.runner.aclose()


def one(event: HookEvent, command: str, root: str = "", **keys: Any) -> Hook:
    section = HooksSection(**{event: (HookSection(command=command, **keys),)})
    (hook,) = hooks_of(section, where="config.yaml", user=None, root=root)
    return hook


def say(answer: dict[str, Any]) -> str:
    return f"echo '{json.dumps(answer)}'"


async def test_a_hook_reads_the_payload_of_the_contract(bench: Bench) -> None:
    await bench.judge("cat > seen.json; pwd > where; env | sort > env")
    seen = json.loads((bench.cwd / "seen.json").read_text(encoding="utf-8"))
    assert seen == {
        "hook_event_name": "pre_tool_call",
        "tool_name": "terminal",
        "tool_input": {"command": "ls", "text": "ä\ud800"},
        "session_id": "s1",
        "cwd": str(bench.cwd),
        "profile": "default",
        "extra": {
            "task_id": "s1",
            "tool_call_id": "c1",
            "telemetry_schema_version": "hermes.observer.v1",
        },
    }
    assert (bench.cwd / "where").read_text(encoding="utf-8").strip() == str(bench.cwd)
    names = {line.partition("=")[0] for line in (bench.cwd / "env").read_text("utf-8").splitlines()}
    assert names <= {"PATH", "GREETING", "PWD", "SHLVL", "_", "OLDPWD"}


@pytest.mark.parametrize(
    ("body", "decision", "message"),
    [
        ("exit 0", "pass", ""),
        ("echo '{}'", "pass", ""),
        ("echo 'no, never' >&2; exit 2", "deny", "no, never"),
        ("echo 'key s3cret' >&2; exit 2", "deny", "key ***"),
        (say({"reason": "from stdout"}) + "; exit 2", "deny", "from stdout"),
        ("exit 2", "deny", "a hook of the owner denies it"),
        (say({"action": "block", "message": "m"}), "deny", "m"),
        (say({"decision": "block", "reason": "r"}), "deny", "r"),
        (say({"decision": "block"}), "deny", "a hook of the owner denies it"),
        (say({"decision": "block", "reason": "r"}) + "; exit 1", "deny", "r"),
        (say({"action": "approve", "message": "sure?"}), "ask", "sure?"),
        (say({"action": "allow"}), "pass", ""),
    ],
)
async def test_an_answer_means_what_the_contract_says(
    bench: Bench, body: str, decision: str, message: str
) -> None:
    answer = await bench.judge(body)
    assert (answer.decision, answer.message, answer.notices) == (decision, message, ())


FAILURES = {
    "exit 1": "status 1",
    "echo trouble >&2; exit 3": "trouble",
    "echo not json": "not one JSON object",
    "echo '[1]'": "not one JSON object",
    "printf '\\377'": "not one JSON object",
    "echo '{}{}'": "not one JSON object",
    "printf '[%.0s' {1..100000}": "not one JSON object",
    "kill -9 $$": "status -9",
    say({"action": "explode"}): "explode",
    say({"action": "modify", "args": [1]}): "args",
    "yes": "more than 1 MiB",
}


@pytest.mark.parametrize("body", FAILURES)
async def test_a_judge_that_fails_denies_and_says_why(bench: Bench, body: str) -> None:
    answer = await bench.judge(body)
    assert answer.decision == "deny"
    assert "judge.sh" in answer.message
    assert FAILURES[body] in answer.message
    (notice,) = answer.notices
    assert FAILURES[body] in notice


@pytest.mark.parametrize("body", FAILURES)
async def test_with_fail_closed_off_its_failure_is_only_told_of(bench: Bench, body: str) -> None:
    for off in ({"fail_closed": False}, {"failClosed": False}):
        answer = await bench.judge(body, **off)
        assert (answer.decision, len(answer.notices)) == ("pass", 1)


@pytest.mark.parametrize("kind", ["missing", "not_executable", "folder", "no_interpreter"])
async def test_a_judge_that_cannot_start_denies(bench: Bench, kind: str) -> None:
    command = bench.script(kind, "exit 0")
    match kind:
        case "missing":
            Path(command).unlink()
        case "not_executable":
            Path(command).chmod(0o644)
        case "folder":
            Path(command).unlink()
            Path(command).mkdir()
        case _:
            Path(command).write_text("#!/no/such/thing\n", encoding="utf-8")
    answer = await bench.hooks(one("pre_tool_call", command)).fire(bench.call())
    assert answer.decision == "deny"
    assert len(answer.notices) == 1


async def test_a_hook_that_hangs_is_ended_with_all_that_came_of_it(bench: Bench) -> None:
    body = "trap '' TERM; setsid sleep 300 & echo $! > pid; sleep 300"
    start = time.monotonic()
    answer = await bench.judge(body, timeout=1.0)
    assert time.monotonic() - start < 4
    assert answer.decision == "deny"
    assert "longer than 1 s" in answer.message
    pid = (bench.cwd / "pid").read_text(encoding="utf-8").strip()
    assert not Path(f"/proc/{pid}").exists()


async def test_nothing_is_left_of_a_hook_that_ends_well(bench: Bench) -> None:
    answer = await bench.judge("setsid sleep 300 >/dev/null 2>&1 & echo $! > pid")
    assert answer.decision == "pass"
    pid = (bench.cwd / "pid").read_text(encoding="utf-8").strip()
    assert not Path(f"/proc/{pid}").exists()


async def test_a_cancelled_hook_is_gone(bench: Bench) -> None:
    hook = one("pre_tool_call", bench.script("h.sh", "echo $$ > pid; sleep 300"))
    pid = bench.cwd / "pid"
    async with anyio.create_task_group() as group:
        group.start_soon(bench.hooks(hook).fire, bench.call())
        with anyio.fail_after(20):
            while not (pid.exists() and pid.read_text(encoding="utf-8").strip()):
                await anyio.lowlevel.checkpoint()
        start = time.monotonic()
        group.cancel_scope.cancel()
    assert time.monotonic() - start < 1
    assert not Path(f"/proc/{pid.read_text(encoding='utf-8').strip()}").exists()


async def test_a_loud_standard_error_neither_blocks_nor_fills_the_memory(bench: Bench) -> None:
    body = "head -c 5000000 /dev/zero | tr '\\0' x >&2; exit 2"
    answer = await bench.judge(body, timeout=20)
    assert answer.decision == "deny"
    assert len(answer.message) < 5_000


async def test_an_answer_of_the_largest_size_is_read(bench: Bench) -> None:
    size = STDOUT_BYTES - 40
    head, tail = '{"action": "block", "x": "', '"}'
    body = f"printf '{head}'; head -c {size} /dev/zero | tr '\\0' y; echo '{tail}'"
    assert (await bench.judge(body, timeout=20)).message == "a hook of the owner denies it"


async def test_arguments_are_changed_one_hook_after_the_other(bench: Bench) -> None:
    first = bench.script("a.sh", say({"action": "modify", "args": {"command": "pwd"}}))
    second = bench.script(
        "b.sh", "cat > b.json; " + say({"decision": "modify", "tool_input": {"n": 1}})
    )
    hooks = bench.hooks(one("pre_tool_call", first), one("pre_tool_call", second))
    answer = await hooks.fire(bench.call())
    seen = json.loads((bench.cwd / "b.json").read_text(encoding="utf-8"))
    assert seen["tool_input"]["command"] == "pwd"
    assert answer.arguments == {"command": "pwd", "text": "ä\ud800", "n": 1}


async def test_the_first_denial_ends_it_and_wins_over_a_question(bench: Bench) -> None:
    asks = bench.script("a.sh", say({"action": "approve", "message": "sure?"}))
    denies = bench.script("b.sh", "echo no >&2; exit 2")
    never = bench.script("c.sh", "touch ran")
    hooks = bench.hooks(*(one("pre_tool_call", c) for c in (asks, denies, never)))
    answer = await hooks.fire(bench.call())
    assert (answer.decision, answer.message) == ("deny", "no")
    assert not (bench.cwd / "ran").exists()


@pytest.mark.parametrize(
    ("matcher", "tool", "runs"),
    [
        ("", "terminal", True),
        ("terminal", "terminal", True),
        ("term", "terminal", False),
        ("terminal|patch", "patch", True),
        (".*file", "read_file", True),
        ("Terminal", "terminal", False),
    ],
)
async def test_a_matcher_is_for_the_whole_name(
    bench: Bench, matcher: str, tool: str, runs: bool
) -> None:
    answer = await bench.judge("exit 2", tool=tool, matcher=matcher)
    assert (answer.decision == "deny") is runs


async def test_other_events_add_context_and_cannot_deny(bench: Bench) -> None:
    first = bench.script("a.sh", say({"context": "it is Tuesday s3cret"}))
    second = bench.script("b.sh", "echo broken >&2; exit 2")
    third = bench.script("c.sh", say({"context": "and raining", "action": "block"}))
    events: HookEvent = "pre_llm_call"
    hooks = bench.hooks(*(one(events, c) for c in (first, second, third)))
    payload = HookPayload(event=events, session=SessionId("s1"), cwd=str(bench.cwd))
    answer = await hooks.fire(payload)
    assert answer.decision == "pass"
    assert answer.context == ("it is Tuesday ***", "and raining")
    (notice,) = answer.notices
    assert "broken" in notice


async def test_a_hook_that_nobody_allowed_does_not_run_and_is_told_of_once(bench: Bench) -> None:
    hook = one("pre_tool_call", bench.script("h.sh", "touch ran"))
    hooks = bench.hooks(hook, accept=False)
    first, second = await hooks.fire(bench.call()), await hooks.fire(bench.call())
    assert (first.decision, len(first.notices), second.notices) == ("pass", 1, ())
    assert not (bench.cwd / "ran").exists()
    bench.consents().allow(hook)
    await hooks.fire(bench.call())
    assert (bench.cwd / "ran").exists()


async def test_a_policy_that_nobody_allowed_denies(bench: Bench) -> None:
    hook = one("pre_tool_call", bench.script("h.sh", "exit 0"), fail_closed=True)
    answer = await bench.hooks(hook, accept=False).fire(bench.call())
    assert answer.decision == "deny"
    assert "hermes hooks allow" in answer.message


async def test_a_broken_allow_list_allows_nothing_and_is_kept(bench: Bench) -> None:
    hook = one("pre_tool_call", bench.script("h.sh", "touch ran"), fail_closed=True)
    bench.home.hook_consents.write_text("{broken", encoding="utf-8")
    answer = await bench.hooks(hook, accept=True).fire(bench.call())
    assert answer.decision == "deny"
    with pytest.raises(ConfigError):
        bench.consents().allow(hook)
    assert bench.home.hook_consents.read_text(encoding="utf-8") == "{broken"
    assert not (bench.cwd / "ran").exists()


async def test_a_projects_hook_is_bound_to_its_folder_and_its_files(bench: Bench) -> None:
    root = bench.cwd
    script = root / "check.sh"
    script.write_text("#!/bin/sh\ntouch ran\n", encoding="utf-8")
    script.chmod(0o755)
    hook = one("post_tool_call", "./check.sh", root=str(root))
    consents = bench.consents()
    consents.allow(hook)
    await bench.hooks(hook, accept=False).fire(bench.call("post_tool_call"))
    assert (root / "ran").exists()
    assert consents.of(one("post_tool_call", "./check.sh", root="/elsewhere")) == "new"
    assert consents.of(one("post_tool_call", "./check.sh")) == "new"
    script.write_text("#!/bin/sh\ntouch worse\n", encoding="utf-8")
    assert consents.of(hook) == "changed"
    answer = await bench.hooks(hook, accept=False).fire(bench.call("post_tool_call"))
    assert not (root / "worse").exists()
    assert "changed" in answer.notices[0]


async def test_a_relative_program_is_never_taken_from_the_working_folder(bench: Bench) -> None:
    planted = bench.cwd / "h.sh"
    planted.write_text("#!/bin/sh\ntouch planted\n", encoding="utf-8")
    planted.chmod(0o755)
    bench.env["PATH"] = f".:{bench.env['PATH']}"
    for command in ("./h.sh", "h.sh"):
        await bench.hooks(one("post_tool_call", command)).fire(bench.call("post_tool_call"))
    assert not (bench.cwd / "planted").exists()
    bench.script("h.sh", "touch own")
    await bench.hooks(one("post_tool_call", "./h.sh")).fire(bench.call("post_tool_call"))
    assert (bench.cwd / "own").exists()


async def test_a_keeper_that_is_killed_is_a_failure_like_any_other(bench: Bench) -> None:
    answer = await bench.judge("kill -9 $PPID; sleep 5", timeout=20)
    assert answer.decision == "deny"
    assert (await bench.judge("exit 0")).decision == "pass"


@given(st.binary(max_size=200), st.integers(-9, 5))
def test_no_output_of_a_judge_is_taken_for_a_yes_unless_it_is_one(data: bytes, status: int) -> None:
    ran = Ran(exit_code=status, stdout=data, stderr=b"", seconds=0.1)
    reading = read("pre_tool_call", ran)
    if not reading.failure and reading.decision == "pass" and reading.changes is None:
        assert status == 0
        assert not data.strip() or isinstance(json.loads(data), dict)
