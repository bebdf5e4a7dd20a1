"""Thousands of commands in one session leave nothing behind."""

import gc
import os
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from hermes.ports.terminal import TerminalBackend
from terminal_rig import ONE, TWO, Leash, kind, local_terminal  # noqa: F401  a fixture

COMMANDS = 2_000
JOBS = 200
AT_ONCE = 20
WARM_UP = 300


def resident() -> int:
    """Bytes of memory that this process has."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def descendants() -> set[int]:
    """Everything below this process that has not ended."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] not in "ZX":
                parents[int(entry.name)] = int(fields[1])
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


async def soon(true: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not true():
            await anyio.sleep(0.01)


async def command(terminal: TerminalBackend, leash: Leash, folder: Path, number: int) -> None:
    """One of a mixture, checked."""

    async def run(text: str, *, timeout: float = 30) -> tuple[int, int, bool]:
        result = await terminal.run(ONE, text, cwd=str(folder), timeout=timeout, limit=10_000)
        if result.spill is not None:
            Path(result.spill).unlink()
        return result.exit_code, result.total, result.timed_out

    match number % 20:
        case 3:
            assert await run("false") == (1, 0, False)
        case 5:
            assert await run("head -c 300000 /dev/zero") == (0, 300_000, False)
        case 7:
            assert await run(f"export N={number}; f{number % 50}() {{ :; }}") == (0, 0, False)
        case 11 if number % 100 == 11:
            hold = f"exec 9>{leash.path}; sleep 300"
            assert await run(hold, timeout=0.01) == (124, 0, True)
        case 13 if number % 100 == 13:
            assert (await run(f"exec 9>{leash.path}; setsid sleep 300 & true"))[0] == 0
        case 17 if number % 400 == 17:
            await run("kill -9 $$")
        case 19:
            assert await run("exit 7") == (7, 0, False)
        case _:
            assert (await run(f"echo {number}"))[0] == 0


async def job(terminal: TerminalBackend, leash: Leash, folder: Path, number: int) -> None:
    """One background program: ended by itself, by us, or left running something."""
    stdin = ("pipe", "none", "tty")[number % 3]
    text = ("cat", "echo x; exit 3", f"exec 9>{leash.path}; setsid sleep 300 &", "sleep 300")
    started = await terminal.start(
        ONE,
        text[number % 4],
        cwd=str(folder),
        stdin=stdin,  # type: ignore[arg-type]
    )
    if number % 4 == 3:
        await started.end()
        return
    if number % 4 == 0 and stdin != "none":
        await started.write(b"input\n")
        await started.close_input()
    assert await started.stream(lambda _: None) == (0, 3, 0)[number % 4]


@pytest.mark.parametrize("kind", ["local", "local in bubblewrap"], indirect=True)
async def test_two_thousand_commands_and_two_hundred_jobs_leave_nothing(
    kind: str,  # noqa: F811
    tmp_path: Path,
) -> None:
    folder = tmp_path / "place"
    folder.mkdir()
    leash = Leash(folder / "leash")
    terminal = local_terminal(kind, tmp_path)
    before, processes = descriptors(), descendants()

    async def jobs(count: int) -> None:
        for first in range(0, count, AT_ONCE):
            async with anyio.create_task_group() as group:
                for number in range(first, first + AT_ONCE):
                    group.start_soon(job, terminal, leash, folder, number)

    for number in range(WARM_UP):
        await command(terminal, leash, folder, number)
    await jobs(AT_ONCE)
    warm = resident()
    for number in range(COMMANDS - WARM_UP):
        await command(terminal, leash, folder, number)
    await jobs(JOBS)
    grown = resident() - warm
    assert grown < 6_000_000

    # Only the shell is left of it, and what commands left running until now.
    state = tmp_path / "state"
    assert sorted(path.name.partition("-")[0] for path in state.glob("*/*")) == [
        "adopt", "dump", "out", "run",
    ]  # fmt: skip
    assert leash.held()
    await terminal.forget(ONE)
    assert not leash.held()
    assert not list(state.iterdir())
    assert not list((tmp_path / "spill").iterdir())
    await soon(lambda: descendants() <= processes)
    assert descriptors() == before
    # And a session after it is as good as new.
    again = await terminal.run(TWO, "echo [$N]", cwd=str(folder), timeout=20, limit=100)
    assert again.output_head == b"[]\n"
    await terminal.aclose()
    assert descriptors() == before
    leash.close()
