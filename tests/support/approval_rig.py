"""Calls through the loop with real tools, and the questions they lead to."""

import json
from collections.abc import Sequence
from typing import Any

from families.family_parts import file_tools, terminal_tool
from hermes.core.entries import ToolBatchEntry
from hermes.core.events import Question
from hermes.core.inputs import Answer
from hermes.core.people import Origin
from hermes.safety.approvals.rules import Rule, Rules
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from rig import PERSON, Rig, say


class Session:
    """Calls made in one turn each, and the questions that they led to."""

    def __init__(self, rig: Rig, *, origin: Origin = PERSON) -> None:
        self.rig = rig
        self.origin = origin
        self.asked: list[Question] = []

    async def run(
        self, *turns: Sequence[tuple[str, dict[str, Any]]], answers: Sequence[Any] = ()
    ) -> list[dict[str, Any]]:
        """Each of `turns` is a turn, with a reply for each of its calls; their results.

        `answers` are choices, or functions of the question that give an Answer.
        """
        script: list[Any] = []
        for calls in turns:
            script += [replies.calls(call) for call in calls] + ["ok"]
        wanted = iter(answers)
        async with terminal_tool(self.rig):
            file_tools(self.rig)
            with ScriptedModel(script) as model:
                async with self.rig.session(model, origin=self.origin) as session:

                    def answer(event: object) -> Any:
                        if not isinstance(event, Question):
                            return None
                        self.asked.append(event)
                        choice = next(wanted)
                        if not isinstance(choice, str):
                            return session.send(choice(event))
                        return session.send(Answer(question=event.id, choice=choice))

                    for _ in turns:
                        await say(session, "go", origin=self.origin, on=answer)
                self.requests = model.requests
        entries = await self.rig.entries(session.id)
        return [
            json.loads(result.content)
            for entry in entries
            if isinstance(entry, ToolBatchEntry)
            for result in entry.results
        ]


def run(command: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return ("terminal", {"command": command, **more})


def write(path: str, content: str = "x") -> tuple[str, dict[str, Any]]:
    return ("write_file", {"path": path, "content": content})


def guarded(rig: Rig, **approvals: Any) -> Rig:
    """`rig` with these arguments of the guard."""
    rig.yolo = approvals.pop("off", False)
    rig.approvals = approvals
    return rig


def rules(*rows: tuple[str, str, str]) -> Rules:
    """Rules of (tool, match, decision)."""
    return Rules(
        [
            Rule(tool=tool, match=match, decision=decision, source=f"permissions[{i}]")  # type: ignore[arg-type]
            for i, (tool, match, decision) in enumerate(rows)
        ]
    )


async def one(rig: Rig, command: str, *answers: Any, origin: Origin = PERSON) -> dict[str, Any]:
    """The result of one command; `answers` as for Session.run."""
    (result,) = await Session(rig, origin=origin).run([run(command)], answers=answers)
    return result
