"""The warden of one command: starts it, waits for it, ends all that came of it; see `keeper`."""

import _signal  # type: ignore[import-not-found]  # typeshed does not list it
import _socket
import os
import select
import sys

from hermes.system.keeper.processes import (
    adopt_orphans,
    drop,
    end_all,
    end_call,
    reap,
    wake_on_child,
)

HIGH = 64
"""Where descriptors wait on their way to a command."""

DESCRIPTORS = 2 + 3
"""How many may come with a request."""


def read_request(control: int) -> tuple[str, str, list[str], dict[str, str]]:
    """Descriptors, folder, arguments and environment of the command to start."""

    def exactly(size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = os.read(control, size - len(data))
            if not part:
                os._exit(0)
            data += part
        return data

    body = exactly(int.from_bytes(exactly(4), "big"))
    numbers, cwd, count, *rest = map(os.fsdecode, body.split(b"\0"))
    arguments, variables = rest[: int(count)], rest[int(count) :]
    return numbers, cwd, arguments, dict(variable.split("=", 1) for variable in variables)


def start(control: int, output: int, others: list[int]) -> int:
    """Start the requested command in a group of its own; its pid. Raises OSError."""
    numbers, cwd, arguments, env = read_request(control)
    os.chdir(cwd)
    nothing = os.open(os.devnull, os.O_RDONLY)
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]]
    if numbers == "t":
        # A terminal that the leader of a session opens becomes its controlling terminal.
        name = f"/dev/fd/{output}"
        actions = [(os.POSIX_SPAWN_OPEN, 0, name, os.O_RDWR, 0)]
        actions += [(os.POSIX_SPAWN_DUP2, 0, fd) for fd in (1, 2)]
    else:
        actions = [(os.POSIX_SPAWN_DUP2, nothing, 0)]
        actions += [(os.POSIX_SPAWN_DUP2, output, fd) for fd in (1, 2)]
        wanted = [int(number) for number in numbers.split()]
        for number, fd in zip(wanted, move_up(others), strict=True):
            actions.append((os.POSIX_SPAWN_DUP2, fd, number))
    pid = os.posix_spawn(
        arguments[0],
        arguments,
        env,
        file_actions=actions,
        # Python ignores these two, and what is ignored stays ignored across exec.
        setsigdef=[_signal.SIGPIPE, _signal.SIGXFSZ],
        **({"setsid": True} if numbers == "t" else {"setpgroup": 0}),
    )
    os.close(nothing)
    os.close(output)
    os.closerange(HIGH, HIGH + len(others))
    os.chdir("/")
    return pid


def move_up(fds: list[int]) -> list[int]:
    """The same descriptors under numbers that no command is given."""
    moved = [os.dup2(fd, HIGH + i, inheritable=False) for i, fd in enumerate(fds)]
    for fd in fds:
        os.close(fd)
    return moved


def say(control: int, words: str) -> None:
    try:
        os.write(control, words.encode())
    except OSError:
        return


def receive(fd: int, size: int) -> tuple[bytes, list[int]]:
    """Up to `size` bytes from a socket, and the descriptors that came with them."""
    door = _socket.socket(fileno=fd)
    try:
        data, ancillary, _, _ = door.recvmsg(size, _socket.CMSG_SPACE(DESCRIPTORS * 4))
    except OSError:
        data, ancillary = b"", []
    finally:
        door.detach()
    packed = ancillary[0][2] if ancillary else b""
    fds = [int.from_bytes(packed[i : i + 4], sys.byteorder) for i in range(0, len(packed), 4)]
    for each in fds:
        os.set_inheritable(each, False)
    return data, fds


def take_order(control: int, waiter: select.poll, wake: int, command: int) -> dict[int, int] | None:
    """Do what Hermes asks for; the wait statuses of those who ended meanwhile, or None if
    everything is to end."""
    order, fds = receive(control, 1)
    if order == b"d":
        os.set_blocking(fds[0], False)
        waiter.register(fds[0], select.POLLIN)
        return {}
    if order == b"c" and sys.platform == "linux":
        ticks = b""
        while (digit := os.read(control, 1)).isdigit():
            ticks += digit
        ended = end_call(command, int(ticks), wake)
        say(control, "c\n")
        return ended
    return None


def look_after(command: int, control: int, wake: int) -> None:
    """Wait until nothing of `command` is left, or until it is to be ended."""
    waiter = select.poll()
    waiter.register(control, select.POLLIN)
    waiter.register(wake, select.POLLIN)
    told = False
    while True:
        ended: dict[int, int] = {}
        for fd, _ in waiter.poll():
            if fd == control:
                batch = take_order(control, waiter, wake, command)
                if batch is None:
                    batch = end_all(command, wake)
                    if command in batch and not told:
                        say(control, f"e {os.waitstatus_to_exitcode(batch[command])} 0\n")
                    return
                ended.update(batch)
            elif fd != wake and not drop(fd):
                waiter.unregister(fd)
                os.close(fd)
        drop(wake)
        batch, more = reap()
        ended.update(batch)
        if command in ended:
            told = True
            say(control, f"e {os.waitstatus_to_exitcode(ended[command])} {int(more)}\n")
        if not more:
            return


def warden(door: _socket.socket, taken: int) -> None:
    """Take one request from `door`, say so by a byte on `taken`, and see it through."""
    wake = wake_on_child()
    adopt_orphans()
    os.setsid()
    _, fds = receive(door.fileno(), 1)
    if not fds:
        return
    control, output, *others = fds
    door.close()
    try:
        command = start(control, output, others)
    except OSError as e:
        os.write(taken, b"+")
        say(control, f"! {e.errno}\n")
        return
    os.write(taken, b"+")
    os.close(taken)
    say(control, f"p {command}\n")
    look_after(command, control, wake)
