"""The keeper of child processes, a program of its own that `main` starts with FD as its argument.

It imports nothing of Hermes but the modules beside it; `system/process` starts one and speaks to it
over the socket FD. For each command it keeps one *warden*, a fork of itself that starts the
command, waits for it, and can end all that came of it. On Linux a warden is a subreaper: a process
that left its group, session and parent still falls to the warden of its command, so the warden's
descendants are the command's, exactly. Elsewhere only the command's process group is reached.

One warden always stands by, so that a command need not wait for a fork. It takes one request from
FD: a byte with descriptors (control socket, write end of the output, others for the command). Over
the control socket then come

- in: 4 bytes of length and a body (NUL between the parts: the numbers that the other descriptors
  get in the command, or `t` if the output is a terminal and to be its own; folder, number of
  arguments, arguments, `NAME=value` ...);
- out: `p PID` when it has started, or `! ERRNO` if it could not; `e STATUS MORE` once the command
  has ended (MORE is 1 if it left processes behind); end of file once nothing of it is left;
- in, at any time: `d` with a descriptor (read it to its end and drop that: nobody listens any
  more); `k`; and for a command that is a shell `cTICKS` and a newline (end what its running child
  has come to: all below it, and all strays that started at TICKS since boot or later; the shell
  itself stays), which is answered by `c` when that is done.

`k`, or the end of the control socket by whatever death of Hermes, ends the whole tree: TERM, a
short grace, KILL. The C modules `_signal` and `_socket` stand for their Python fronts because
those double the keeper's start (21 against 38 ms) and weigh on every fork.
"""

import _signal  # type: ignore[import-not-found]  # typeshed does not list it
import _socket
import os
import select
import sys
import time

from hermes.system.keeper.processes import (
    adopt_orphans,
    descendants,
    drop,
    read_stat,
    reap,
    send_signal,
    targets_of,
    wake_on_child,
)
from hermes.system.keeper.warden import warden

TYPE_CHECKING = False  # `typing` brings `re` and `enum`, and costs 8 ms.
if TYPE_CHECKING:
    from typing import NoReturn

STUBBORN = 1.5
"""Seconds the keeper waits for its wardens before it kills what they did not."""

BREATH = 5
"""Milliseconds between a command's start and the fork of the next warden, unless that is needed at
once: two cores are busy enough with the command."""


def fork_warden(door: _socket.socket, wake: int) -> tuple[int, int]:
    """A new warden's pid, and the descriptor that tells when it has taken a request."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    failed = 1
    try:
        os.close(reader)
        os.close(wake)
        warden(door, writer)
        failed = 0
    finally:
        os._exit(failed)


def kill_strays(wardens: set[int]) -> None:
    """End what a killed warden left: all that has come to the keeper and is no warden's."""
    kept = set(wardens)
    for pid in descendants():
        if pid in kept or read_stat(pid)[0] in kept:
            kept.add(pid)
            continue
        try:
            os.kill(pid, _signal.SIGKILL)
        except OSError:
            continue


def reap_wardens(wardens: set[int]) -> bool:
    """Forget the wardens that have ended; whether there are children left."""
    ended, more = reap()
    if any(status for pid, status in ended.items() if pid in wardens):
        kill_strays(wardens - ended.keys())
    wardens.difference_update(ended)
    return more


def keep(door: _socket.socket, wake: int) -> None:
    """Hold a warden ready until Hermes closes its end of `door`, then see all of them out."""
    wardens: set[int] = set()
    while True:
        pid, taken = fork_warden(door, wake)
        wardens.add(pid)
        waiter = select.poll()
        waiter.register(taken, select.POLLIN)
        waiter.register(wake, select.POLLIN)
        while taken not in (fd for fd, _ in waiter.poll()):
            drop(wake)
            reap_wardens(wardens)
        used = os.read(taken, 1)
        os.close(taken)
        if not used and hung_up(door):
            break
        waiting = select.poll()
        waiting.register(door, select.POLLIN)
        waiting.poll(BREATH)
    deadline = time.monotonic() + STUBBORN
    waiter = select.poll()
    waiter.register(wake, select.POLLIN)
    while reap_wardens(wardens):
        left = deadline - time.monotonic()
        if left <= 0:
            send_signal(_signal.SIGKILL, targets_of(os.getpid()))
        waiter.poll(left * 1000 if left > 0 else 5)
        drop(wake)


def hung_up(door: _socket.socket) -> bool:
    try:
        return not door.recv(1, _socket.MSG_PEEK | _socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False


def main() -> "NoReturn":
    door = _socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(door.fileno(), False)
    # A Python handler must stand, or the descriptor of `wake_on_child` is never written to.
    _signal.signal(_signal.SIGCHLD, lambda *_: None)
    adopt_orphans()
    keep(door, wake_on_child())
    os._exit(0)
