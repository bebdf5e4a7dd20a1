"""Programs that the agent runs, and what they share with its other tools: fault families exec,
fs-views, backend-drift, redaction, and the parts of gate-gap, gate-rules, guard-fp and cmd-hang
that concern programs."""

import json
import os
import select
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from family_parts import file_tools, terminal_tool

from hermes.core.clock import SystemClock
from hermes.core.errors import ToolError
from hermes.core.ids import SessionId
from hermes.safety.commands.classify import Classifier
from hermes.safety.paths import PathPolicy
from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from hermes.system.config.sections import CodeExecutionSection, LspSection
from hermes.system.config.settings import Settings
from hermes.system.process import Reaper
from hermes.terminals.environment import child_environment
from hermes.terminals.local import LocalTerminal
from hermes.terminals.shell_files.files import ShellFiles, home_there
from hermes.tools.files.checks.checker import Checker
from hermes.tools.files.path_locks import PathLocks
from hermes.tools.files.workspace import Workspace
from hermes.tools.files.write import WriteFile
from program import HERMES, Program
from rig import PERSON, Rig, say

pytestmark = pytest.mark.anyio

Call = tuple[str, dict[str, Any]]


def run(command: str, **options: Any) -> Call:
    return ("terminal", {"command": command, **options})


def code(*lines: str) -> Call:
    return ("execute_code", {"code": "\n".join(lines)})


async def done(rig: Rig, *steps: Call, settings: Settings | None = None) -> list[dict[str, Any]]:
    """The results of `steps`, one call each, in one turn."""
    async with terminal_tool(rig, settings):
        file_tools(rig)
        with ScriptedModel([*map(replies.calls, steps), "ok"]) as model:
            async with rig.session(model, origin=PERSON) as session:
                assert (await say(session, "go", origin=PERSON)).text == "ok"
    texts = [m["content"] for m in model.requests[-1].messages if m["role"] == "tool"]
    return [json.loads(text) for text in texts]


async def test_all_tools_are_in_the_folder_that_the_session_is_in(rig: Rig) -> None:
    where = rig.folder / "tree" / "inner"
    await done(
        rig,
        run("mkdir -p tree/inner; cd tree/inner"),
        ("write_file", {"path": "a.txt", "content": "one\n"}),
        ("patch", {"path": "a.txt", "old_string": "one", "new_string": "two"}),
        run("cat a.txt >b.txt"),
        code("open('c.txt', 'w').write(open('b.txt').read())"),
        run("cp c.txt d.txt"),
    )
    made = {path.name: path.read_text(encoding="utf-8") for path in where.iterdir()}
    assert made == dict.fromkeys(("a.txt", "b.txt", "c.txt", "d.txt"), "two\n")
    assert not (rig.folder / "a.txt").exists()


async def test_a_tilde_is_expanded_where_the_file_will_be(rig: Rig) -> None:
    there = rig.folder / "remote"
    there.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(there)}

    def shell(script: str) -> list[str]:
        return ["sh", "-c", script]

    home = await home_there(shell, env=env)
    files = ShellFiles(shell, records=str(rig.folder / "records"), home=home, env=env)
    checker = Checker(
        LspSection(enabled=False),
        reaper=Reaper(),
        env={},
        clock=SystemClock(),
        redact=lambda text: text,
    )
    policy = PathPolicy(home=rig.folder / "home", user=rig.folder)
    workspace = Workspace(files, policy, locks=PathLocks(), checkpoints=None)
    rig.tools["write_file"] = WriteFile(workspace, checker)
    call = replies.calls(("write_file", {"path": "~/x.md", "content": "x\n"}))
    with ScriptedModel([call, "ok"]) as model:
        async with rig.session(model) as session:
            await say(session, "go")
    assert (there / "x.md").read_text(encoding="utf-8") == "x\n"
    assert not (rig.folder / "x.md").exists()
    assert str(there / "x.md") in model.requests[1].messages[-1]["content"]


async def test_a_file_that_code_makes_is_where_the_other_tools_look(rig: Rig) -> None:
    path = rig.folder / "made" / "a"
    made, read, printed = await done(
        rig,
        code(
            "from hermes_tools import read_file, write_file",
            f"write_file({str(path)!r}, 'by the tool\\n')",
            f"open({str(path)!r}, 'a').write('by the code\\n')",
            f"print([read_file({str(path)!r})['content'] for _ in range(5)][-1])",
        ),
        ("read_file", {"path": str(path)}),
        run(f"cat {shlex.quote(str(path))}"),
    )
    assert "by the code" in made["output"]
    assert "by the tool" in read["content"]
    assert printed["output"] == "by the tool\nby the code"
    assert path.read_text(encoding="utf-8") == "by the tool\nby the code\n"


async def test_a_tool_that_fails_within_code_is_no_silent_success(rig: Rig) -> None:
    (rig.folder / "file").write_text("x", encoding="utf-8")
    (result,) = await done(
        rig,
        code(
            "from hermes_tools import write_file",
            "print(write_file('file/below', 'x').get('error', 'no error'))",
        ),
    )
    assert "no error" not in result["output"]
    assert result["tool_errors"] == {"count": 1, "tools": ["write_file"]}


async def test_one_time_budget_is_for_code_and_the_tools_it_calls(rig: Rig) -> None:
    settings = Settings(code_execution=CodeExecutionSection(timeout=2))
    start = anyio.current_time()
    (result,) = await done(
        rig,
        code(
            "from hermes_tools import terminal",
            "terminal('echo $BASHPID >pid; sleep 400', timeout=400)",
        ),
        settings=settings,
    )
    assert anyio.current_time() - start < 8
    assert result["status"] == "timeout"
    pid = (rig.folder / "pid").read_text(encoding="utf-8").strip()
    assert not Path(f"/proc/{pid}").exists()


async def test_a_call_within_code_has_the_limit_that_it_asks_for(rig: Rig) -> None:
    (result,) = await done(
        rig,
        code(
            "from hermes_tools import terminal",
            "print(terminal('sleep 300', timeout=1)['output'])",
            "print(terminal('sleep 1.5; echo through', timeout=60)['output'])",
        ),
    )
    assert result["status"] == "success"
    assert "timed out after 1 s" in result["output"]
    assert "through" in result["output"]


async def test_what_a_command_exports_is_there_for_commands_and_code(rig: Rig) -> None:
    _, said, seen = await done(
        rig,
        run("export GIVEN=yes"),
        run('echo "$GIVEN"'),
        code("import os", "print(os.environ['GIVEN'])"),
    )
    assert (said["output"].strip(), seen["output"]) == ("yes", "yes\n")


def lines(program: Program, *wishes: Call, options: Sequence[str] = ()) -> list[Any]:
    """The answers of `tools call --jsonl`."""
    sent = [json.dumps({"tool": tool, "args": args}).encode() for tool, args in wishes]
    done = program.run("tools", "call", "--jsonl", *options, stdin=b"\n".join(sent))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(("mode", "runs"), [("manual", False), ("off", True)])
def test_a_shell_that_code_starts_is_asked_about_with_the_code(
    program: Program, mode: str, runs: bool
) -> None:
    call = code("import subprocess", "subprocess.run('touch ran', shell=True)")
    with ScriptedModel([replies.calls(call), "ok"]) as model:
        program.configure(model.base_url, f"approvals:\n  mode: {mode}\n")
        assert program.run("-z", "go").returncode == 0
    result = json.loads(model.requests[1].messages[-1]["content"])
    assert result["status"] == ("success" if runs else "error")
    assert ("nobody is there" in str(result.get("error"))) is not runs
    assert (program.cwd / "ran").exists() is runs


def test_whichever_tool_is_first_they_run_in_the_same_place(program: Program) -> None:
    secret = program.home.parent / ".netrc"
    secret.write_text("password hunter2abcdefghij", encoding="utf-8")
    (program.home.parent / ".bashrc").write_text("", encoding="utf-8")
    probe = (
        "cat ~/.netrc ~/.hermes/.env; ls -a ~; touch ~/.bashrc; grep NoNewPrivs /proc/self/status;"
        " pwd; readlink /proc/self/ns/net"
    )
    inside = f"import subprocess\nsubprocess.run(['bash', '-c', {probe!r}], stderr=1)"
    both = [run(f"{{ {probe}; }} 2>&1"), ("execute_code", {"code": inside})]
    given = ["--approve", "all"]
    shell, kernel = lines(program, *both, options=given)
    kernel_first, shell_second = lines(program, *reversed(both), options=given)
    outputs = {each["output"].strip() for each in (shell, kernel, kernel_first, shell_second)}
    assert len(outputs) == 1
    assert "hunter2" not in outputs.pop()


def test_a_file_tool_that_is_first_meets_the_same_files_as_a_command(program: Program) -> None:
    wish = ("write_file", {"path": "a.txt", "content": "x\n"})
    written, said = lines(program, wish, run("pwd; cat a.txt"), options=["--approve", "all"])
    assert said["output"].split() == [str(program.cwd), "x"]
    assert str(program.cwd / "a.txt") in json.dumps(written)


def test_a_home_keeps_the_mode_that_its_owner_gave_it(program: Program) -> None:
    program.home.mkdir()
    program.home.chmod(0o755)
    program.run("tools", "list")
    lines(program, run("true"))
    assert program.home.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("status", [500, 401])
def test_no_file_of_hermes_holds_a_part_of_a_key_after_a_failure(
    program: Program, status: int
) -> None:
    key = "hq7Zr4Wm9Tx2Kd8Vb5Ns3Lc6"
    body = json.dumps({"error": {"message": f"bad key: Bearer {key}"}}).encode()
    with ScriptedModel(lambda _: replies.http(status, body)) as model:
        program.configure(model.base_url)
        config = program.home / "config.yaml"
        text = config.read_text(encoding="utf-8")
        config.write_text(
            text.replace("  default:", f"  api_key: {key}\n  default:"), encoding="utf-8"
        )
        said = program.run("-z", "hi")
    assert model.requests[0].headers["authorization"] == f"Bearer {key}"
    copies = (config.with_name("config.yaml.last-good"), program.home / "cache" / "config.json")
    assert {path.stat().st_mode & 0o777 for path in copies} == {0o600}
    files = [path for path in program.home.rglob("*") if path.is_file()]
    files = [path for path in files if path not in (config, *copies)]
    written = b"\n".join([said.stdout, said.stderr, *(path.read_bytes() for path in files)])
    parts = [key[at : at + 4].encode() for at in range(len(key) - 3)]
    assert [part for part in parts if part in written] == []


def test_hermes_is_known_by_its_number_and_not_ended_without_a_yes(program: Program) -> None:
    with subprocess.Popen(
        [str(HERMES), "tools", "call", "--jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=program.environment(),
        cwd=program.cwd,
        bufsize=0,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for command in (f"kill {child.pid}", f"echo {child.pid} | xargs kill -9", "pkill hermes"):
            child.stdin.write(
                json.dumps({"tool": "terminal", "args": {"command": command}}).encode()
            )
            child.stdin.write(b"\n")
            assert select.select([child.stdout], [], [], 30)[0]
            answer = json.loads(os.read(child.stdout.fileno(), 65_536))
            assert answer["status"] == "blocked"
            assert "stop_hermes" in answer["error"]
        child.stdin.close()
        assert child.wait(30) == 0


@pytest.mark.parametrize(
    ("command", "family"),
    [
        ("kill 4321", "stop_hermes"),
        ("kill -9 4321", "stop_hermes"),
        ("kill -s KILL 99 4321", "stop_hermes"),
        ("kill -- -4000", "stop_hermes"),
        ("sudo kill 4321", "stop_hermes"),
        ("bash -c 'kill 4321'", "stop_hermes"),
        ("p=4321; kill $p", "stop_hermes"),
        ("kill $PPID", "stop_hermes"),
        ("pgrep agent | xargs kill", "kill_by_search"),
        ("kill $(pgrep agent)", "kill_by_search"),
        ("for p in $(pgrep agent); do kill $p; done", "kill_by_search"),
        ("pgrep agent | while read p; do kill $p; done", "kill_by_search"),
        ("kill 4322", None),
        ("kill -0 4321", None),
        ("kill -4321 99", None),
        ("echo kill 4321", None),
        ("for p in 1 2; do echo $p; done", None),
        ("for f in $(ls); do cat $f; done", None),
    ],
)
def test_hermes_is_known_however_its_number_is_come_by(command: str, family: str | None) -> None:
    classifier = Classifier(home="/home/u", hermes_home="/home/u/.hermes", pids=(4321, 4000))
    assert classifier.classify(command, cwd="/home/u/p").families == ((family,) if family else ())


async def test_a_shell_that_never_answers_is_left_at_the_deadline_of_the_call(
    tmp_path: Path,
) -> None:
    bash = tmp_path / "bin" / "bash"
    bash.parent.mkdir()
    bash.write_text('#!/bin/sh\necho $$ >"$0.pid"\nexec /bin/sleep 300\n', encoding="utf-8")
    bash.chmod(0o755)
    terminal = LocalTerminal(
        env=child_environment(os.environ, ()) | {"PATH": str(bash.parent)},
        state_dir=tmp_path / "state",
        spill_dir=tmp_path / "spill",
        clock=SystemClock(),
    )
    start = anyio.current_time()
    with pytest.raises(ToolError):
        await terminal.run(SessionId("s"), "pwd", cwd="/", timeout=2, limit=100)
    assert anyio.current_time() - start < 6
    await terminal.aclose()
    pid = (tmp_path / "bin" / "bash.pid").read_text(encoding="utf-8").strip()
    assert not Path(f"/proc/{pid}").exists()
