"""What is particular to the local back end; the common part is in the contract suite."""

import os
import sys
from pathlib import Path

import anyio
import pytest

from hermes.core.clock import SystemClock
from hermes.core.errors import ToolError
from hermes.core.ids import SessionId
from hermes.ports.terminal import NoFolder
from hermes.terminals.environment import child_environment
from hermes.terminals.local import LocalTerminal


def test_the_children_s_environment_is_an_allow_list() -> None:
    environ = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "XDG_CACHE_HOME": "/c",
        "SSH_AUTH_SOCK": "/s",
        "VIRTUAL_ENV": "/v",
        "https_proxy": "http://proxy:8080",
        "HTTP_PROXY": "http://user:word@proxy:8080",
        "XDG_API_KEY": "k",
        "CONDA_TOKEN": "k",
        "OPENAI_API_KEY": "k",
        "GITHUB_TOKEN": "k",
        "RANDOM_THING": "x",
        "DEPLOY_TOKEN": "wanted",
    }
    seen = child_environment(environ, ["DEPLOY_TOKEN", "NOT_SET"])
    hidden = ("HTTP_PROXY", "XDG_API_KEY", "CONDA_TOKEN", "OPENAI_API_KEY", "GITHUB_TOKEN")
    assert set(environ) - set(seen) == {*hidden, "RANDOM_THING"}
    assert seen.items() <= environ.items()


async def test_a_machine_without_bash_is_told_so(tmp_path: Path) -> None:
    terminal = LocalTerminal(
        env={"PATH": "/no/such:relative"},
        state_dir=tmp_path / "state",
        spill_dir=tmp_path / "spill",
        clock=SystemClock(),
    )
    with pytest.raises(ToolError, match="bash was not found"):
        await terminal.run(SessionId("s"), "true", cwd="/", timeout=1, limit=10)


FLOOD = """
import os, resource, sys
from pathlib import Path
import anyio
from hermes.core.clock import SystemClock
from hermes.core.ids import SessionId
from hermes.terminals.local import LocalTerminal

async def main():
    place = Path(sys.argv[1])
    terminal = LocalTerminal(env={"PATH": os.defpath}, state_dir=place / "a", spill_dir=place / "b",
                             clock=SystemClock())
    async def run(command):
        result = await terminal.run(
            SessionId("s"), command, cwd="/", timeout=60, limit=50_000)
        return result.total
    await run("seq 1 50000")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    total = await run("yes 'a line of output' | head -n 5000000")
    print(total, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    await terminal.aclose()

anyio.run(main)
"""


async def test_five_million_lines_take_no_memory_and_their_file_is_bounded(tmp_path: Path) -> None:
    process = await anyio.run_process([sys.executable, "-c", FLOOD, str(tmp_path)])
    total, grown_kib = map(int, process.stdout.split())
    assert total == 5_000_000 * len("a line of output\n")
    assert grown_kib < 4_096
    sizes = sorted(path.stat().st_size for path in (tmp_path / "b").iterdir())
    assert sizes[-1] == 50_000_000


def _terminal(place: Path, *, files: tuple[str, ...] = ()) -> LocalTerminal:
    return LocalTerminal(
        env={"PATH": os.defpath, "HOME": str(place)},
        state_dir=place / "state",
        spill_dir=place / "spill",
        clock=SystemClock(),
        files=files,
    )


async def test_what_a_killed_process_of_the_same_number_left_is_in_nobody_s_way(
    tmp_path: Path,
) -> None:
    (tmp_path / "state" / f"{os.getpid()}-1").mkdir(parents=True)
    terminal = _terminal(tmp_path)
    result = await terminal.run(SessionId("s"), "echo here", cwd="/", timeout=20, limit=100)
    await terminal.aclose()
    assert result.output_head == b"here\n"


async def test_what_is_to_be_told_of_a_session_s_shell_waits_for_a_command_that_can_tell_it(
    tmp_path: Path,
) -> None:
    profile = tmp_path / "profile"
    profile.write_text("exit 3\n", encoding="utf-8")
    terminal = _terminal(tmp_path, files=(str(profile),))
    session = SessionId("s")
    job = await terminal.start(session, "true", cwd="/")
    assert await job.stream(lambda _: None) == 0
    result = await terminal.run(session, "true", cwd="/", timeout=20, limit=100)
    assert "profile" in " ".join(result.notes)
    again = await terminal.run(session, "true", cwd="/", timeout=20, limit=100)
    await terminal.aclose()
    assert again.notes == ()


async def test_a_folder_with_an_impossible_name_is_one_that_is_not_there(tmp_path: Path) -> None:
    terminal = _terminal(tmp_path)
    session = SessionId("s")
    with pytest.raises(NoFolder):
        await terminal.run(
            session, "true", cwd="/" + "x" * 5_000, timeout=20, limit=100, fall_back=False
        )
    result = await terminal.run(
        session, "pwd", cwd=f"{tmp_path}/{'x' * 5_000}", timeout=20, limit=1_000
    )
    await terminal.aclose()
    assert result.moved_to == str(tmp_path)
