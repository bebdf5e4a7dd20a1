"""Which calls are put to a person, through the loop."""

from typing import Any

import pytest

from hermes.core.entries import ToolBatchEntry
from hermes.core.events import Question
from hermes.core.inputs import Answer
from hermes.ports.tool import SessionState
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from rig import PERSON, Rig, say
from tools_for_tests import Probe

pytestmark = pytest.mark.anyio


def writer(rig: Rig) -> Probe:
    """A tool that writes the files that its argument names."""
    rig.yolo = False

    def touches(arguments: dict[str, Any], _: SessionState) -> tuple[str, ...]:
        return tuple(str(rig.folder / name) for name in arguments.get("x", "").split())

    rig.tools["write"] = probe = Probe("write", effects="writes", touches=touches)
    return probe


async def asked(rig: Rig, names: str, choice: str) -> list[Question]:
    """The questions that a call which writes `names` leads to, each answered with `choice`."""
    questions: list[Question] = []
    with ScriptedModel([replies.calls(("write", {"x": names})), "ok"]) as model:
        async with rig.session(model, origin=PERSON) as session:

            def answer(event: object) -> Any:
                if isinstance(event, Question):
                    questions.append(event)
                    return session.send(Answer(question=event.id, choice=choice))
                return None

            await say(session, "go", origin=PERSON, on=answer)
    return questions


async def test_a_write_is_no_question(rig: Rig) -> None:
    probe = writer(rig)
    assert await asked(rig, "a.txt b/c.py", "no") == []
    assert probe.log


async def test_protected_files_of_one_call_are_one_question(rig: Rig) -> None:
    probe = writer(rig)
    assert len(await asked(rig, "a.txt AGENTS.md .env", "once")) == 1
    assert len(probe.log) == 2
    assert len(await asked(rig, "a.txt AGENTS.md", "no")) == 1
    assert len(probe.log) == 2


async def test_a_write_of_unknown_extent_is_a_question(rig: Rig) -> None:
    probe = writer(rig)
    assert len(await asked(rig, "", "no")) == 1
    assert not probe.log


async def test_nobody_is_asked_for_what_the_tool_has_to_refuse(rig: Rig) -> None:
    writer(rig)
    assert await asked(rig, "AGENTS.md .ssh/id_rsa", "no") == []


async def test_without_a_person_the_refusal_names_the_protected_paths(rig: Rig) -> None:
    probe = writer(rig)
    with ScriptedModel([replies.calls(("write", {"x": "a.txt CLAUDE.md"})), "ok"]) as model:
        async with rig.session(model) as session:
            await say(session, "go")
    assert not probe.log
    batch = (await rig.entries(session.id))[2]
    assert isinstance(batch, ToolBatchEntry)
    assert batch.results[0].outcome == "denied"
    assert str(rig.folder / "CLAUDE.md") in batch.results[0].content
    assert str(rig.folder / "a.txt") not in batch.results[0].content


async def test_yolo_asks_nothing_but_about_files_that_instruct_agents(rig: Rig) -> None:
    probe = writer(rig)
    rig.yolo = True
    assert await asked(rig, ".env a.txt", "no") == []
    assert len(probe.log) == 2
    assert len(await asked(rig, "AGENTS.md", "no")) == 1
    assert len(probe.log) == 2
