"""Finding and ending what has come of a process; see `keeper`."""

import _signal  # type: ignore[import-not-found]  # typeshed does not list it
import ctypes
import os
import select
import sys
import time

GRACE = 0.25
"""Seconds between TERM and KILL; the whole has to fit into one second."""

SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER, linux/prctl.h."""


def adopt_orphans() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def wake_on_child() -> int:
    """A descriptor that becomes readable whenever a child has ended."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    _signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def drop(fd: int) -> bool:
    """Read what is there and forget it; false at the end of the file."""
    try:
        return bool(os.read(fd, 65536))
    except BlockingIOError:
        return True
    except OSError:  # A terminal that nobody holds any more says so this way.
        return False


def reap() -> tuple[dict[int, int], bool]:
    """The children that have ended with their wait status, and whether there are others."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended, False
        if pid == 0:
            return ended, True
        ended[pid] = status


def read_stat(pid: int) -> tuple[int, int]:
    """The parent of `pid` and its start in ticks since boot, or (-1, 0) if it is gone; fields 4 and
    22 of proc_pid_stat(5)."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return -1, 0
    try:
        # The name before it, in parentheses, may hold anything.
        fields = os.read(fd, 1024).rpartition(b")")[2].split()
        return int(fields[1]), int(fields[19])
    except (OSError, IndexError):
        return -1, 0
    finally:
        os.close(fd)


def children_of_all() -> dict[int, list[tuple[int, int]]]:
    """For each process its children, as (pid, start)."""
    children: dict[int, list[tuple[int, int]]] = {}
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit():
                pid = int(entry.name)
                parent, started = read_stat(pid)
                children.setdefault(parent, []).append((pid, started))
    return children


def below(roots: list[int], children: dict[int, list[tuple[int, int]]]) -> list[int]:
    """`roots` and all that come of them, parents first."""
    found = list(roots)
    for pid in found:
        found.extend(child for child, _ in children.get(pid, ()))
    return found


def descendants() -> list[int]:
    """Every process below this one, parents first; empty where there is no /proc to tell."""
    if sys.platform != "linux":
        return []
    return below([os.getpid()], children_of_all())[1:]


def current_call(shell: int, since: int) -> list[int]:
    """What the running child of `shell` has come to: see the order `c` above."""
    children = children_of_all()
    strays = [pid for pid, at in children.get(os.getpid(), ()) if pid != shell and at >= since]
    return below([pid for pid, _ in children.get(shell, ())] + strays, children)


def send_signal(signal: int, targets: list[int]) -> None:
    for pid in targets:
        try:
            os.kill(pid, signal)
        except OSError:
            continue


def targets_of(group: int) -> list[int]:
    """All descendants, or where they cannot be listed the process group `group`."""
    return descendants() if sys.platform == "linux" else [-group]


def end_all(group: int, wake: int) -> dict[int, int]:
    """End every descendant; returns the wait statuses of the children among them."""
    ended, more = reap()
    if more:
        send_signal(_signal.SIGTERM, targets_of(group))
    deadline = time.monotonic() + GRACE
    waiter = select.poll()
    waiter.register(wake, select.POLLIN)
    while more:
        left = deadline - time.monotonic()
        if left <= 0:
            send_signal(_signal.SIGKILL, targets_of(group))
        waiter.poll(left * 1000 if left > 0 else 5)
        drop(wake)
        batch, more = reap()
        ended.update(batch)
    return ended


def end_call(shell: int, since: int, wake: int) -> dict[int, int]:
    """End the running child of `shell` with all that came of it, in the same way; returns the wait
    statuses of the children of this process that ended meanwhile."""
    ended: dict[int, int] = {}
    targets = current_call(shell, since)
    send_signal(_signal.SIGTERM, targets)
    deadline = time.monotonic() + GRACE
    waiter = select.poll()
    waiter.register(wake, select.POLLIN)
    while targets and shell not in ended:
        # The shell's own children do not wake this process.
        waiter.poll(5)
        drop(wake)
        ended.update(reap()[0])
        targets = current_call(shell, since)
        if time.monotonic() >= deadline:
            send_signal(_signal.SIGKILL, targets)
    return ended
