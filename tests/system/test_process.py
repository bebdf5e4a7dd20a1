"""Child processes: whatever a command starts ends when it is told to, and when Hermes dies."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from hermes.core.errors import ToolError
from hermes.system.process import ProcessTree, Reaper

linux = pytest.mark.skipif(sys.platform != "linux", reason="escapees are reached on Linux only")
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


@pytest.fixture
async def reaper() -> AsyncIterator[Reaper]:
    reaper = Reaper()
    yield reaper
    await reaper.aclose()


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


def start(reaper: Reaper, command: str, cwd: str = "/") -> ProcessTree:
    return reaper.start(["/bin/bash", "-c", command], cwd=cwd, env=ENV)


async def run(reaper: Reaper, command: str, cwd: str = "/") -> tuple[int, bytes]:
    output = bytearray()
    tree = start(reaper, command, cwd)
    status = await tree.stream(output.extend)
    tree.leave()
    return status, bytes(output)


def running(pid: int) -> bool:
    return state(pid) not in "ZX"


def state(pid: int) -> str:
    """The letter that /proc has for it; X if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return "X"


def children(of: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text(encoding="utf-8").rpartition(")")[2].split()[1]) == of:
                found.append(int(stat.parent.name))
        except OSError:
            continue
    return found


async def until(condition: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Whether `condition` comes true in time; there is nothing to wait on for a foreign process."""
    with anyio.move_on_after(seconds):
        while not condition():
            await anyio.lowlevel.checkpoint()
        return True
    return False


async def cancelled_when_ready(tree: ProcessTree, fifo: Path) -> tuple[list[int], float]:
    """Cancel the command once it has written its pids; those, and the seconds that took."""
    async with anyio.create_task_group() as group:

        async def work() -> None:
            try:
                await tree.stream(lambda _: None)
            finally:
                await tree.end()

        group.start_soon(work)
        pids = [int(pid) for pid in (await to_thread.run_sync(fifo.read_text, "utf-8")).split()]
        assert all(map(running, pids))
        begun = time.monotonic()
        group.cancel_scope.cancel()
    return pids, time.monotonic() - begun


async def test_a_command_gives_its_output_and_its_status(reaper: Reaper) -> None:
    assert await run(reaper, "echo out; echo err >&2; exit 3") == (3, b"out\nerr\n")
    assert await run(reaper, "kill -9 $$") == (-9, b"")
    assert await run(reaper, "cat; echo $#") == (0, b"0\n")


async def test_a_command_sees_its_environment_and_folder_and_nothing_else(
    reaper: Reaper, tmp_path: Path
) -> None:
    output = bytearray()
    tree = reaper.start(["/usr/bin/env"], cwd=str(tmp_path), env={"A": "1=2\n3"})
    assert await tree.stream(output.extend) == 0
    tree.leave()
    assert output == b"A=1=2\n3\n"
    assert await run(reaper, "ls /proc/self/fd | wc -l") == (0, b"4\n")
    place = os.path.realpath(tmp_path)
    assert await run(reaper, "pwd -P", cwd=place) == (0, f"{place}\n".encode())


async def test_a_command_that_cannot_start_raises_the_true_reason(
    reaper: Reaper, tmp_path: Path
) -> None:
    for arguments, cwd in ((["/no/such/program"], "/"), (["/bin/true"], str(tmp_path / "gone"))):
        tree = reaper.start(arguments, cwd=cwd, env={})
        with pytest.raises(FileNotFoundError):
            await tree.stream(lambda _: None)
        await tree.end()


async def test_a_request_may_be_long_and_one_that_is_too_long_is_refused(reaper: Reaper) -> None:
    command = ["/bin/sh", "-c", "echo ${#0} ${#A}", "x" * 100_000]
    output = bytearray()
    tree = reaper.start(command, cwd="/", env={"A": "y" * 49_000})
    assert await tree.stream(output.extend) == 0
    tree.leave()
    assert output == b"100000 49000\n"
    with pytest.raises(OSError, match="long"):
        reaper.start(command, cwd="/", env={"A": "y" * 60_000})


@pytest.mark.parametrize(
    "command",
    [
        "sleep 300 & echo $$ $! >{fifo}; wait",
        "trap '' TERM; (trap '' TERM; sleep 300) & echo $$ $! >{fifo}; wait",
        pytest.param("setsid sh -c 'echo $$ >{fifo}; exec sleep 300' & wait", marks=linux),
        pytest.param(
            "(setsid sh -c 'trap \"\" TERM; echo $$ >{fifo}; sleep 300' &) ; sleep 300", marks=linux
        ),
        pytest.param(
            "env -i setsid sh -c '(sh -c \"echo \\$\\$ >{fifo}; exec sleep 300\" &) ; exit' &"
            " sleep 300",
            marks=linux,
        ),
        "while :; do echo flood; done & echo $$ $! >{fifo}; wait",
    ],
    ids=["child", "ignores TERM", "setsid", "double fork", "no environment", "flood"],
)
async def test_cancelled_is_gone_within_a_second(reaper: Reaper, fifo: Path, command: str) -> None:
    pids, seconds = await cancelled_when_ready(start(reaper, command.format(fifo=fifo)), fifo)
    assert pids
    assert not any(map(running, pids))
    assert seconds < 1.0


async def test_a_command_is_asked_to_end_before_it_is_killed(
    reaper: Reaper, fifo: Path, tmp_path: Path
) -> None:
    command = f"trap 'echo tidy >{tmp_path}/left; exit' TERM; echo $$ >{fifo}; sleep 300 & wait"
    await cancelled_when_ready(start(reaper, command), fifo)
    assert (tmp_path / "left").read_text(encoding="utf-8") == "tidy\n"


@pytest.mark.parametrize(
    "command",
    ["sleep 300 & echo $!", "setsid sleep 300 & echo $!; disown", "(sleep 300 &) ; echo 0"],
)
async def test_a_command_returns_when_its_shell_does_and_what_it_left_can_be_ended(
    reaper: Reaper, command: str
) -> None:
    output = bytearray()
    begun = time.monotonic()
    tree = start(reaper, command)
    assert await tree.stream(output.extend) == 0
    assert tree.leave()
    assert time.monotonic() - begun < 5
    assert not tree.gone()
    pid = int(output)
    await tree.end()
    assert not pid or not running(pid)
    assert tree.gone()


async def test_what_a_command_left_may_write_on_and_its_end_is_noticed(
    reaper: Reaper, fifo: Path
) -> None:
    # More than a pipe holds: the writer would block, or die of SIGPIPE, if nobody read on.
    tree = start(reaper, f"(read <{fifo}; head -c 300000 /dev/zero; echo $? >{fifo}) &")
    assert await tree.stream(lambda _: None) == 0
    assert tree.leave()
    await to_thread.run_sync(fifo.write_text, "go\n")
    assert await to_thread.run_sync(fifo.read_text, "utf-8") == "0\n"
    assert await until(tree.gone)


@linux
async def test_fifty_commands_leave_only_the_keeper_and_its_standby(reaper: Reaper) -> None:
    before = children(os.getpid())
    for n in range(50):
        assert await run(reaper, f"echo {n}") == (0, b"%d\n" % n)
    (keeper,) = set(children(os.getpid())) - set(before)
    assert await until(lambda: len(children(keeper)) == 1)
    descriptors = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        await run(reaper, "true")
    assert len(os.listdir("/proc/self/fd")) == descriptors
    await reaper.aclose()
    assert set(children(os.getpid())) <= set(before)


async def test_twenty_commands_at_once_do_not_wait_for_each_other(reaper: Reaper) -> None:
    results = []

    async def work(n: int) -> None:
        results.append(await run(reaper, f"sleep 0.3; echo {n}"))

    begun = time.monotonic()
    async with anyio.create_task_group() as group:
        for n in range(20):
            group.start_soon(work, n)
    assert sorted(results) == sorted((0, b"%d\n" % n) for n in range(20))
    assert time.monotonic() - begun < 5


async def test_closing_ends_what_is_running_and_what_was_left(reaper: Reaper) -> None:
    output = bytearray()
    left = start(reaper, "sleep 300 & echo $!")
    await left.stream(output.extend)
    left.leave()
    begun = time.monotonic()
    await reaper.aclose()
    assert time.monotonic() - begun < 1.0
    assert not running(int(output))


HOST = """
import anyio, sys
from hermes.system.process import Reaper

async def main():
    reaper = Reaper()
    async def work(command):
        tree = reaper.start(["/bin/bash", "-c", command], cwd="/", env={"PATH": "/usr/bin:/bin"})
        await tree.stream(lambda data: None)
        tree.leave()
        await anyio.sleep_forever()
    async with anyio.create_task_group() as group:
        for command in sys.argv[1:]:
            group.start_soon(work, command)

anyio.run(main)
"""


@linux
async def test_kill_9_of_hermes_leaves_no_process_behind(fifo: Path) -> None:
    say = f"sh -c 'echo $$ >>{fifo}; exec sleep 300'"
    commands = [say, f"trap '' TERM; {say} & wait", f"setsid {say} & disown", f"({say} &)"]
    reading = os.open(fifo, os.O_RDWR)
    host = subprocess.Popen([sys.executable, "-c", HOST, *commands])
    try:
        pids = b""
        while pids.count(b"\n") < len(commands):
            pids += await to_thread.run_sync(os.read, reading, 4096)
        (keeper,) = children(host.pid)
        watched = [*map(int, pids.split()), keeper, *children(keeper)]
        assert all(map(running, watched))
    finally:
        host.kill()
        host.wait()
        os.close(reading)
    begun = time.monotonic()
    assert await until(lambda: not any(map(running, watched)))
    assert time.monotonic() - begun < 1.0


@linux
async def test_a_command_that_kills_its_warden_ends_in_words_and_leaves_nothing(
    reaper: Reaper, fifo: Path
) -> None:
    tree = start(reaper, f"kill -9 $PPID; echo $$ >{fifo}; sleep 300")
    pid = int(await to_thread.run_sync(fifo.read_text, "utf-8"))
    with pytest.raises(ToolError, match="not known"):
        await tree.stream(lambda _: None)
    await tree.end()
    assert await until(lambda: not running(pid))
    assert await run(reaper, "echo on") == (0, b"on\n")


@linux
async def test_a_killed_keeper_is_replaced(reaper: Reaper) -> None:
    before = children(os.getpid())
    await run(reaper, "true")
    (keeper,) = set(children(os.getpid())) - set(before)
    # Stopped first: it makes a new standby after each command, at any moment.
    os.kill(keeper, signal.SIGSTOP)
    assert await until(lambda: state(keeper) == "T")
    standby = children(keeper)
    os.kill(keeper, signal.SIGKILL)
    for pid in standby:
        os.kill(pid, signal.SIGKILL)
    assert await until(lambda: not any(map(running, [keeper, *standby])))
    assert await run(reaper, "echo on") == (0, b"on\n")
