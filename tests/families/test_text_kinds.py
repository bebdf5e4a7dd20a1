"""Text that no encoder likes, at every sink: fault family encoding."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from family_parts import file_tools, terminal_tool

from hermes.core.people import OWNER
from hermes.ports.tool import ToolOutput
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from program import HERMES, Program
from rig import CLI, Rig, say
from tools_for_tests import Probe

pytestmark = pytest.mark.anyio

ODD = "a\ud800b\udfffc\udc80d\x00e"
PLAIN = "a\ufffdb\ufffdc\ufffdd\x00e"


async def test_odd_text_passes_every_sink_of_the_loop_and_the_session_opens_again(rig: Rig) -> None:
    rig.tools["probe"] = Probe("probe", body=_odd)
    rig.tools["broken"] = Probe("broken", body=_raise)
    arguments = '{"x": "\\ud800 \\u0000 \\udfff"}'
    odd = replies.raw_events(
        [
            replies.chunk({"reasoning_content": "\ud83d"}),
            replies.chunk({"content": "half \ud83d"}),
            replies.chunk({"content": "\ude00 and \udc00"}, "stop"),
        ]
    )
    script = [replies.calls(("probe", arguments), ("broken", {}), ("pro\udc80be", {})), odd, "on"]
    with ScriptedModel(script) as model:
        async with rig.session(model) as session:
            ended = await say(session, f"hi {ODD}")
        async with rig.session(model, session.id) as again:
            assert (await say(again, "more")).text == "on"
    assert ended.text == "half \U0001f600 and \ufffd"
    assert model.requests[0].messages[-1]["content"] == f"hi {PLAIN}"
    assert json.loads(model.requests[1].messages[3]["content"]) == {"output": PLAIN}
    for entry in await rig.entries(session.id):
        str(entry).encode()
    async with rig.store() as store:
        row = await store.find(OWNER, session.id)
        await store.rename(session.id, ODD)
        titled = await store.find(OWNER, session.id)
    row.preview.encode()
    titled.title.encode()


def _odd(_: object) -> ToolOutput:
    return ToolOutput(content=json.dumps({"output": ODD}, ensure_ascii=False))


def _raise(_: object) -> str:
    raise RuntimeError(ODD)


@pytest.mark.parametrize("where", ["name", "model", "cwd"])
async def test_odd_names_are_sent_and_stored_clean(rig: Rig, where: str) -> None:
    folder = rig.folder / "caf\udce9"
    os.mkdir(os.fsencode(folder))
    if where == "model":
        rig.route = {"model": "m\udc80", "name": "custom/m\udc80"}
    with ScriptedModel(["ok", "on"]) as model:
        async with rig.host(model.base_url) as host:
            cwd = str(folder) if where == "cwd" else "/"
            async with host.open(None, CLI, cwd=cwd) as session:
                assert (await say(session, "hi")).text == "ok"
            async with host.open(session.id, CLI, cwd=cwd) as again:
                assert (await say(again, "on")).text == "on"
    async with rig.store() as store:
        row = await store.find(OWNER, session.id)
    (row.cwd + row.model).encode()


async def test_a_file_is_text_whatever_its_first_block_cuts(rig: Rig) -> None:
    file_tools(rig)
    for shift in range(4):
        (rig.folder / f"{shift}.md").write_bytes(b"x" * (8192 - shift) + "é漢😀\n".encode() * 9)
    wanted = [("read_file", {"path": f"{shift}.md"}) for shift in range(4)]
    with ScriptedModel([replies.calls(*wanted), "ok"]) as model:
        async with rig.session(model) as session:
            await say(session, "read")
    for message in model.requests[1].messages[3:7]:
        keys = json.loads(message["content"])
        assert keys["is_binary"] is False, keys
        assert "é漢😀" in keys["content"]


@pytest.mark.parametrize(
    "data",
    ["中文,表\n".encode("gb18030"), "hi\n".encode("utf-16"), b"\xff\xfe\x00\x01", b"ok \xff\n"],
    ids=["gb18030", "utf-16", "bytes", "one bad byte"],
)
async def test_a_file_of_another_encoding_ends_nothing(rig: Rig, data: bytes) -> None:
    file_tools(rig)
    (rig.folder / "odd.csv").write_bytes(data)
    with ScriptedModel([replies.calls(("read_file", {"path": "odd.csv"})), "ok"]) as model:
        async with rig.session(model) as session:
            assert (await say(session, "read")).text == "ok"
    keys = json.loads(model.requests[1].messages[3]["content"])
    assert keys["is_binary"] or keys["content"]


async def test_the_output_of_a_command_in_another_encoding_is_a_result(rig: Rig) -> None:
    command = r"printf '\xd6\xd0\xce\xc4 \xed\xa0\x80 a\0b'"
    async with terminal_tool(rig):
        with ScriptedModel([replies.calls(("terminal", {"command": command})), "ok"]) as model:
            async with rig.session(model) as session:
                assert (await say(session, "run")).text == "ok"
    keys = json.loads(model.requests[1].messages[3]["content"])
    assert keys["exit_code"] == 0
    assert keys["output"].endswith("a\0b")


def test_bytes_that_are_no_text_reach_the_program_from_everywhere(program: Program) -> None:
    program.cwd = Path(os.fsdecode(os.fsencode(program.cwd) + b"/caf\xe9"))
    os.mkdir(os.fsencode(program.cwd))
    odd = replies.text("fine \ud83d, caf\udce9")
    with ScriptedModel([odd, "two"]) as model:
        program.configure(model.base_url)
        (program.home / "SOUL.md").write_text("Be brief. 简短。\x00", encoding="utf-8")
        run = subprocess.run(
            [os.fsencode(HERMES), b"-z", b"what is caf\xe9?"],
            input=b"piped \xff\xfe\x00 bytes",
            env=program.environment(),
            cwd=program.cwd,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (run.returncode, run.stderr) == (0, b"")
        assert run.stdout.decode() == "fine \ufffd, caf\ufffd\n"
        listed = program.run("sessions", "list", "--json")
        (row,) = json.loads(listed.stdout)
        assert program.run("sessions", "rename", row["id"], "t\udce9itle").returncode == 0
        shown = program.run("sessions", "show", row["id"])
        assert shown.returncode == 0
        assert "what is caf\ufffd?" in shown.stdout.decode()
        assert program.run("--resume", row["id"], "-z", "on").stdout == b"two\n"
    said = model.requests[0].messages[-1]["content"]
    assert said.startswith("what is caf\ufffd?")
    for log in (program.home / "logs").rglob("*.log"):
        log.read_text(encoding="utf-8")


@pytest.mark.parametrize("locale", ["C", "POSIX", "zh_CN.GBK"])
def test_own_files_are_utf8_under_every_locale(program: Program, locale: str) -> None:
    program.env = {"LANG": locale, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with ScriptedModel(["hello"]) as model:
        program.configure(model.base_url, "# 注释 😀\n")
        (program.home / "SOUL.md").write_text("Sei höflich “so”. 😀", encoding="utf-8")
        run = program.run("-z", "hi")
    assert run.returncode == 0
    assert "höflich “so”. 😀" in model.requests[0].messages[0]["content"]


@pytest.mark.parametrize("data", ["name: x\n".encode("utf-16"), b"a\xff\xfe", b"\x00\x01"])
def test_a_soul_that_is_no_utf8_is_named_and_nothing_breaks(program: Program, data: bytes) -> None:
    with ScriptedModel(["ok"]) as model:
        program.configure(model.base_url)
        (program.home / "SOUL.md").write_bytes(data)
        run = program.run("-z", "hi")
    if run.returncode:
        assert b"SOUL.md" in run.stderr
        assert run.stderr.count(b"\n") == 1
        assert b"Traceback" not in run.stderr


def test_direct_calls_take_odd_text(program: Program) -> None:
    program.configure("http://127.0.0.1:9/v1")
    lines = [
        {"tool": "read_file", "args": {"path": "\ud800"}},
        {"tool": "write_file", "args": {"path": "a\udc80", "content": "x\ud800y"}},
        {"tool": "read_file", "args": {"path": "a\u0000b"}},
        {"tool": "no\udfff", "args": {}},
        {"tool": "terminal", "args": {"command": "printf '%s' '\udcff'"}},
        {"tool": "read_file", "args": {"path": 10**30, "offset": -(10**30)}},
    ]
    stdin = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    run = program.run("tools", "call", "--jsonl", "--approve", "all", stdin=stdin)
    assert run.returncode == 0, run.stderr
    answers = [json.loads(line) for line in run.stdout.decode().splitlines()]
    assert len(answers) == len(lines)
    assert "half a character" in answers[1]["error"]
    assert "broke" not in run.stdout.decode()
    assert "There is no tool" in answers[3]["error"]
