"""Results that are long: fault family payload."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from family_parts import file_tools, terminal_tool

from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import Request, ScriptedModel
from rig import Rig, say

pytestmark = pytest.mark.anyio

TERMINAL = 'for i in {0..4999}; do echo "line $i of the long output"; done'
CODE = "for i in range(5000): print(f'line {i} of the long output')"


async def then_read(rig: Rig, call: tuple[str, dict[str, Any]], offset: int) -> tuple[str, str]:
    """The result of a call as the model gets it, and of reading on in the file that it names."""

    def script(request: Request) -> replies.Reply | str:
        if len(request.messages) < 3:
            return replies.calls(call)
        if len(model.requests) == 2:
            named = re.findall(r"/[\w./-]+", request.messages[-1]["content"])
            path = next(each for each in named if Path(each).is_file())
            return replies.calls(("read_file", {"path": path, "offset": offset, "limit": 3}))
        return "ok"

    async with terminal_tool(rig):
        file_tools(rig)
        with ScriptedModel(script) as model:
            async with rig.session(model) as session:
                await say(session, "go")
    first, second = (m["content"] for m in model.requests[-1].messages if m["role"] == "tool")
    return first, second


@pytest.mark.parametrize(
    "call",
    [("terminal", {"command": TERMINAL}), ("execute_code", {"code": CODE})],
    ids=["terminal", "execute_code"],
)
async def test_a_long_output_keeps_its_ends_and_is_read_on_by_its_lines(
    rig: Rig, call: tuple[str, dict[str, Any]]
) -> None:
    result, page = await then_read(rig, call, 2_001)
    assert len(result) < 60_000
    assert "line 0 of" in result
    assert "line 4999 of" in result
    shown = json.loads(page)["content"].splitlines()
    assert [line.partition("|")[2] for line in shown[:3]] == [
        f"line {i} of the long output" for i in (2_000, 2_001, 2_002)
    ]


async def test_one_line_of_a_hundred_thousand_characters_is_bounded(rig: Rig) -> None:
    call = ("terminal", {"command": "printf 'x%.0s' {1..100000}"})
    result, page = await then_read(rig, call, 1)
    assert len(result) < 60_000
    assert "xxx" in json.loads(page)["content"]


@pytest.mark.parametrize("characters", [1_000, 2_000, 20_000])
async def test_what_is_not_long_is_there_whole(rig: Rig, characters: int) -> None:
    calls = replies.calls(
        ("terminal", {"command": f"printf 'y%.0s' {{1..{characters}}}"}),
        ("execute_code", {"code": f"print('y' * {characters}, end='')"}),
    )
    async with terminal_tool(rig):
        with ScriptedModel([calls, "ok"]) as model:
            async with rig.session(model) as session:
                await say(session, "go")
    results = [m["content"] for m in model.requests[1].messages if m["role"] == "tool"]
    assert [json.loads(each)["output"] for each in results] == ["y" * characters] * 2
