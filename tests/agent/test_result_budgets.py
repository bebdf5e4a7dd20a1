"""What of results a model reads: bounded for one, for a step, and by the model's window."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.agent.results import budget, lines_of
from hermes.ports.tool import ToolContext, ToolOutput
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from rig import Rig, say
from tools_for_tests import Probe

pytestmark = pytest.mark.anyio


async def results(rig: Rig, sizes: dict[str, int], window: int | None) -> list[str]:
    """What the model reads of one step with a result of each size."""
    for name, size in sizes.items():
        rig.tools[name] = Probe(name, body=lambda _, size=size: "x" * size)
    rig.route["window"] = window
    calls = replies.calls(*((name, {}) for name in sizes))
    with ScriptedModel([calls, "ok"]) as model:
        async with rig.session(model) as session:
            await say(session, "go")
    return [
        message["content"] for message in model.requests[1].messages if message["role"] == "tool"
    ]


async def test_a_small_window_gets_smaller_results(rig: Rig) -> None:
    [content] = await results(rig, {"big": 9_000}, 10_000)
    assert content.startswith("<persisted-output>")
    [content] = await results(rig, {"big": 9_000}, 100_000)
    assert json.loads(content) == {"output": "x" * 9_000}


async def test_of_a_step_the_largest_results_go_to_files_until_the_rest_fits(rig: Rig) -> None:
    small, middle, big = await results(
        rig, {"small": 50_000, "middle": 80_000, "big": 90_000}, None
    )
    assert min(len(small), len(middle)) >= 50_000
    assert big.startswith("<persisted-output>")


async def test_a_file_of_a_result_can_be_read_by_lines(rig: Rig) -> None:
    text = "".join(f"line {i}\n" for i in range(5_000))
    rig.tools["big"] = Probe("big", body=lambda _: text, result_chars=1_000)
    with ScriptedModel([replies.calls(("big", {})), "ok"]) as model:
        async with rig.session(model) as session:
            await say(session, "go")
    [kept] = [path for path in (rig.folder / "blobs").rglob("*") if path.is_file()]
    assert str(kept) in model.requests[1].messages[-1]["content"]
    lines = Path(kept).read_text(encoding="utf-8").splitlines()
    assert lines[2_001] == "line 2000"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_every_text_of_a_result_is_in_its_file(value: object) -> None:
    def texts(item: object) -> list[str]:
        match item:
            case str():
                return [item]
            case dict():
                return [text for each in item.values() for text in texts(each)]
            case list():
                return [text for each in item for text in texts(each)]
        return []

    shown = lines_of(json.dumps(value))
    assert all(text in shown for text in texts(value))


@given(st.integers(min_value=1, max_value=2_000_000))
def test_a_larger_window_never_gets_less(window: int) -> None:
    smaller, larger = budget(window), budget(window + 1_000)
    assert smaller.result <= larger.result <= 100_000
    assert smaller.result < smaller.step <= larger.step <= 200_000


class _Caller(Probe):
    """Calls `big` and notes what comes back."""

    async def run(self, arguments: Any, context: ToolContext) -> ToolOutput:
        self.log.append(await context.call_tool("big", {"x": "\ud800"}))
        return ToolOutput(content="{}")


async def test_what_a_call_gets_of_its_own_calls_is_whole(rig: Rig) -> None:
    rig.tools["big"] = Probe("big", body=lambda _: "x" * 30_000)
    caller = rig.tools["caller"] = _Caller("caller")
    rig.route["window"] = 10_000
    with ScriptedModel([replies.calls(("caller", {})), "ok"]) as model:
        async with rig.session(model) as session:
            assert (await say(session, "go")).why == "finished"
    assert caller.log == [json.dumps({"output": "x" * 30_000})]
