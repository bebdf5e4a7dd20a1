"""Programs that are meant to outlive Hermes, and how a later Hermes finds them again.

A number alone is not enough: it may have gone to another program. On Linux the time of its start
tells; elsewhere such programs cannot be recognised, and are taken to be gone.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio

from hermes.ports.terminal import Detached
from hermes.system.keeper.processes import GRACE, below, children_of_all, read_stat

PAUSE: Final = 0.01
"""Seconds between two looks at who is still there."""


def start(
    arguments: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    output: Path,
    fds: tuple[int, ...],
) -> Detached:
    """Start a program that nothing of Hermes holds; its output goes to the end of a file.

    Raises OSError if it cannot be started.
    """
    with output.open("ab") as out:
        process = subprocess.Popen(
            [os.fsencode(argument) for argument in arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=cwd,
            env=dict(env),
            pass_fds=fds,
            start_new_session=True,
        )
    return Detached(pid=process.pid, started=read_stat(process.pid)[1])


def running(program: Detached) -> bool:
    """Whether that very program is still running."""
    if sys.platform != "linux":
        return False
    _reap(program.pid)
    return read_stat(program.pid)[1] == program.started


async def end(program: Detached) -> None:
    """End it and all below it: TERM, a short grace, KILL."""
    if not running(program):
        return
    targets = [program.pid]
    with anyio.move_on_after(4 * GRACE):
        kill_at = anyio.current_time() + GRACE
        _signal(signal.SIGTERM, below(targets, children_of_all()))
        while targets := [pid for pid in _with_children(targets) if read_stat(pid)[0] >= 0]:
            _reap(program.pid)
            if anyio.current_time() >= kill_at:
                _signal(signal.SIGKILL, targets)
            await anyio.sleep(PAUSE)


def _with_children(pids: list[int]) -> list[int]:
    """`pids` and what they have started; each once, parents first."""
    return list(dict.fromkeys(below(pids, children_of_all())))


def _reap(pid: int) -> None:
    """Forget a child that has ended."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _signal(number: int, targets: list[int]) -> None:
    for pid in targets:
        with suppress(OSError):
            os.kill(pid, number)
