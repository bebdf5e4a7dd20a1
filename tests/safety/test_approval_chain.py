"""The chain that decides about every call: its order, its scopes, and what it is bound to."""

from pathlib import Path
from typing import Any

import pytest

from approval_rig import Session, guarded, one, rules, run, write
from families.family_parts import terminal_tool
from hermes.agent.limits import Limits
from hermes.core.events import Question
from hermes.core.inputs import Answer, Yolo
from hermes.core.people import Origin
from hermes.safety.approvals.steps import Modes
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from rig import PERSON, Rig, say

pytestmark = pytest.mark.anyio

REMOVE = "mkdir -p q1; rm -r q1; echo ok"
"""Flagged, and no harm is done."""
ROOT = "rm -rf /"


async def test_a_command_that_is_not_flagged_runs_without_a_question(rig: Rig) -> None:
    session = Session(guarded(rig))
    (result,) = await session.run([run("echo out > made; mkdir d")])
    assert (result["exit_code"], session.asked) == (0, [])


@pytest.mark.parametrize(("choice", "ran"), [("once", True), ("no", False)])
async def test_a_flagged_command_is_a_question_with_its_reason(
    rig: Rig, choice: str, ran: bool
) -> None:
    session = Session(guarded(rig))
    (result,) = await session.run([run(REMOVE)], answers=[choice])
    (question,) = session.asked
    assert REMOVE in question.detail
    assert "Asked because" in question.detail
    assert question.default == "no"
    assert (result["exit_code"] == 0) is ran
    assert ran or result["status"] == "blocked"


async def test_once_is_once_and_session_is_this_very_call_in_this_session(rig: Rig) -> None:
    session = Session(guarded(rig))
    results = await session.run(
        [run(REMOVE)],
        [run(REMOVE), run(REMOVE)],
        [run("rm -r other; true")],
        [run("mkdir -p d"), run(REMOVE, workdir="d")],
        answers=["once", "session", "no", "no"],
    )
    assert [r["exit_code"] for r in results] == [0, 0, 0, -1, 0, -1]
    assert len(session.asked) == 4
    again = Session(rig)
    await again.run([run(REMOVE)], answers=["no"])
    assert len(again.asked) == 1


async def test_always_saves_the_exact_command_and_holds_at_once(rig: Rig) -> None:
    saved: list[str] = []

    async def save(rule: str) -> None:
        saved.append(rule)

    session = Session(guarded(rig, save=save))
    command = "rm -r '*.x' q? ${d}; true"
    await session.run([run(command)], [run(command)], answers=["always"])
    (question,) = session.asked
    assert question.choices == ("once", "session", "always", "no")
    assert saved == [question.rule] == ["rm -r '[*].x' q[?] [$]{d}; true"]
    assert question.rule in question.detail
    later = Session(guarded(rig, allowed=saved))
    results = await later.run([run(command)], [run("rm -r 'a.x' qq; true")], answers=["no"])
    assert [r["exit_code"] for r in results] == [0, -1]


async def test_a_person_may_word_the_rule_that_always_saves_if_it_fits(rig: Rig) -> None:
    saved: list[str] = []

    async def save(rule: str) -> None:
        saved.append(rule)

    def worded(rule: str) -> Any:
        return lambda question: Answer(question=question.id, choice="always", rule=rule)

    session = Session(guarded(rig, save=save))
    results = await session.run(
        [run("rm -r q1"), run("rm -r q2"), run("rm -r q3")],
        answers=[worded("rm -r q*"), worded("unused")],
    )
    assert saved == ["rm -r q*"]
    assert len(session.asked) == 1
    assert all(r.get("status") != "blocked" for r in results)
    unfit = Session(guarded(rig, save=save))
    (result,) = await unfit.run([run("rm -r q1")], answers=[worded("make *")])
    assert result["status"] == "blocked"
    assert saved == ["rm -r q*"]


async def test_hardline_is_refused_in_every_mode(rig: Rig) -> None:
    allowing = {"rules": rules(("terminal", "", "allow")), "allowed": [ROOT, "rm *"]}
    for approvals in ({"off": True}, allowing, {}):
        session = Session(guarded(rig, **approvals))
        (result,) = await session.run([run(ROOT)])
        assert set(result) >= {"output", "exit_code", "error", "status"}
        assert (result["status"], result["exit_code"]) == ("blocked", -1)
        assert session.asked == []


@pytest.mark.parametrize(
    "more",
    [
        {"denied": ["*mkdir*"]},
        {"denied": ["mkdir"]},
        {"rules": rules(("terminal", "mkdir *", "deny"))},
        {"rules": rules(("*", "", "allow"), ("terminal", "mkdir", "deny"))},
    ],
)
async def test_what_is_denied_is_denied_under_yolo_and_by_every_spelling(
    rig: Rig, more: dict[str, Any]
) -> None:
    guarded(rig, off=True, allowed=["mkdir *"], **more)
    for command in ("mkdir q", "echo a; mkdir -p q", "'mkdir' q", "/bin/mkdir q"):
        result = await one(rig, command)
        assert result["status"] == "blocked", command
        assert "mkdir" in result["error"]
    assert (await one(rig, "echo ok"))["exit_code"] == 0


async def test_the_last_rule_that_matches_decides(rig: Rig) -> None:
    order = rules(("terminal", "rm *", "allow"), ("terminal", "rm -r q2*", "ask"))
    session = Session(guarded(rig, rules=order))
    results = await session.run([run("rm -r q1")], [run("rm -r q2")], answers=["no"])
    assert results[0]["exit_code"] != -1
    assert len(session.asked) == 1
    assert "permissions[1]" in session.asked[0].detail


@pytest.mark.parametrize(
    ("entries", "command", "runs"),
    [
        (["rm -r q1"], "rm -r q1", True),
        (["rm -r q1"], "rm -r q1 q2", False),
        (["rm -r q*"], "rm -r q1", True),
        (["rm -r q*"], "rm -r q1; rm -r other", False),
        (["rm -r q*"], "rm -r q1 && git push --force", False),
        (["rm -r q*", "git push --force"], "rm -r q1 && git push --force", True),
        (["echo *"], "rm -r q1", False),
    ],
)
async def test_a_list_entry_allows_a_line_only_if_it_allows_each_part(
    rig: Rig, entries: list[str], command: str, runs: bool
) -> None:
    session = Session(guarded(rig, allowed=entries))
    (result,) = await session.run([run(command)], answers=["no"])
    assert (result.get("status") != "blocked") is runs
    assert bool(session.asked) is not runs


@pytest.mark.parametrize("surface", ["oneshot", "cli", "cron", "tools", "api"])
async def test_without_a_person_flagged_is_refused_unless_the_owner_said_so_before(
    rig: Rig, surface: str
) -> None:
    origin = Origin(surface=surface)
    result = await one(guarded(rig), REMOVE, origin=origin)
    assert result["status"] == "blocked"
    assert "nobody is there" in result["error"]
    assert "_mode: approve" in result["error"]
    willing = Modes(cron="approve", single="approve", other="approve")
    assert (await one(guarded(rig, modes=willing), REMOVE, origin=origin))["exit_code"] == 0
    assert (await one(rig, ROOT, origin=origin))["status"] == "blocked"


async def test_silence_is_a_no(rig: Rig) -> None:
    guarded(rig)
    rig.limits = Limits(attempts=1, approval_seconds=0.05)
    result = await one(rig, REMOVE, lambda _: Answer(question="none", choice="once"))
    assert result["status"] == "blocked"


async def test_three_refusals_in_a_row_stop_the_attempt_and_a_new_message_begins_anew(
    rig: Rig,
) -> None:
    session = Session(guarded(rig))
    tries = [run(f"rm -r q{n}") for n in range(5)]
    results = await session.run(tries, [run("rm -r q9")], answers=["no", "no", "no", "no"])
    assert len(session.asked) == 4
    assert "Stop here" not in results[1]["error"]
    assert all("Stop here" in result["error"] for result in results[2:5])
    assert "Stop here" not in results[5]["error"]


async def test_a_yes_ends_a_row_of_refusals(rig: Rig) -> None:
    session = Session(guarded(rig))
    tries = [run(f"mkdir -p q{n}; rm -r q{n}") for n in range(5)]
    results = await session.run(tries, answers=["no", "no", "once", "no", "no"])
    assert len(session.asked) == 5
    assert not any("Stop here" in (result["error"] or "") for result in results)


async def test_sudo_that_waits_for_a_password_is_refused_with_the_reason(rig: Rig) -> None:
    result = await one(guarded(rig, off=True), "echo pw | sudo -S true")
    assert result["status"] == "blocked"
    assert "password" in result["error"]


async def test_what_was_refused_is_asked_about_when_it_comes_another_way(rig: Rig) -> None:
    asks = rules(("write_file", "a.txt", "ask"))
    for other in (
        run("echo x > a.txt"),
        run("python3 -c \"open('a.txt','w')\""),
        run("cp b sub/../a.txt"),
    ):
        session = Session(guarded(rig, rules=asks))
        await session.run([write("a.txt"), other], [run("echo y > b")], answers=["no", "no"])
        assert len(session.asked) == 2
        assert not (rig.folder / "a.txt").exists()


@pytest.mark.parametrize("reader", ["cat .env", "head -3 ./.env", "cat $HOME/.env", "cat .e*"])
async def test_a_path_rule_holds_for_the_shell_too(rig: Rig, reader: str) -> None:
    (rig.folder / ".env").write_text("KEY=1", encoding="utf-8")
    guarded(rig, rules=rules(("read_file", ".env", "deny")))
    assert (await one(rig, reader))["status"] == "blocked"
    assert (await one(rig, "ls -a"))["exit_code"] == 0
    guarded(rig, rules=rules(("write_file", "src/**", "deny")))
    (rig.folder / "src").mkdir()
    assert (await one(rig, "echo x > src/a.c"))["status"] == "blocked"
    assert (await one(rig, "ls src"))["exit_code"] == 0


async def test_rules_hold_for_file_tools_by_path(rig: Rig) -> None:
    order = rules(
        ("write_file", "*.lock", "deny"),
        ("*", "docs", "ask"),
        ("write_file", "docs/free/*", "allow"),
    )
    session = Session(guarded(rig, rules=order))
    calls = [write("a.lock"), write("docs/a.md"), write("docs/free/b.md"), write("c.md")]
    results = await session.run(calls, answers=["no"])
    assert ["error" in result for result in results] == [True, True, False, False]
    assert len(session.asked) == 1


async def test_an_approval_ends_when_what_it_was_for_changes(rig: Rig) -> None:
    script = rig.folder / "clean.sh"
    script.write_text("rm -rf q1\n", encoding="utf-8")

    def changed(question: Question) -> Answer:
        script.write_text("echo evil > evil\n", encoding="utf-8")
        return Answer(question=question.id, choice="once")

    result = await one(guarded(rig), "bash clean.sh; rm -r q1", changed)
    assert result["status"] == "blocked"
    assert "clean.sh has changed" in result["error"]
    assert not (rig.folder / "evil").exists()


async def test_an_approval_ends_when_the_environment_changes(rig: Rig) -> None:
    env = {"PATH": "/bin", "LANG": "C"}

    def changed(question: Question) -> Answer:
        env["PATH"] = "/tmp/evil:/bin"
        return Answer(question=question.id, choice="once")

    result = await one(guarded(rig, environ=lambda _: dict(env)), REMOVE, changed)
    assert "PATH has changed" in result["error"]


async def test_a_lasting_grant_is_for_the_script_as_it_was(rig: Rig) -> None:
    saved: list[str] = []

    async def save(rule: str) -> None:
        saved.append(rule)

    script = rig.folder / "clean.sh"
    for choice in ("session", "always"):
        script.write_text("true\n", encoding="utf-8")
        session = Session(guarded(rig, save=save))
        command = "bash clean.sh; rm -r q1"
        results = await session.run(
            [run(command)],
            [run(command), run("echo true >> clean.sh"), run(command)],
            answers=[choice, "no"],
        )
        assert len(session.asked) == 2
        assert results[-1]["status"] == "blocked"
    assert "#sha256=" in saved[0]


@pytest.mark.parametrize(
    "between",
    [
        "export PATH=/tmp/evil:$PATH",
        "PATH=/tmp/evil",
        "alias rm=evil",
        "rm() { evil; }",
        ". ./env.sh",
    ],
)
async def test_a_session_grant_ends_when_names_may_mean_something_else(
    rig: Rig, between: str
) -> None:
    (rig.folder / "env.sh").write_text("true\n", encoding="utf-8")
    session = Session(guarded(rig))
    await session.run([run(REMOVE), run(between), run(REMOVE)], answers=["session", "no", "no"])
    assert REMOVE in session.asked[-1].detail
    assert len(session.asked) >= 2


async def test_yolo_can_be_switched_on_and_off_in_a_session(rig: Rig) -> None:
    guarded(rig)
    asked: list[Question] = []
    script = [replies.calls(run(REMOVE)), "ok"] * 3
    async with terminal_tool(rig):
        with ScriptedModel(script) as model:
            async with rig.session(model, origin=PERSON) as session:

                def answer(event: object) -> Any:
                    if isinstance(event, Question):
                        asked.append(event)
                        return session.send(Answer(question=event.id, choice="no"))
                    return None

                for on, questions in ((True, 0), (False, 1), (True, 1)):
                    await session.send(Yolo(on=on))
                    await say(session, "go", origin=PERSON, on=answer)
                    assert len(asked) == questions


async def test_every_command_of_a_background_process_is_judged_too(
    rig: Rig, tmp_path: Path
) -> None:
    session = Session(guarded(rig))
    (result,) = await session.run([run(REMOVE, background=True)], answers=["no"])
    assert result["status"] == "blocked"
    assert len(session.asked) == 1
