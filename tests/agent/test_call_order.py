"""Which calls of one batch are under way together, and which wait."""

import json
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hermes.core.entries import ToolBatchEntry
from hermes.core.errors import ToolError
from hermes.ports.tool import SessionState, ToolOutput
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from rig import Rig, say
from tools_for_tests import Gate, Probe

pytestmark = pytest.mark.anyio


def named(arguments: dict[str, Any], state: SessionState) -> tuple[str, ...]:
    """The path that the call's `x` names."""
    return (str(arguments["x"]),)


async def run(rig: Rig, *calls: tuple[str, dict[str, Any]]) -> None:
    with ScriptedModel([replies.calls(*calls), "ok"]) as model:
        async with rig.session(model) as session:
            await say(session, "go")


@pytest.mark.parametrize("effects", ["reads", "writes"])
async def test_calls_on_other_paths_do_not_wait_for_a_writer(rig: Rig, effects: Any) -> None:
    first, second = Gate(), Gate()

    async def meet(gate: Gate, other: Gate) -> str:
        gate.reached.set()
        await other.reached.wait()
        return "met"

    rig.tools["a"] = Probe("a", effects="writes", body=lambda _: meet(first, second), touches=named)
    rig.tools["b"] = Probe("b", effects=effects, body=lambda _: meet(second, first), touches=named)
    with anyio.fail_after(10):
        await run(rig, ("a", {"x": "/w/one"}), ("b", {"x": "/w/two"}))


@pytest.mark.parametrize(
    ("writer", "later", "effects"),
    [
        ("/w/one", "/w/one", "reads"),
        ("/w/one", "/w", "reads"),
        ("/w", "/w/one", "writes"),
        ("/w/one", "/w/one", "writes"),
        ("/w/one", "/w/two", "world"),
    ],
)
async def test_a_call_waits_for_a_writer_before_it_that_may_concern_it(
    rig: Rig, writer: str, later: str, effects: Any
) -> None:
    order: list[str] = []

    async def slow(_: dict[str, Any]) -> str:
        order.append("writing")
        await anyio.lowlevel.checkpoint()
        order.append("written")
        return "done"

    rig.tools["a"] = Probe("a", effects="writes", body=slow, touches=named)
    rig.tools["b"] = Probe("b", effects=effects, body=lambda _: order.append("b"), touches=named)
    await run(rig, ("a", {"x": writer}), ("b", {"x": later}))
    assert order == ["writing", "written", "b"]


async def test_what_a_call_touches_is_asked_after_the_calls_before_it(rig: Rig) -> None:
    """A `cd` in between changes what a relative path means, and so what is allowed."""
    cwd: list[str] = []
    states: list[SessionState] = []

    def note(arguments: dict[str, Any], state: SessionState) -> tuple[str, ...]:
        states.append(state)
        cwd.append(state.cwd)
        return (f"{state.cwd}/x",)

    def move(_: dict[str, Any]) -> str:
        states[-1].cwd = "/elsewhere"
        return "moved"

    rig.tools["write"] = Probe("write", effects="writes", touches=note)
    rig.tools["cd"] = Probe("cd", effects="world", body=move)
    await run(rig, ("write", {"x": "1"}), ("cd", {"x": "2"}), ("write", {"x": "3"}))
    assert cwd[-1] == "/elsewhere"


async def test_a_call_whose_path_is_none_is_answered_and_not_run(rig: Rig) -> None:
    def refuse(arguments: dict[str, Any], state: SessionState) -> tuple[str, ...]:
        raise ToolError("path must be a non-empty string.")

    probe = rig.tools["write"] = Probe("write", effects="writes", touches=refuse)
    with ScriptedModel([replies.calls(("write", {"x": "1"})), "ok"]) as model:
        async with rig.session(model) as session:
            await say(session, "go")
        entries = await rig.entries(session.id)
    assert probe.log == []
    batch = next(entry for entry in entries if isinstance(entry, ToolBatchEntry))
    assert json.loads(batch.results[0].content) == {"error": "path must be a non-empty string."}


async def test_a_tool_is_told_what_it_said_it_would_touch(rig: Rig) -> None:
    class Teller(Probe):
        async def run(self, arguments: Any, context: Any) -> ToolOutput:
            self.log.append(*context.touches)
            return ToolOutput(content="{}")

    teller = rig.tools["write"] = Teller("write", effects="writes", touches=named)
    await run(rig, ("write", {"x": "/w/one"}))
    assert teller.log == ["/w/one"]
