"""The keeper of child processes, run as a script of its own: `python -I -S reaper.py FD`.

It is not imported by Hermes and imports nothing of it; `system/process` starts one and speaks to
it over the socket FD. For each command it keeps one *warden*, a fork of itself that starts the
command, waits for it, and can end all that came of it. On Linux a warden is a subreaper: a process
that left its group, session and parent still falls to the warden of its command, so the warden's
descendants are the command's, exactly. Elsewhere only the command's process group is reached.

One warden always stands by, so that a command need not wait for a fork. It takes one request from
FD: a byte with three descriptors (control socket, write and read end of the output pipe). Over the
control socket then come

- in: 4 bytes of length and a body (NUL between the parts: folder, number of arguments, arguments,
  `NAME=value` ...), later `d` (read the output and drop it: nobody listens any more) or `k`;
- out: `e STATUS MORE` once the command has ended (MORE is 1 if it left processes behind), or
  `! ERRNO` if it could not start; end of file once nothing of it is left.

`k`, or the end of the control socket by whatever death of Hermes, ends the whole tree: TERM, a
short grace, KILL. The C modules `_signal` and `_socket` stand for their Python fronts because
those double this script's start (21 against 38 ms) and weigh on every fork.
"""

import _signal  # type: ignore[import-not-found]  # typeshed does not list it
import _socket
import ctypes
import os
import select
import sys
import time
from typing import NoReturn

GRACE = 0.25
"""Seconds between TERM and KILL; the whole has to fit into one second."""

STUBBORN = 1.5
"""Seconds the keeper waits for its wardens before it kills what they did not."""

BREATH = 5
"""Milliseconds between a command's start and the fork of the next warden, unless that is needed at
once: two cores are busy enough with the command."""

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


def parent_of(pid: int) -> int:
    """The parent of `pid`, or -1 if that is gone; field 4 of proc_pid_stat(5)."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return -1
    try:
        # The name before it, in parentheses, may hold anything.
        return int(os.read(fd, 1024).rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return -1
    finally:
        os.close(fd)


def descendants() -> list[int]:
    """Every process below this one, parents first; empty where there is no /proc to tell."""
    if sys.platform != "linux":
        return []
    children: dict[int, list[int]] = {}
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit():
                pid = int(entry.name)
                children.setdefault(parent_of(pid), []).append(pid)
    found = [os.getpid()]
    for pid in found:
        found.extend(children.get(pid, ()))
    return found[1:]


def send_signal(signal: int, group: int) -> None:
    """Signal all descendants, or where they cannot be listed the process group `group`."""
    targets = descendants() if sys.platform == "linux" else [-group]
    for pid in targets:
        try:
            os.kill(pid, signal)
        except OSError:
            continue


def end_all(group: int, wake: int) -> dict[int, int]:
    """End every descendant; returns the wait statuses of the children among them."""
    ended, more = reap()
    if more:
        send_signal(_signal.SIGTERM, group)
    deadline = time.monotonic() + GRACE
    waiter = select.poll()
    waiter.register(wake, select.POLLIN)
    while more:
        left = deadline - time.monotonic()
        if left <= 0:
            send_signal(_signal.SIGKILL, group)
        waiter.poll(left * 1000 if left > 0 else 5)
        drop(wake)
        batch, more = reap()
        ended.update(batch)
    return ended


def read_request(control: int) -> tuple[str, list[str], dict[str, str]]:
    """Folder, arguments and environment of the command to start."""

    def exactly(size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = os.read(control, size - len(data))
            if not part:
                os._exit(0)
            data += part
        return data

    body = exactly(int.from_bytes(exactly(4), "big"))
    cwd, count, *rest = map(os.fsdecode, body.split(b"\0"))
    arguments, variables = rest[: int(count)], rest[int(count) :]
    return cwd, arguments, dict(variable.split("=", 1) for variable in variables)


def start(control: int, output: int) -> int:
    """Start the requested command in a group of its own; its pid. Raises OSError."""
    cwd, arguments, env = read_request(control)
    os.chdir(cwd)
    nothing = os.open(os.devnull, os.O_RDONLY)
    actions = [(os.POSIX_SPAWN_DUP2, nothing, 0)]
    actions += [(os.POSIX_SPAWN_DUP2, output, fd) for fd in (1, 2)]
    # Python ignores these two, and what is ignored stays ignored across exec.
    defaults = [_signal.SIGPIPE, _signal.SIGXFSZ]
    pid = os.posix_spawn(
        arguments[0],
        arguments,
        env,
        file_actions=actions,
        setpgroup=0,
        setsigdef=defaults,
    )
    os.close(nothing)
    os.close(output)
    os.chdir("/")
    return pid


def say(control: int, words: str) -> None:
    try:
        os.write(control, words.encode())
    except OSError:
        return


def look_after(command: int, control: int, output: int, wake: int) -> None:
    """Wait until nothing of `command` is left, or until it is to be ended."""
    waiter = select.poll()
    waiter.register(control, select.POLLIN)
    waiter.register(wake, select.POLLIN)
    while True:
        for fd, _ in waiter.poll():
            if fd == output:
                if not drop(output):
                    waiter.unregister(output)
            elif fd == control:
                order = os.read(control, 1)
                if order == b"d":
                    waiter.register(output, select.POLLIN)
                else:
                    ended = end_all(command, wake)
                    if command in ended:
                        say(control, f"e {os.waitstatus_to_exitcode(ended[command])} 0\n")
                    return
        drop(wake)
        ended, more = reap()
        if command in ended:
            say(control, f"e {os.waitstatus_to_exitcode(ended[command])} {int(more)}\n")
        if not more:
            return


def warden(door: _socket.socket, taken: int) -> None:
    """Take one request from `door`, say so by a byte on `taken`, and see it through."""
    wake = wake_on_child()
    adopt_orphans()
    os.setsid()
    _, ancillary, _, _ = door.recvmsg(1, _socket.CMSG_SPACE(3 * 4))
    if not ancillary:
        return
    data = ancillary[0][2]
    control, output, reader = (int.from_bytes(data[i : i + 4], sys.byteorder) for i in (0, 4, 8))
    for fd in (control, output, reader):
        os.set_inheritable(fd, False)
    door.close()
    try:
        command = start(control, output)
    except OSError as e:
        os.write(taken, b"+")
        say(control, f"! {e.errno}\n")
        return
    os.write(taken, b"+")
    os.close(taken)
    look_after(command, control, reader, wake)


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
        if pid in kept or parent_of(pid) in kept:
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
            send_signal(_signal.SIGKILL, os.getpid())
        waiter.poll(left * 1000 if left > 0 else 5)
        drop(wake)


def hung_up(door: _socket.socket) -> bool:
    try:
        return not door.recv(1, _socket.MSG_PEEK | _socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False


def main() -> NoReturn:
    door = _socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(door.fileno(), False)
    # A Python handler must stand, or the descriptor of `wake_on_child` is never written to.
    _signal.signal(_signal.SIGCHLD, lambda *_: None)
    adopt_orphans()
    keep(door, wake_on_child())
    os._exit(0)


if __name__ == "__main__":
    main()
