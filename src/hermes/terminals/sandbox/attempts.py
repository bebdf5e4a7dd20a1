"""What a hostile command would try, run inside a sandbox: `python -I -S attempts.py ATTEMPT ...`.

Each ATTEMPT is a name and its arguments with newlines between them. For each a line comes out: its
number and `held REASON`, or `broken`. Nothing is harmed by an attempt that succeeds: what is opened
is not changed, what is made is removed. Numbers are those of ptrace(2), unshare(2), umount(2),
linux/tty.h and mknod(2).
"""
# ruff: noqa: PTH104, PTH108, PTH112, PTH115, PTH123, PTH208, PTH211
# Paths are strings: this is what a command would do.

import ctypes
import errno
import fcntl
import os
import socket
import stat
import sys
from collections.abc import Callable

PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
NEW_USER, NEW_MOUNTS = 0x10000000, 0x00020000
BIND, DETACH = 4096, 2
TIOCSTI = 0x5412
PATIENCE = 5
BROKEN = 3

LIBC = ctypes.CDLL(None, use_errno=True)


def call(result: int) -> None:
    """Raise OSError if a C call failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def read(path: str) -> None:
    """Read the first byte of a file; an empty one holds nothing."""
    with open(path, "rb") as file:
        if not file.read(1):
            raise OSError(errno.ENODATA, "empty")


def write(path: str) -> None:
    """Open a file for writing without changing it, or make one in a folder and remove it."""
    if os.path.isdir(path):
        made = f"{path}/.hermes-attempt-{os.getpid()}"
        os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.unlink(made)
    else:
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND))


def rename(path: str) -> None:
    os.rename(path, f"{path}.hermes-attempt")
    os.rename(f"{path}.hermes-attempt", path)


def through_link(path: str, scratch: str) -> None:
    link = f"{scratch}/link-{os.getpid()}"
    os.symlink(path, link)
    try:
        read(link)
    finally:
        os.unlink(link)


def through_hard_link(path: str, scratch: str) -> None:
    link = f"{scratch}/hard-{os.getpid()}"
    os.link(path, link)
    try:
        read(link)
    finally:
        os.unlink(link)


def through_proc(path: str) -> None:
    """By the root and working folder of every process that can be seen."""
    own = {"self", "thread-self", str(os.getpid())}
    for name in os.listdir("/proc"):
        if name.isdigit() and name not in own:
            for way in ("root", "cwd"):
                try:
                    read(f"/proc/{name}/{way}{path}")
                except OSError:
                    continue
                return
    raise OSError(errno.EACCES, "no process leads there")


def environment_of(pid: str) -> None:
    read(f"/proc/{pid}/environ")


def descriptors() -> None:
    """Any descriptor but the three standard ones was left open by somebody outside."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            where = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if int(name) > 2 and not where.endswith("/fd"):
            found.append(where)
    if not found:
        raise OSError(errno.EBADF, "none but the standard ones")


def unmount(cover: str, path: str) -> None:
    """Take a cover away, as we are and in a user namespace of our own."""
    LIBC.umount2(os.fsencode(cover), DETACH)
    try:
        read(path)
    except OSError:
        call(LIBC.unshare(NEW_USER | NEW_MOUNTS))
        LIBC.umount2(os.fsencode(cover), DETACH)
        read(path)


def bind_elsewhere(path: str, scratch: str) -> None:
    """Mount the folder above at another place, where no cover lies."""
    call(LIBC.unshare(NEW_USER | NEW_MOUNTS))
    folder, name = os.path.split(path)
    call(LIBC.mount(os.fsencode(folder), os.fsencode(scratch), None, BIND, None))
    read(f"{scratch}/{name}")


def new_disk(number: str, scratch: str) -> None:
    """Make a device node for a disk and read it."""
    made = f"{scratch}/disk-{os.getpid()}"
    os.mknod(made, 0o600 | stat.S_IFBLK, int(number))
    try:
        read(made)
    finally:
        os.unlink(made)


def trace(pid: str) -> None:
    call(LIBC.ptrace(PTRACE_SEIZE, int(pid), 0, 0))
    LIBC.ptrace(PTRACE_DETACH, int(pid), 0, 0)


def signal(pid: str) -> None:
    os.kill(int(pid), 0)


def connect(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


def connect_abstract(name: str) -> None:
    connect(f"\0{name}")


def connect_tcp(port: str) -> None:
    with socket.socket() as client:
        client.connect(("127.0.0.1", int(port)))


def type_into(terminal: str) -> None:
    """Put a key into somebody's terminal as if it had been typed there."""
    fd = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(fd, TIOCSTI, b"x")


def in_background(path: str) -> None:
    """Read from a process that has left its group, its session and its parent."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            try:
                read(path)
                os.write(writer, b"+")
            finally:
                os._exit(0)
        os._exit(0)
    os.close(writer)
    if not os.read(reader, 1):
        raise OSError(errno.EACCES, "not from there either")


ATTEMPTS: dict[str, Callable[..., None]] = {
    each.__name__: each
    for each in (
        read, write, rename, through_link, through_hard_link, through_proc, environment_of,
        descriptors, unmount, bind_elsewhere, new_disk, trace, signal, connect,
        connect_abstract, connect_tcp, type_into, in_background,
    )
}  # fmt: skip


def attempt(words: list[str]) -> str:
    """Try one in a process of its own, as some change what they run in; what came of it."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        LIBC.alarm(PATIENCE)
        os.set_inheritable(writer, False)
        said = "broken"
        try:
            if words[0] == "descriptors":
                os.dup2(writer, 2)
                os.close(writer)
                writer = 2
            ATTEMPTS[words[0]](*words[1:])
        except OSError as e:
            said = f"held {e.strerror or e}"
        finally:
            os.write(writer, said.encode())
            os._exit(0)
    os.close(writer)
    said = os.read(reader, 4096).decode()
    os.close(reader)
    os.waitpid(pid, 0)
    return said or "held it did not end"


def main() -> None:
    for number, line in enumerate(sys.argv[1:]):
        os.write(1, f"{number} {attempt(line.split(chr(10)))}\n".encode())


if __name__ == "__main__":
    main()
