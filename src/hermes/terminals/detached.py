"""Programs that are meant to outlive Hermes, and how a later Hermes finds them again.

A number alone is not enough: it may have gone to another program. On Linux the time of its start
tells; elsewhere such programs cannot be recognised, and are taken to be gone.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio

from hermes.ports.terminal import Detached
from hermes.system.keeper.processes import GRACE, below, children_of_all, read_stat

STATUS, STATE, COMMAND = 7, 8, 9
"""Descriptors of a program: where it leaves its exit status, and what it reads."""

PAUSE: Final = 0.01
"""Seconds between two looks at who is still there."""


def start(
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    output: Path,
    status: Path,
    state: Path,
    run: Path,
) -> Detached:
    """Start a program that nothing of Hermes holds, in a session of its own.

    Its output goes to the end of the file `output`. It has the other files open as the descriptors
    STATUS (to write), STATE and COMMAND. Raises OSError if it cannot be started.
    """
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    words = [os.fsencode(argument) for argument in arguments]
    pid = os.posix_spawn(
        words[0],
        words,
        dict(env),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(output), append, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
            (os.POSIX_SPAWN_OPEN, STATUS, str(status), os.O_WRONLY | os.O_CREAT, 0o600),
            (os.POSIX_SPAWN_OPEN, STATE, str(state), os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, COMMAND, str(run), os.O_RDONLY, 0),
        ],
        setsid=True,
        setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
    )
    return Detached(pid=pid, started=read_stat(pid)[1])


def running(program: Detached) -> bool:
    """Whether that very program is still running."""
    # Its number may have gone to another child, which is not to be reaped here.
    if sys.platform != "linux" or read_stat(program.pid)[1] != program.started:
        return False
    _reap(program.pid)
    return _lives(program.pid)


async def end(program: Detached) -> None:
    """End it and all below it: TERM, a short grace, KILL."""
    if not running(program):
        return
    # Those whose parents end first are nobody's children any more.
    targets = _with_children([program.pid])
    with anyio.move_on_after(4 * GRACE):
        kill_at = anyio.current_time() + GRACE
        _signal(signal.SIGTERM, targets)
        while targets := [pid for pid in _with_children(targets) if _lives(pid)]:
            _reap(program.pid)
            if anyio.current_time() >= kill_at:
                _signal(signal.SIGKILL, targets)
            await anyio.sleep(PAUSE)


def _with_children(pids: list[int]) -> list[int]:
    """`pids` and what they have started; each once, parents first."""
    return list(dict.fromkeys(below(pids, children_of_all())))


def _lives(pid: int) -> bool:
    """Whether it has not ended, be it that nobody asked for its status yet (field 3 of
    proc_pid_stat(5))."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in b"ZX"


def _reap(pid: int) -> None:
    """Forget a child that has ended."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _signal(number: int, targets: list[int]) -> None:
    for pid in targets:
        with suppress(OSError):
            os.kill(pid, number)
