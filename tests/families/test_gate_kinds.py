"""Consent that covers one path only, rules that do not mean what they say, guards that mislead:
fault families gate-gap, gate-rules, guard-fp."""

import json
import re
from typing import Any

import pytest

from approval_rig import Session, guarded, run
from hermes.agent.limits import Limits
from hermes.core.ids import SessionId, TurnId
from hermes.core.inputs import Answer
from hermes.core.people import Origin
from hermes.ports.guard import Proposal
from hermes.ports.tool import SessionState
from hermes.safety.approvals.rules import Rule, Rules
from hermes.safety.paths import PathPolicy
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from program import Program
from rig import CLI, PERSON, Rig, say
from tools_for_tests import Probe

pytestmark = pytest.mark.anyio

FLAGGED = "mkdir -p q1; rm -r q1; echo ok > ran"


@pytest.mark.parametrize("words", [("-z", "hi"), ("chat", "-q", "hi"), ()])
def test_without_a_person_no_door_of_the_program_runs_what_is_flagged(
    program: Program, words: tuple[str, ...]
) -> None:
    call = replies.calls(("terminal", {"command": FLAGGED}))
    with ScriptedModel([call, "I could not."]) as model:
        program.configure(model.base_url)
        done = program.run(*words, stdin=b"" if words else b"hi")
    assert done.returncode == 0
    assert not (program.cwd / "ran").exists()
    said = json.loads(model.requests[1].messages[-1]["content"])
    assert (said["status"], said["exit_code"]) == ("blocked", -1)
    assert "nobody is there" in said["error"]


def test_each_way_that_a_refusal_names_works(program: Program) -> None:
    program.home.mkdir()
    call = ("tools", "call", "terminal", json.dumps({"command": FLAGGED}))
    error = json.loads(program.run(*call).stdout)["error"]
    key, value = re.findall(r"(approvals\.\w+): (\w+)", error)[0]
    assert program.run("config", "set", key, value).returncode == 0
    assert json.loads(program.run(*call).stdout)["exit_code"] == 0
    assert program.run("config", "unset", key).returncode == 0
    assert json.loads(program.run(*call).stdout)["status"] == "blocked"
    assert "hermes approvals allow" in error
    assert program.run("approvals", "allow", "--exact", FLAGGED).returncode == 0
    assert json.loads(program.run(*call).stdout)["exit_code"] == 0


async def test_a_refusal_names_the_rule_that_met_it(rig: Rig) -> None:
    guarded(rig)
    for command, family in (("rm -r q1", "recursive"), ("git push --force", "git")):
        session = Session(rig, origin=CLI)
        (result,) = await session.run([run(command)])
        families = rig.classifier().classify(command, cwd=str(rig.folder)).families
        assert all(name in result["error"] for name in families)
        assert family in result["error"]


async def test_every_tool_passes_the_same_rules(rig: Rig) -> None:
    rig.yolo = False
    rig.approvals = {
        "rules": Rules(
            [
                Rule(tool="mail", match="*@evil*", argument="x", decision="deny", source="r0"),
                Rule(tool="look", match="", decision="ask", source="r1"),
            ]
        )
    }
    rig.tools["mail"] = mail = Probe("mail", effects="none")
    rig.tools["look"] = look = Probe("look")
    calls = [replies.calls(("mail", {"x": to})) for to in ("a@good", "a@evil")]
    with ScriptedModel([*calls, replies.calls(("look", {})), "ok"]) as model:
        async with rig.session(model, origin=CLI) as session:
            await say(session, "go")
    assert mail.log == ["begin a@good", "end a@good"]
    assert look.log == []


@pytest.mark.parametrize(
    ("rule", "command", "denied"),
    [
        ("grep * /etc/*", "grep -n root /etc/passwd", True),
        ("grep * /etc/*", "echo a | grep x /etc/hosts", True),
        ("grep * /etc/*", "grep x notes", False),
        ("git push*", "cd sub && git push origin", True),
        ("git push*", "(git push)", True),
        ("git push*", "git 'push'", True),
        ("git push*", "echo git push", False),
        ("shred", "/usr/bin/shred x", True),
        ("shred", "shredder x", False),
    ],
)
async def test_a_deny_rule_holds_for_each_command_of_a_line_however_it_is_spelt(
    rig: Rig, rule: str, command: str, denied: bool
) -> None:
    for approvals in (
        {"denied": [rule]},
        {"rules": Rules([Rule(tool="terminal", match=rule, decision="deny", source="r")])},
    ):
        guarded(rig, off=True, allowed=["grep *"], **approvals)
        guard = rig.guard(_policy(rig))
        verdict = await guard.judge(_terminal(rig, command))
        assert (verdict.decision == "deny") is denied


@pytest.mark.parametrize("origin", [CLI, PERSON, Origin(surface="cron")])
@pytest.mark.parametrize("command", ["mkdir x", "mkdir -p a/b && ls", "echo 'rm -rf /'"])
async def test_what_is_allowed_does_not_ask(rig: Rig, command: str, origin: Origin) -> None:
    guarded(rig, allowed=["mkdir"])
    session = Session(rig, origin=origin)
    (result,) = await session.run([run(command)])
    assert (result["exit_code"], session.asked) == (0, [])


async def test_a_script_runs_only_where_somebody_is_or_said_so(rig: Rig) -> None:
    rig.yolo = False
    rig.tools["execute_code"] = code = Probe("execute_code", effects="world")
    call = replies.calls(("execute_code", {"code": "print(1)"}))
    for origin, runs in ((CLI, False), (Origin(surface="cron"), False), (PERSON, True)):
        code.log.clear()
        with ScriptedModel([call, "ok"]) as model:
            async with rig.session(model, origin=origin) as session:
                await say(session, "go", origin=origin)
        assert bool(code.log) is runs


async def test_text_for_a_running_program_is_judged_as_a_command(rig: Rig) -> None:
    guard = guarded(rig).guard(_policy(rig))
    rig.tools["process"] = Probe("process", effects="world")
    for data, decision in (("rm -rf /\n", "deny"), ("rm -r q1\n", "ask"), ("yes\n", "allow")):
        proposal = _proposal(rig, "process", {"action": "submit", "data": data})
        assert (await guard.judge(proposal)).decision == decision
    listed = _proposal(rig, "process", {"action": "list"})
    assert (await guard.judge(listed)).decision == "allow"


async def test_an_answer_that_was_not_offered_allows_nothing(rig: Rig) -> None:
    rig.limits = Limits(attempts=1, approval_seconds=0.1)
    session = Session(guarded(rig))
    (result,) = await session.run(
        [run(FLAGGED)], answers=[lambda q: Answer(question=q.id, choice="always")]
    )
    assert result["status"] == "blocked"


def _policy(rig: Rig) -> PathPolicy:
    return PathPolicy(home=rig.folder / "home", user=rig.folder)


def _terminal(rig: Rig, command: str) -> Proposal:
    rig.tools["terminal"] = Probe("terminal", effects="world")
    return _proposal(rig, "terminal", {"command": command})


def _proposal(rig: Rig, tool: str, arguments: dict[str, Any]) -> Proposal:
    return Proposal(
        tool=rig.tools[tool].spec,
        arguments=arguments,
        state=SessionState(str(rig.folder)),
        origin=PERSON,
        session=SessionId("s"),
        turn=TurnId("t"),
    )
