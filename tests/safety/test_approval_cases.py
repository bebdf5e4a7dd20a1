"""What the reference did with the same call in the same mode (`cases/approvals.jsonl`).

Where nobody can be asked the reference runs what is flagged; here that is refused, and so is a
script. Files that instruct agents are a question there too. A rule that forbids a command holds
for a script that names it.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from approval_rig import Session, guarded
from hermes.core.inputs import Answer
from hermes.core.people import Origin
from hermes.ports.tool import ToolOutput, ToolSpec
from rig import PERSON, Rig
from tools_for_tests import Probe

pytestmark = pytest.mark.anyio

ROWS: Final = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "cases" / "approvals.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
RAN: Final = {"status": "success", "exit_code": 0, "tool_calls_made": 0, "duration_seconds": 0}

FLAGGED_RUNS: Final = ("appr_manual_plain_0", "appr_manual_plain_1")
"""Nobody is there, and the reference runs it all the same."""

ASKS_ABOUT_SCRIPTS: Final = ("appr_manual_ask_1", "appr_allow_ask_1")
"""A script is watched by the sandbox and by its own calls here, once a person is there."""


def script_tool() -> Probe:
    """`execute_code` without a kernel."""
    probe = Probe(
        "execute_code", effects="world", body=lambda _: ToolOutput(content=json.dumps(RAN))
    )
    denied = {"status": "error", "tool_calls_made": 0, "duration_seconds": 0}
    spec = probe.spec
    probe.spec = ToolSpec(schema=spec.schema, toolset="code", effects="world", denied=denied)
    return probe


def mode(id: str) -> tuple[Origin, dict[str, Any]]:
    """Who is there, and what the owner has set, in a row's context."""
    name = id.rpartition("_")[0].removeprefix("appr_")
    surface = {"single_query": "oneshot", "cron": "cron", "manual_plain": "api"}.get(name)
    origin = Origin(surface=surface) if surface else PERSON
    settings: dict[str, dict[str, Any]] = {
        "yolo_ask": {"off": True},
        "off_ask": {"off": True},
        "deny_yolo": {"off": True, "denied": ["*mkdir*"]},
    }
    return origin, settings.get(name, {})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
async def test_a_call_is_let_through_as_by_the_reference(rig: Rig, row: dict[str, Any]) -> None:
    origin, approvals = mode(row["id"])
    if row["id"].startswith("appr_allow_ask"):
        made = rig.classifier().classify("rm -r q1", cwd=str(rig.folder))
        approvals = {"allowed": list(made.families)}
    rig.tools["execute_code"] = script_tool()
    arguments = {k: v.replace("{R}", "AGENTS.md") for k, v in row["args"].items()}
    session = Session(guarded(rig, **approvals), origin=origin)
    no = [lambda question: Answer(question=question.id, choice="no")]
    (result,) = await session.run([(row["tool"], arguments)], answers=no)
    observed = row["observed"]["values"]
    if row["id"] in FLAGGED_RUNS:
        assert "nobody is there" in result["error"]
        return
    if row["id"] in ASKS_ABOUT_SCRIPTS:
        assert result == RAN
        return
    if observed.get("status") == "pending_approval":
        # There the call ends and is made again; here it waits for the answer.
        assert len(session.asked) == 1
        assert result["status"] == "blocked"
        return
    assert bool(result.get("error")) is observed["has_error"]
    for key in ("status", "exit_code"):
        assert result.get(key) == observed.get(key)
