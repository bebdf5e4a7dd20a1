"""What a turn uses, how long it may go on, and how large it may grow: fault families cost, loops
and growth."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest
from family_parts import file_tools, terminal_tool

from hermes.agent.limits import Limits
from hermes.core.people import OWNER
from hermes.core.usage import Price
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from program import Program
from rig import Rig, say
from tools_for_tests import Probe, failing

pytestmark = pytest.mark.anyio

USAGE: dict[str, Any] = {
    "prompt_tokens": 10_000,
    "completion_tokens": 50,
    "prompt_tokens_details": {"cached_tokens": 9_000, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 20},
    "cost_details": {"upstream": 0.25},
}


def booked(rig: Rig, columns: str) -> list[tuple[Any, ...]]:
    """The meter's records, in the order of the calls."""
    with apsw.Connection(str(rig.folder / "hermes.db"), flags=apsw.SQLITE_OPEN_READONLY) as db:
        return db.execute(f"SELECT {columns} FROM usage ORDER BY rowid").fetchall()


async def test_the_meter_keeps_every_call_whole_and_the_sums_agree(rig: Rig) -> None:
    rig.route = {"price": Price(input=1.0, output=10.0, cached=0.1)}
    rig.limits = Limits(attempts=2, steps=2)
    rig.tools["look"] = Probe("look")
    script = [
        replies.text("", usage=USAGE),
        replies.text("one ", finish="length", usage=USAGE),
        replies.calls(("look", {"x": "1"}), usage=USAGE),
        replies.calls(("look", {"x": "2"}), usage=USAGE),
        replies.text("next", usage=USAGE),
    ]
    with ScriptedModel(script) as model:
        async with rig.session(model) as session:
            first = await say(session, "a")
            second = await say(session, "b")
    records = booked(rig, "input, output, cached, thinking, cost_usd, task, raw")
    assert len(records) == len(model.requests) == 5
    cost = (1_000 * 1.0 + 9_000 * 0.1 + 50 * 10.0) / 1e6
    for record in records:
        assert record[:4] == (10_000, 50, 9_000, 20)
        assert record[4] == pytest.approx(cost)
        assert record[5] == "turn"
        assert json.loads(record[6]) == USAGE
    used = first.usage + second.usage
    assert (used.input, used.output, used.cached, used.thinking) == (50_000, 250, 45_000, 100)
    async with rig.store() as store:
        row = await store.find(OWNER, session.id)
        spent = await store.spent(OWNER, session=session.id)
    assert (row.input_tokens, row.output_tokens) == (50_000, 250)
    assert row.cost_usd == pytest.approx(5 * cost)
    assert spent == pytest.approx(5 * cost)


@pytest.mark.parametrize(
    ("usage", "wanted"),
    [
        (USAGE, (10_000, 9_000, 0)),
        ({"prompt_tokens": 10_000, "prompt_cache_hit_tokens": 9_000}, (10_000, 9_000, 0)),
        ({"input_tokens": 1_000, "cache_read_input_tokens": 9_000}, (10_000, 9_000, 0)),
        ({"input_tokens": 9_500, "cache_read_input_tokens": 500}, (10_000, 500, 0)),
        ({"input_tokens": 500, "cache_creation_input_tokens": 9_500}, (10_000, 0, 9_500)),
        (
            {"input_tokens": 10_000, "input_tokens_details": {"cached_tokens": 9_000}},
            (10_000, 9_000, 0),
        ),
        (
            {"prompt_tokens": 10_000, "cache_read_input_tokens": 9_000},
            (10_000, 9_000, 0),
        ),
    ],
)
async def test_the_input_counts_cached_tokens_once_in_every_form(
    rig: Rig, usage: dict[str, Any], wanted: tuple[int, int, int]
) -> None:
    with ScriptedModel([replies.text("Hi", usage=usage)]) as model:
        async with rig.session(model) as session:
            ended = await say(session, "hi")
    used = ended.usage
    assert (used.input, used.cached, used.cache_write) == wanted


async def test_a_usage_that_comes_in_two_parts_is_put_together(rig: Rig) -> None:
    first = {"prompt_tokens": 10_000, "prompt_tokens_details": {"cached_tokens": 9_000}}
    last = {"prompt_tokens": None, "completion_tokens": 50}
    events = [
        replies.chunk({"content": "Hi"}, usage=first),
        replies.chunk({}, "stop", usage=last),
    ]
    with ScriptedModel([replies.raw_events(events)]) as model:
        async with rig.session(model) as session:
            used = (await say(session, "hi")).usage
    assert (used.input, used.cached, used.output) == (10_000, 9_000, 50)


@pytest.mark.parametrize(
    ("usage", "price"),
    [({}, Price(input=1.0, output=1.0)), (USAGE, None), ({"cost": 1e400}, None)],
    ids=["no usage", "no price", "no finite cost"],
)
async def test_an_unknown_cost_stays_unknown(
    rig: Rig, usage: dict[str, Any], price: Price | None
) -> None:
    rig.route = {"price": price}
    known = replies.text("Hi", usage={"prompt_tokens": 1, "cost": 0.5})
    with ScriptedModel([known, replies.text("Hi", usage=usage)]) as model:
        async with rig.session(model) as session:
            assert (await say(session, "a")).usage.cost_usd == 0.5
            assert (await say(session, "b")).usage.cost_usd is None
    async with rig.store() as store:
        assert (await store.find(OWNER, session.id)).cost_usd is None


def test_what_the_program_shows_tells_cached_from_fresh_and_unknown_from_nothing(
    program: Program, tmp_path: Path
) -> None:
    file = tmp_path / "usage.json"
    with ScriptedModel([replies.text("Hi", usage=USAGE)]) as model:
        program.configure(model.base_url)
        assert program.run("-z", "hi", "--usage-file", str(file)).returncode == 0
        keys = json.loads(file.read_bytes())
        listed = json.loads(program.run("sessions", "list", "--json").stdout)
        shown = program.run("sessions", "show", listed[0]["id"]).stdout.decode()
    assert (keys["input_tokens"], keys["cache_read_tokens"]) == (10_000, 9_000)
    assert keys["estimated_cost_usd"] is None
    assert listed[0]["cost_usd"] is None
    assert "$" not in shown


def test_a_one_line_question_in_a_new_home_is_a_small_request(program: Program) -> None:
    with ScriptedModel(["hello"]) as model:
        program.configure(model.base_url)
        program.run("-z", "hi")
    # Four bytes a token; the budget is 3,000 tokens.
    assert len(model.requests[0].body) < 12_000


@pytest.mark.parametrize(
    ("tool", "arguments", "most"),
    [
        ("missing", lambda n: {"x": "nope"}, 5),
        ("missing", lambda n: {"x": f"nope {n}"}, 8),
        ("server", lambda n: {"x": f"order {n}"}, 8),
        ("look", lambda n: {"x": "same"}, 5),
        ("look", lambda n: '{"x": "same"', 5),
        ("nothing", lambda n: {"x": f"{n}"}, 8),
        ("grep", lambda n: {"x": "same"}, 10),
    ],
    ids=[
        "failing",
        "failing in variants",
        "http 422",
        "looking",
        "malformed",
        "unknown",
        "running",
    ],
)
async def test_the_same_step_again_and_again_is_told_and_then_ended(
    rig: Rig, tool: str, arguments: Any, most: int
) -> None:
    rig.tools = {
        "missing": failing("missing", "no such file"),
        "server": failing("server", "HTTP 422: unprocessable"),
        "look": Probe("look"),
        "grep": Probe("grep", effects="world", body=lambda _: "a.py:1: match"),
    }
    with ScriptedModel(lambda r: replies.calls((tool, arguments(r.number)))) as model:
        async with rig.session(model) as session:
            ended = await say(session, "go")
    assert (ended.why, len(model.requests)) == ("loop", most)
    assert tool in ended.text


async def test_steps_that_go_in_a_circle_are_ended(rig: Rig) -> None:
    rig.tools = {
        "go": Probe("go", effects="world"),
        "look": Probe("look"),
        "bad": failing("bad", "not there"),
    }
    circle = [("go", {"x": "left"}), ("go", {"x": "right"}), ("look", {}), ("bad", {})]
    with ScriptedModel(lambda r: replies.calls(circle[r.number % 4])) as model:
        async with rig.session(model) as session:
            ended = await say(session, "go")
    assert ended.why == "loop"
    assert len(model.requests) <= 4 * 5 + 3


async def test_one_reply_that_fails_many_times_is_no_loop(rig: Rig) -> None:
    rig.tools["bad"] = failing("bad", "not there")
    batch = replies.calls(*(("bad", {"x": str(n % 6)}) for n in range(20)))
    with ScriptedModel([batch, "I see"]) as model:
        async with rig.session(model) as session:
            assert (await say(session, "go")).text == "I see"


async def test_work_that_makes_progress_is_not_taken_for_a_loop(rig: Rig) -> None:
    outputs = iter([f"line {n // 2}" for n in range(40)])
    rig.tools = {
        "run": Probe("run", effects="world", body=lambda _: next(outputs)),
        "test": failing("test", "1 failed"),
        "edit": Probe("edit", effects="writes", body=lambda a: a["x"]),
    }
    script = [replies.calls(("run", {"x": "poll"}))] * 20
    for n in range(12):
        script += [replies.calls(("test", {})), replies.calls(("edit", {"x": str(n)}))]
    with ScriptedModel([*script, "done"]) as model:
        async with rig.session(model) as session:
            ended = await say(session, "go")
    assert (ended.why, ended.text) == ("finished", "done")


async def test_a_shell_command_that_is_repeated_is_ended_with_its_result(rig: Rig) -> None:
    async with terminal_tool(rig):
        with ScriptedModel(
            lambda _: replies.calls(("terminal", {"command": "echo found nothing new"}))
        ) as model:
            async with rig.session(model) as session:
                ended = await say(session, "go")
    assert ended.why == "loop"
    assert "found nothing new" in ended.text
    told = model.requests[3].messages[-1]
    assert told["role"] == "user"
    assert "Do something different" in told["content"]


async def test_a_turn_that_uses_up_its_steps_says_so(rig: Rig) -> None:
    rig.limits = Limits(attempts=1, steps=3)
    rig.tools["look"] = Probe("look")
    with ScriptedModel(lambda r: replies.calls(("look", {"x": str(r.number)}))) as model:
        async with rig.session(model) as session:
            ended = await say(session, "go")
    assert ended.why == "steps"
    assert "3 steps" in ended.text
    assert len(model.requests) == 4


async def test_a_tool_that_cannot_say_what_it_does_is_run_all_the_same(rig: Rig) -> None:
    class Mute(Probe):
        def summary(self, arguments: Any) -> str:
            raise TypeError("no words")

    rig.tools["mute"] = Mute("mute", effects="world")
    with ScriptedModel([replies.calls(("mute", {"x": "1"})), "ok"]) as model:
        async with rig.session(model) as session:
            assert (await say(session, "go")).text == "ok"


async def test_whatever_a_model_sends_a_tool_answers_in_words(rig: Rig) -> None:
    file_tools(rig)
    odd: list[Any] = [None, 5, 5.5, True, [], {}, "", "a\0b", "x" * 5000, ["a"], -1, 10**30]
    batch = [("read_file", {"path": value}) for value in odd]
    batch += [("read_file", {"path": "a", "offset": value, "limit": value}) for value in odd]
    batch += [("write_file", {"path": value, "content": "x"}) for value in odd]
    batch += [("write_file", {"path": f"f{n}", "content": v}) for n, v in enumerate(odd)]
    with ScriptedModel([replies.calls(*batch), "ok"]) as model:
        async with rig.session(model) as session:
            await say(session, "go")
    results = [m["content"] for m in model.requests[1].messages if m["role"] == "tool"]
    assert len(results) == len(batch)
    for result in results:
        assert "broke" not in result
        json.loads(result)


def grown(kind: str, folder: Path, model: ScriptedModel) -> int:
    """Kilobytes by which a child process grew between its two marks."""
    here = Path(__file__).parent
    places = (here, here.parent, here.parent / "support")
    run = subprocess.run(
        [sys.executable, str(here / "growth_child.py"), kind, str(folder), model.base_url],
        env={"PYTHONPATH": ":".join(map(str, places)), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr.decode()
    early, late = (int(kilobytes) for kilobytes in run.stdout.split())
    return late - early


def test_sixty_large_results_leave_the_memory_flat(tmp_path: Path) -> None:
    def script(request: Any) -> replies.Reply | str:
        return replies.calls(("big", {"x": str(request.number)})) if request.number <= 60 else "ok"

    with ScriptedModel(script) as model:
        assert grown("calls", tmp_path, model) < 8_000


def test_long_sessions_are_forgotten_once_they_are_closed(tmp_path: Path) -> None:
    with ScriptedModel(lambda _: "ok", check_prefix=False) as model:
        # One of eleven sessions that is not forgotten is 5,000 kB, all of them 55,000.
        assert grown("sessions", tmp_path, model) < 20_000


def test_a_file_of_a_gigabyte_is_read_in_little_memory(tmp_path: Path) -> None:
    script = [
        replies.calls(("read_file", {"path": "short.txt"})),
        "ok",
        replies.calls(("read_file", {"path": "long.txt"})),
        "ok",
    ]
    with ScriptedModel(script) as model:
        assert grown("reading", tmp_path, model) < 12_000
