"""kill -9 at every write of the journal: nothing is lost, doubled or re-run, and the next request
is one that the strictest server takes."""

import subprocess
import sys
from pathlib import Path

import pytest

from crash_child import effect
from hermes.core.content import visible
from hermes.core.entries import AssistantEntry, ToolBatchEntry, UserEntry
from hermes.core.events import TurnEnded
from hermes.core.people import OWNER
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from rig import Rig, say
from tools_for_tests import Probe

pytestmark = pytest.mark.anyio

CHILD = Path(__file__).parent.parent / "support" / "crash_child.py"
BATCH = replies.calls(("effect", {"x": "1"}), ("look", {}), ("effect", {"x": "2"}))
WRITES = 10
"""Journal writes of the turn below: enqueue, user, assistant, twice started and settled, batch,
assistant, and one more that never comes."""
UNHEARD = ((1, "after"), (2, "before"))
"""Where the message is acknowledged and the turn has not begun."""


def crash(rig: Rig, model: ScriptedModel, write: int, when: str) -> int:
    arguments = [str(rig.folder), model.base_url, str(write), when]
    path = [str(CHILD.parent), str(CHILD.parent.parent)]
    run = subprocess.run(
        [sys.executable, str(CHILD), *arguments],
        env={"PYTHONPATH": ":".join(path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert run.returncode in (0, -9), run.stderr.decode()
    return run.returncode


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("write", range(1, WRITES + 1))
async def test_a_killed_turn_is_found_whole_and_goes_on(rig: Rig, write: int, when: str) -> None:
    with ScriptedModel([BATCH, "done"]) as model:
        killed = crash(rig, model, write, when) == -9
    assert killed is (write < WRITES)
    async with rig.store() as store:
        rows = await store.list(OWNER)
    if (write, when) == (1, "before"):
        # Killed before a word was saved: the input was never acknowledged.
        assert rows == ()
        return
    if (write, when) in UNHEARD:
        return
    id = rows[0].id
    rig.tools = {"effect": effect(rig.folder), "look": Probe("look")}
    with ScriptedModel(["as I said"]) as model:
        async with rig.session(model, id) as session:
            ended = await say(session, "what happened?")
    assert (ended.why, ended.text) == ("finished", "as I said")
    entries = await rig.entries(id)
    said = [visible(e.content) for e in entries if isinstance(e, UserEntry)]
    assert said == ["go", "what happened?"]
    effects = rig.folder / "effects"
    ran = effects.read_text(encoding="utf-8").split() if effects.exists() else []
    assert ran in ([], ["1"], ["1", "2"])
    for batch in (e for e in entries if isinstance(e, ToolBatchEntry)):
        outcomes = {r.call: r.outcome for r in batch.results}
        calls = next(e.calls for e in entries if isinstance(e, AssistantEntry) and e.calls)
        for call in calls:
            if call.tool == "effect" and outcomes[call.id] == "ok":
                assert call.arguments[-3] in ran


@pytest.mark.parametrize(("write", "when"), UNHEARD)
async def test_a_message_that_was_acknowledged_is_answered_after_a_crash(
    rig: Rig, write: int, when: str
) -> None:
    with ScriptedModel([]) as model:
        assert crash(rig, model, write, when) == -9
    async with rig.store() as store:
        (row,) = await store.list(OWNER)
    with ScriptedModel(["late, but here", "and now"]) as model:
        async with rig.session(model, row.id) as session, session.events() as events:
            async for event in events:
                if isinstance(event, TurnEnded):
                    assert event.text == "late, but here"
                    break
            assert (await say(session, "still there?")).text == "and now"
