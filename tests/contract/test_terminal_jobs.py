"""Programs beside the conversation: what every terminal back end must do with them."""

import gc
import os
import signal
import sys
import time
from pathlib import Path

import anyio
import pytest

from hermes.core.errors import ToolError
from hermes.ports.terminal import Detached, Job, NoFolder, TerminalBackend
from terminal_rig import ONE, TWO, Leash, Run, said

PYTHON = sys.executable


async def output_of(job: Job) -> tuple[int, bytes]:
    """Its exit status and all of its output."""
    output = bytearray()
    with anyio.fail_after(20):
        status = await job.stream(output.extend)
    return status, bytes(output)


async def gone(backend: TerminalBackend, program: Detached) -> None:
    with anyio.fail_after(20):
        while backend.running(program):
            await anyio.sleep(0.01)


async def test_a_job_sees_the_state_of_its_session(
    backend: TerminalBackend, run: Run, folder: Path
) -> None:
    await run("export A=$'x\\ny' B=2; f() { echo \"fn $1\"; }; export -f f; alias al='echo al'")
    job = await backend.start(ONE, "f 1; al; bash -c 'f 2'; echo \"[$A]\"; pwd", cwd=str(folder))
    assert await output_of(job) == (0, f"fn 1\nal\nfn 2\n[x\ny]\n{folder}\n".encode())
    other = await backend.start(TWO, "echo [$A] $HERMES_SESSION_ID", cwd=str(folder))
    assert await output_of(other) == (0, f"[] {TWO}\n".encode())


async def test_a_job_runs_in_the_folder_that_is_asked_for(
    backend: TerminalBackend, run: Run, folder: Path
) -> None:
    for name in ("one", "two", "line\nbreak"):
        (folder / name).mkdir()
    await run("cd one")
    job = await backend.start(ONE, "pwd", cwd=str(folder / "line\nbreak"))
    assert await output_of(job) == (0, f"{folder}/line\nbreak\n".encode())
    program = await backend.program(ONE, ["/bin/sh", "-c", "pwd"], cwd=str(folder / "two"), env={})
    assert await output_of(program) == (0, f"{folder}/two\n".encode())
    output, status = folder / "output", folder / "status"
    lasting = await backend.detach(
        ONE, "pwd", cwd=str(folder / "two"), output=output, status=status
    )
    await gone(backend, lasting)
    assert output.read_text(encoding="utf-8") == f"{folder}/two\n"
    with pytest.raises(NoFolder):
        await backend.start(ONE, "pwd", cwd=str(folder / "missing"))


async def test_a_job_keeps_its_changes_to_itself(
    backend: TerminalBackend, run: Run, folder: Path
) -> None:
    await output_of(await backend.start(ONE, "export A=1; cd /usr", cwd=str(folder)))
    assert await said(run, "echo [$A]; pwd") == f"[]\n{folder}\n"


async def test_a_pipe_takes_input_until_it_is_closed(
    backend: TerminalBackend, folder: Path
) -> None:
    data = bytes(range(256)) * 2_000  # more than a pipe holds
    job = await backend.start(ONE, "wc -c; exit 3", cwd=str(folder))

    async def feed() -> None:
        await job.write(data)
        await job.close_input()

    async with anyio.create_task_group() as group:
        group.start_soon(feed)
        assert await output_of(job) == (3, b"%d\n" % len(data))
    with pytest.raises(ToolError):
        await job.write(b"more")


async def test_nobody_waits_for_a_job_that_ends_without_reading(
    backend: TerminalBackend, folder: Path, leash: Leash
) -> None:
    job = await backend.start(ONE, f"echo >{leash.path}; sleep 300", cwd=str(folder))
    refused = []

    async def feed() -> None:
        with pytest.raises(ToolError) as raised:
            await job.write(b"x" * 1_000_000)
        refused.append(raised.value)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(feed)
            await leash.line()
            await job.end()
    assert len(refused) == 1


async def test_without_input_a_job_finds_the_end_at_once(
    backend: TerminalBackend, folder: Path
) -> None:
    job = await backend.start(ONE, "cat; echo $?; tty", cwd=str(folder), stdin="none")
    assert await output_of(job) == (1, b"0\nnot a tty\n")
    with pytest.raises(ToolError):
        await job.write(b"x")


async def test_a_terminal_has_a_size_and_a_name_and_can_be_opened(
    backend: TerminalBackend, folder: Path
) -> None:
    command = "stty size; tty -s && echo tty; echo ${TERM:+name}; echo opened >/dev/tty"
    job = await backend.start(ONE, command, cwd=str(folder), stdin="tty")
    assert await output_of(job) == (0, b"30 120\r\ntty\r\nname\r\nopened\r\n")


async def test_ctrl_d_ends_the_input_of_a_terminal(backend: TerminalBackend, folder: Path) -> None:
    job = await backend.start(ONE, "stty -echo; cat; echo end", cwd=str(folder), stdin="tty")
    await job.write(b"a line\n")
    await job.close_input()
    status, output = await output_of(job)
    assert (status, output.replace(b"a line\r\na line\r\n", b"a line\r\n")) == (
        0,
        b"a line\r\nend\r\n",
    )


async def test_ctrl_c_interrupts_what_runs_in_a_terminal(
    backend: TerminalBackend, folder: Path, leash: Leash
) -> None:
    command = f"trap 'echo caught; exit 9' INT; echo >{leash.path}; sleep 300"
    job = await backend.start(ONE, command, cwd=str(folder), stdin="tty")
    await leash.line()
    await job.write(b"\x03")
    status, output = await output_of(job)
    assert (status, b"caught" in output) == (9, True)


async def test_bytes_come_as_they_are_and_in_order(backend: TerminalBackend, folder: Path) -> None:
    everything = "".join(f"\\x{n:02x}" for n in range(256))
    job = await backend.start(ONE, f"printf '{everything}'; echo >&2", cwd=str(folder))
    assert await output_of(job) == (0, bytes(range(256)) + b"\n")


async def test_much_output_is_passed_on_in_pieces(backend: TerminalBackend, folder: Path) -> None:
    job = await backend.start(ONE, "head -c 20000000 /dev/zero", cwd=str(folder))
    sizes: list[int] = []
    with anyio.fail_after(30):
        assert await job.stream(lambda data: sizes.append(len(data))) == 0
    assert sum(sizes) == 20_000_000
    assert max(sizes) <= 1 << 20


@pytest.mark.parametrize("stdin", ["none", "pipe", "tty"])
@pytest.mark.parametrize(
    "command",
    [
        "trap '' TERM HUP; echo >&9; sleep 300; sleep 300",
        "setsid sh -c 'trap \"\" TERM; echo >&9; sleep 300; sleep 300' & wait",
        "(setsid sh -c 'trap \"\" TERM; echo >&9; sleep 300; sleep 300' &); sleep 300",
        "trap '' HUP; setsid sh -c 'trap \"\" TERM; echo >&9; sleep 300; sleep 300' & exit 0",
    ],
    ids=["ignores TERM", "setsid", "double fork", "left behind"],
)
async def test_ending_a_job_ends_its_tree_within_a_second(
    backend: TerminalBackend, folder: Path, leash: Leash, command: str, stdin: str
) -> None:
    job = await backend.start(
        ONE,
        f"exec 9>{leash.path}; {command}",
        cwd=str(folder),
        stdin=stdin,  # type: ignore[arg-type]
    )
    await leash.line()
    assert leash.held()
    begun = time.monotonic()
    await job.end()
    assert not leash.held()
    assert time.monotonic() - begun < 1.0


async def test_what_an_ended_job_left_running_ends_with_the_session(
    backend: TerminalBackend, folder: Path, leash: Leash
) -> None:
    job = await backend.start(ONE, f"exec 9>{leash.path}; setsid sleep 300 &", cwd=str(folder))
    assert (await output_of(job))[0] == 0
    del job
    gc.collect()
    # Whoever would be told that the job is forgotten has been, by the time that a command is done.
    await backend.run(ONE, "true", cwd=str(folder), timeout=20, limit=100)
    assert leash.held()
    await backend.forget(ONE)
    assert not leash.held()


async def test_cancelling_who_follows_a_job_leaves_it_to_be_ended(
    backend: TerminalBackend, folder: Path, leash: Leash
) -> None:
    job = await backend.start(ONE, f"exec 9>{leash.path}; echo >&9; sleep 300", cwd=str(folder))
    async with anyio.create_task_group() as group:
        group.start_soon(job.stream, lambda _: None)
        await leash.line()
        group.cancel_scope.cancel()
    assert leash.held()
    await job.end()
    assert not leash.held()


async def test_a_job_whose_keeper_is_killed_is_not_said_to_have_ended_well(
    backend: TerminalBackend, folder: Path, run: Run, leash: Leash
) -> None:
    # $PPID is what looks after the job, and after nothing else.
    command = f"exec 9>{leash.path}; trap '' HUP; read; kill -9 $PPID; sleep 300"
    job = await backend.start(ONE, command, cwd=str(folder))
    await job.write(b"\n")
    with pytest.raises(ToolError, match="was killed"):
        await output_of(job)
    assert await said(run, "echo on") == "on\n"
    await backend.forget(ONE)
    assert not leash.held()


async def test_a_program_has_a_channel_errors_and_the_exported_variables(
    backend: TerminalBackend, run: Run, folder: Path
) -> None:
    await run("export A=kept PATH=/nowhere; env() { :; }; exec() { :; }; [() { :; }")
    script = (
        "import os, socket, sys\n"
        "s = socket.socket(fileno=0)\n"
        "s.sendall(s.recv(10).upper())\n"
        "print(os.environ['A'], os.environ['B C'.replace(' ', '_')])\n"
        "sys.stdout.flush()\n"
        "print('wrong', file=sys.stderr)\n"
    )
    job = await backend.program(
        ONE, [PYTHON, "-c", script], cwd=str(folder), env={"B_C": "x = 'y'\n"}
    )
    assert job.channel is not None
    assert job.errors is not None
    job.channel.send(b"hello")
    await anyio.wait_readable(job.channel)
    assert job.channel.recv(10) == b"HELLO"
    await anyio.wait_readable(job.errors)
    assert os.read(job.errors, 100) == b"wrong\n"
    assert await output_of(job) == (0, b"kept x = 'y'\n\n")


async def test_a_program_that_is_not_there_says_so(backend: TerminalBackend, folder: Path) -> None:
    job = await backend.program(ONE, ["/no/such/program"], cwd=str(folder), env={})
    status, _ = await output_of(job)
    assert status in {126, 127}


async def test_what_outlives_hermes_is_known_again_and_can_be_ended(
    backend: TerminalBackend, folder: Path, run: Run, leash: Leash
) -> None:
    await run("export A=kept")
    output, status = folder / "output", folder / "status"
    command = (
        f"exec 9>{leash.path}; echo $A; trap '' TERM; "
        "(setsid sh -c 'trap \"\" TERM; sleep 300' &); "
        "sh -c 'trap \"\" TERM; sleep 300' & echo >&9; sleep 300; sleep 300"
    )
    lasting = await backend.detach(ONE, command, cwd=str(folder), output=output, status=status)
    await leash.line()
    await backend.forget(ONE)
    assert leash.held()
    assert backend.running(lasting)
    assert not backend.running(Detached(pid=lasting.pid, started=lasting.started + 1))
    await backend.end_detached(Detached(pid=lasting.pid, started=lasting.started + 1))
    assert backend.running(lasting)
    begun = time.monotonic()
    await backend.end_detached(lasting)
    assert time.monotonic() - begun < 1.0
    assert not backend.running(lasting)
    assert not leash.held()
    assert output.read_text(encoding="utf-8") == "kept\n"
    assert status.read_text(encoding="utf-8") == ""


@pytest.mark.parametrize(
    ("end", "code"), [("exit 3", "3"), ("false", "1"), ("kill -9 $BASHPID", "137")]
)
async def test_what_outlives_hermes_leaves_its_status(
    backend: TerminalBackend, folder: Path, end: str, code: str
) -> None:
    output, status = folder / "output", folder / "status"
    output.write_text("before\n", encoding="utf-8")
    command = f"eval() {{ :; }}; echo out; echo err >&2; {end}"
    lasting = await backend.detach(ONE, command, cwd=str(folder), output=output, status=status)
    await gone(backend, lasting)
    assert status.read_text(encoding="utf-8").strip() == code
    assert output.read_text(encoding="utf-8").startswith("before\nout\nerr\n")


async def test_an_argument_list_that_is_too_long_is_refused_and_leaves_no_file(
    backend: TerminalBackend, folder: Path, run: Run, tmp_path: Path
) -> None:
    await run("true")
    state = tmp_path / "state"
    files, open_before = sorted(state.rglob("*")), len(os.listdir("/proc/self/fd"))
    with pytest.raises(ToolError, match="too long"):
        await backend.program(ONE, ["/bin/true", "x" * 200_000], cwd=str(folder), env={})
    assert sorted(state.rglob("*")) == files
    assert len(os.listdir("/proc/self/fd")) == open_before


async def test_a_command_longer_than_an_argument_may_be_is_a_job_too(
    backend: TerminalBackend, folder: Path
) -> None:
    job = await backend.start(ONE, f"echo '{'é' * 200_000}' | wc -m", cwd=str(folder))
    assert await output_of(job) == (0, b"200001\n")


async def test_the_end_by_a_signal_is_told_as_such(backend: TerminalBackend, folder: Path) -> None:
    job = await backend.start(ONE, "kill -9 $$", cwd=str(folder))
    assert (await output_of(job))[0] == -signal.SIGKILL
