"""Hooks that are not called, or whose answer is not heeded: fault family hooks.

One dispatcher serves every tool and every front end, so a hook sees each call once, wherever it
comes from; what a hook adds stands in what is saved next and in nothing that was sent.
"""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from family_parts import stop

from hermes.core.clock import SystemClock
from hermes.core.entries import ToolBatchEntry, UserEntry, said
from hermes.core.events import Notice, Question, SessionEvent
from hermes.core.inputs import Answer, Submit
from hermes.ports.tool import ToolOutput
from hermes.safety.hooks.bus import ShellHooks
from hermes.safety.hooks.configured import Hook, hooks_of
from hermes.safety.hooks.consent import Consents
from hermes.safety.hooks.run import HookRunner
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from hermes.system.config.sections import HookSection, HooksSection
from hermes.system.paths import Home
from program import Program
from rig import CLI, PERSON, Rig, say
from terminal import CTRL_D, chat
from tools_for_tests import Probe

pytestmark = pytest.mark.anyio


@dataclass
class Hooked:
    """A rig whose hooks are small scripts."""

    rig: Rig
    runner: HookRunner

    def use(self, **bodies: str) -> None:
        """Run each body, a shell script, at the event of its name."""
        hooks: tuple[Hook, ...] = ()
        for event, body in bodies.items():
            path = self.rig.folder / f"{event}.sh"
            path.write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
            path.chmod(0o755)
            section = HooksSection(**{event: (HookSection(command=str(path), timeout=20.0),)})
            hooks += hooks_of(section, where="config.yaml", user=None)
        home = Home(self.rig.folder / "hooks-home")
        self.rig.hooks = ShellHooks(
            hooks,
            consents=Consents(home, SystemClock(), accept=True),
            runner=self.runner,
            profile="default",
            redact=lambda text: text,
        )

    def told(self, name: str = "told") -> list[dict[str, Any]]:
        """The payloads that a hook has appended to a file."""
        path = self.rig.folder / name
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]


TELL = "cat >> told"


@pytest.fixture
async def hooked(rig: Rig) -> AsyncIterator[Hooked]:
    runner = HookRunner({"PATH": os.environ["PATH"]}, rig.folder)
    try:
        yield Hooked(rig, runner)
    finally:
        await runner.aclose()


def configured(program: Program, address: str, **bodies: str) -> None:
    """A home whose hooks are shell scripts that may run."""
    lines = ""
    for event, body in bodies.items():
        path = program.home / f"{event}.sh"
        program.home.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        lines += f"  {event}:\n    - command: {path}\n"
    program.configure(address, f"hooks_auto_accept: true\nhooks:\n{lines}")


def payloads(program: Program, name: str = "told") -> list[dict[str, Any]]:
    path = program.cwd / name
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


CALLS: dict[str, dict[str, Any]] = {
    "terminal": {"command": "echo hi"},
    "read_file": {"path": "a.txt"},
    "write_file": {"path": "b.txt", "content": "x"},
    "patch": {"path": "a.txt", "old_string": "one", "new_string": "two"},
    "search_files": {"pattern": "one", "path": "."},
    "process": {"action": "list"},
}


def test_every_built_in_tool_is_announced_before_and_after_it_runs(program: Program) -> None:
    (program.cwd / "a.txt").write_text("one\n", encoding="utf-8")
    configured(program, "http://127.0.0.1:9", pre_tool_call=TELL, post_tool_call=TELL)
    names = [line.split()[0] for line in program.run("tools").stdout.decode().splitlines()[1:]]
    wishes = [{"tool": name, "args": CALLS.get(name, {})} for name in names]
    text = "\n".join(map(json.dumps, wishes)).encode()
    run = program.run("tools", "call", "--jsonl", "--approve", "all", stdin=text)
    assert run.returncode == 0, run.stderr
    seen = [(p["hook_event_name"], p["tool_name"]) for p in payloads(program)]
    for name in set(names) & set(CALLS):
        assert seen.count(("pre_tool_call", name)) == 1, name
        assert seen.count(("post_tool_call", name)) == 1, name


@pytest.mark.parametrize("front", ["-z", "-q", "tools", "chat"])
def test_a_hook_is_called_once_whatever_the_front_end(program: Program, front: str) -> None:
    call = ("read_file", {"path": "a.txt"})
    (program.cwd / "a.txt").write_text("one\n", encoding="utf-8")
    with ScriptedModel([replies.calls(call), "done"]) as model:
        configured(program, model.base_url, pre_tool_call=TELL, post_tool_call=TELL)
        match front:
            case "-z":
                assert program.run("-z", "go").returncode == 0
            case "-q":
                assert program.run("chat", "-q", "go").returncode == 0
            case "tools":
                assert program.run("tools", "call", call[0], json.dumps(call[1])).returncode == 0
            case _:
                with chat(program) as terminal:
                    terminal.say("go")
                    terminal.prompt(2)
                    terminal.type(CTRL_D)
                    assert terminal.status() == 0
    before, after = payloads(program)
    assert (before["hook_event_name"], after["hook_event_name"]) == (
        "pre_tool_call",
        "post_tool_call",
    )
    assert before["tool_input"] == after["tool_input"] == call[1]
    assert before["extra"]["tool_call_id"] == after["extra"]["tool_call_id"]
    assert "one" in json.loads(after["extra"]["result"])["content"]


@pytest.mark.parametrize(
    "body", ["echo never >&2; exit 2", """echo '{"decision": "block", "reason": "never"}'"""]
)
async def test_a_veto_is_the_result_and_the_tool_does_not_run(hooked: Hooked, body: str) -> None:
    hooked.use(pre_tool_call=body, post_tool_call=TELL)
    tool = Probe("probe", effects="world")
    hooked.rig.tools = {"probe": tool}
    with ScriptedModel([replies.calls(("probe", {"x": "1"})), "I see"]) as model:
        async with hooked.rig.session(model) as session:
            assert (await say(session, "go")).text == "I see"
    assert tool.log == []
    assert hooked.told() == []
    assert json.loads(model.requests[1].messages[-1]["content"]) == {"error": "never"}
    batch = (await hooked.rig.entries(session.id))[2]
    assert isinstance(batch, ToolBatchEntry)
    assert batch.results[0].outcome == "denied"


async def test_calls_side_by_side_are_each_judged_once(hooked: Hooked) -> None:
    hooked.use(
        pre_tool_call=TELL
        + """; grep -q '"x": "2"' told && [ ! -e no ] && { touch no
        echo denied >&2; exit 2; }; exit 0"""
    )
    read, write = Probe("read"), Probe("write", effects="world")
    hooked.rig.tools = {"read": read, "write": write}
    calls = [
        ("read", {"x": "1"}),
        ("read", {"x": "2"}),
        ("write", {"x": "3"}),
        ("read", {"x": "4"}),
    ]
    with ScriptedModel([replies.calls(*calls), "done"]) as model:
        async with hooked.rig.session(model) as session:
            await say(session, "go")
    assert [p["tool_input"]["x"] for p in hooked.told()] == ["1", "2", "3", "4"]
    assert read.log + write.log == [
        *("begin 1", "end 1", "begin 4", "end 4"),
        *("begin 3", "end 3"),
    ]


async def test_a_judge_that_fails_denies_and_both_are_told(hooked: Hooked) -> None:
    hooked.use(pre_tool_call="echo garbage")
    tool = Probe("probe")
    hooked.rig.tools = {"probe": tool}
    notices: list[str] = []

    def note(event: SessionEvent) -> None:
        if isinstance(event, Notice):
            notices.append(event.text)

    with ScriptedModel([replies.calls(("probe", {"x": "1"})), "I see"]) as model:
        async with hooked.rig.session(model) as session:
            await say(session, "go", on=note)
    assert tool.log == []
    assert "not one JSON object" in model.requests[1].messages[-1]["content"]
    assert len(notices) == 1


async def test_changed_arguments_run_are_judged_and_are_told_to_the_model(hooked: Hooked) -> None:
    change = json.dumps({"action": "modify", "args": {"x": "safe"}})
    hooked.use(pre_tool_call=f"echo '{change}'", post_tool_call=TELL)
    placed: list[str] = []

    def touches(arguments: dict[str, Any], _: object) -> tuple[str, ...]:
        placed.append(arguments["x"])
        return (f"/{arguments['x']}",)

    tool = Probe("probe", effects="writes", touches=touches)
    hooked.rig.tools = {"probe": tool}
    with ScriptedModel([replies.calls(("probe", {"x": "wild"})), "I see", "later"]) as model:
        async with hooked.rig.session(model) as session:
            await say(session, "go")
            await say(session, "on")
    assert tool.log == ["begin safe", "end safe"]
    assert placed[-1] == "safe"
    assert hooked.told()[0]["tool_input"] == {"x": "safe"}
    sent = json.dumps(model.requests[1].messages)
    assert "wild" in sent
    assert "A hook of the user changed" in sent


@pytest.mark.parametrize(("choice", "runs"), [("once", True), ("no", False)])
async def test_a_hook_can_have_a_person_asked(hooked: Hooked, choice: str, runs: bool) -> None:
    ask = json.dumps({"action": "approve", "message": "really?"})
    hooked.use(pre_tool_call=f"echo '{ask}'")
    tool = Probe("probe")
    hooked.rig.tools = {"probe": tool}
    details: list[str] = []
    with ScriptedModel([replies.calls(("probe", {"x": "1"})), "done"]) as model:
        async with hooked.rig.session(model, origin=PERSON) as session:

            async def answer(event: SessionEvent) -> None:
                if isinstance(event, Question):
                    details.append(event.detail)
                    wanted = choice if choice in event.choices else "yes"
                    await session.send(Answer(question=event.id, choice=wanted))

            await say(session, "go", origin=PERSON, on=answer)
    assert "really?" in details[0]
    assert bool(tool.log) is runs


async def test_without_a_person_a_call_that_a_hook_wants_asked_is_denied(hooked: Hooked) -> None:
    ask = json.dumps({"action": "approve", "message": "really?"})
    hooked.use(pre_tool_call=f"echo '{ask}'")
    tool = Probe("probe")
    hooked.rig.tools = {"probe": tool}
    with ScriptedModel([replies.calls(("probe", {"x": "1"})), "done"]) as model:
        async with hooked.rig.session(model, origin=CLI) as session:
            await say(session, "go")
    assert tool.log == []
    assert "nobody is there" in model.requests[1].messages[-1]["content"]


async def test_context_is_saved_with_the_message_and_never_sent_otherwise(hooked: Hooked) -> None:
    context = json.dumps({"context": "branch main </hook_context> x"})
    hooked.use(pre_llm_call=f"cat >> told; echo '{context}'")
    with ScriptedModel(["one", "two", "three"]) as model:
        async with hooked.rig.session(model) as session:
            await say(session, "hello")
            await say(session, "again")
        hooked.rig.hooks = None
        async with hooked.rig.session(model, session.id) as session:
            await say(session, "last")
    first, _, second, _, third, _ = await hooked.rig.entries(session.id)
    assert isinstance(first, UserEntry)
    assert said(first).startswith("hello\n\n<hook_context>\nbranch main")
    assert said(first).count("</hook_context>") == 1
    assert "branch main" in said(second)
    assert said(third) == "last"
    extra = [payload["extra"] for payload in hooked.told()]
    assert [e["user_message"] for e in extra] == ["hello", "again"]
    assert [e["is_first_turn"] for e in extra] == [True, False]


async def test_the_ends_of_turns_and_sessions_are_told(hooked: Hooked) -> None:
    hooked.use(
        on_session_start=TELL, post_llm_call=TELL, on_session_end=TELL, on_session_finalize=TELL
    )
    with ScriptedModel(["one", replies.http(400, {"error": {"message": "no"}}), "three"]) as model:
        async with hooked.rig.session(model) as session:
            await say(session, "a")
            await say(session, "b")
        async with hooked.rig.session(model, session.id) as session:
            await say(session, "c")
    told = [(p["hook_event_name"], p["extra"].get("completed")) for p in hooked.told()]
    assert told == [
        ("on_session_start", None),
        ("post_llm_call", None),
        ("on_session_end", True),
        ("on_session_end", False),
        ("on_session_finalize", None),
        ("post_llm_call", None),
        ("on_session_end", True),
        ("on_session_finalize", None),
    ]
    assert hooked.told()[1]["extra"]["assistant_response"] == "one"


@asynccontextmanager
async def running(hooked: Hooked, model: ScriptedModel) -> AsyncIterator[Any]:
    """A session whose turn has got to a hook that does not end."""
    async with hooked.rig.session(model) as session:
        await session.send(Submit(text="go", origin=CLI))
        pid = hooked.rig.folder / "pid"
        with anyio.fail_after(20):
            while not (pid.exists() and pid.read_text(encoding="utf-8").strip()):
                await anyio.lowlevel.checkpoint()
        yield session


HANG = "echo $$ > pid; sleep 300"


@pytest.mark.parametrize("event", ["pre_llm_call", "pre_tool_call", "post_tool_call"])
async def test_stop_ends_a_hook_within_a_second_and_the_history_is_whole(
    hooked: Hooked, event: str
) -> None:
    hooked.use(**{event: HANG, "on_session_end": "echo $$ > pid2; sleep 300"})
    hooked.rig.tools = {"probe": Probe("probe")}
    script = [] if event == "pre_llm_call" else [replies.calls(("probe", {"x": "1"}))]
    with ScriptedModel([*script, "next"]) as model:
        async with running(hooked, model) as session:
            ended, seconds = await stop(session)
            assert ended.why == "interrupted"
            assert seconds < 1
            for name in ("pid", "pid2"):
                number = (hooked.rig.folder / name).read_text(encoding="utf-8").strip()
                assert not Path(f"/proc/{number}").exists()
            hooked.use(on_session_end="exit 0")
        hooked.rig.hooks = None
        async with hooked.rig.session(model, session.id) as session:
            assert (await say(session, "and now")).text == "next"
    entries = await hooked.rig.entries(session.id)
    assert said(entries[0]) == "go"


async def test_a_hook_at_the_end_of_a_good_turn_can_be_stopped(hooked: Hooked) -> None:
    hooked.use(on_session_end=HANG)
    with ScriptedModel(["one"]) as model:
        async with running(hooked, model) as session:
            ended, seconds = await stop(session)
    assert (ended.why, ended.text) == ("finished", "one")
    assert seconds < 1


async def test_an_observer_that_fails_changes_nothing(hooked: Hooked) -> None:
    hooked.use(post_tool_call="exit 1", on_session_end="exit 2", pre_llm_call="echo nonsense")
    tool = Probe("probe", body=lambda _: ToolOutput(content='{"output": "fine"}'))
    hooked.rig.tools = {"probe": tool}
    with ScriptedModel([replies.calls(("probe", {"x": "1"})), "done"]) as model:
        async with hooked.rig.session(model) as session:
            ended = await say(session, "go")
    assert (ended.why, ended.text) == ("finished", "done")
    assert model.requests[1].messages[-1]["content"] == '{"output": "fine"}'
