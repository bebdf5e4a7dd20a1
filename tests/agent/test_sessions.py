"""Sessions over time: resumed, shared, switched, crashed, many."""

import subprocess
import sys
from pathlib import Path

import pytest

from hermes.core.content import visible
from hermes.core.entries import AssistantEntry
from hermes.core.errors import SessionBusy, UserError
from hermes.core.ids import SessionId
from hermes.core.people import OWNER
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from rig import Rig, say
from tools_for_tests import Probe

pytestmark = pytest.mark.anyio

SOAK = Path(__file__).parent.parent / "support" / "soak_child.py"


async def test_a_resumed_session_sends_the_very_bytes_it_sent_before(rig: Rig) -> None:
    rig.tools["probe"] = Probe("probe")
    with ScriptedModel([replies.calls(("probe", {"x": "é"})), "one", "two"]) as model:
        async with rig.session(model) as session:
            await say(session, "first")
        (rig.folder / "SOUL.md").write_text("You are somebody else now.", encoding="utf-8")
        async with rig.session(model, session.id) as again:
            assert (await say(again, "second")).text == "two"
    first, last = model.requests[1].body, model.requests[2].body
    assert last.startswith(first.removesuffix(b"]}"))


async def test_a_session_that_is_open_elsewhere_is_refused_and_named(rig: Rig) -> None:
    with ScriptedModel(["one"]) as model:
        async with rig.session(model) as session:
            await say(session, "hi")
            with pytest.raises(SessionBusy) as busy:
                async with rig.session(model, session.id):
                    pass
            assert str(busy.value.hint or busy.value.message)
        async with rig.session(model, session.id):
            pass


async def test_a_session_that_does_not_exist_is_a_plain_error(rig: Rig) -> None:
    with ScriptedModel([]) as model, pytest.raises(UserError):
        async with rig.session(model, SessionId("20260101_000000_abcdef")):
            pass


async def test_a_switch_of_the_model_opens_an_epoch_and_keeps_the_conversation(rig: Rig) -> None:
    with ScriptedModel(["one", "two"], check_prefix=False) as model:
        async with rig.session(model) as session:
            await say(session, "first")
        rig.route = {"name": "custom/other", "model": "other"}
        async with rig.session(model, session.id) as again:
            await say(again, "second")
    assert model.requests[1].json["model"] == "other"
    said = [m["content"] for m in model.requests[1].messages[1:]]
    assert said == ["first", "one", "second"]
    models = [e.model for e in await rig.entries(session.id) if isinstance(e, AssistantEntry)]
    assert models == ["custom/scripted", "custom/other"]


async def test_a_session_without_a_word_leaves_no_trace_in_the_list(rig: Rig) -> None:
    with ScriptedModel([]) as model:
        async with rig.session(model):
            pass
    async with rig.store() as store:
        assert await store.list(OWNER) == ()


async def test_two_surfaces_see_the_same_session(rig: Rig) -> None:
    with ScriptedModel(["hello"]) as model:
        async with rig.session(model) as session:
            await say(session, "hi")
            async with session.events(after=0) as events:  # type: ignore[arg-type]
                replayed = []
                async for event in events:
                    replayed.append(event)
                    if len(replayed) == 2:
                        break
    texts = [visible(e.entry.content) for e in replayed]  # type: ignore[union-attr]
    assert texts == ["hi", "hello"]


def test_a_thousand_turns_in_one_process_leave_its_memory_flat(tmp_path: Path) -> None:
    support = SOAK.parent
    with ScriptedModel(lambda _: "ok", check_prefix=False) as model:
        run = subprocess.run(
            [sys.executable, str(SOAK), str(tmp_path), model.base_url],
            env={"PYTHONPATH": f"{support}:{support.parent}", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            timeout=110,
            check=False,
        )
    assert run.returncode == 0, run.stderr.decode()
    early, late = (int(kilobytes) for kilobytes in run.stdout.split())
    assert late - early < 4_000
