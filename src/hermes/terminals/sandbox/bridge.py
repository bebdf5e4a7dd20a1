"""The way out of a sandbox without a network: 127.0.0.1:PORT inside to a socket file outside.

Part of `inside.py`, and like it not run by Hermes. The process that calls `serve` becomes the
bridge and its child goes on; the bridge ends when the child does, with the same status.
"""

# ruff: noqa: PTH208  pathlib costs 5 ms

import _socket
import _thread
import os
import select

CHUNK = 65536
BACKLOG = 64


def serve(port: str, path: str) -> None:
    """Return in a child, and stay behind as the bridge."""
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(port)))
    listener.listen(BACKLOG)
    child = os.fork()
    if child == 0:
        listener.close()
        return
    ended = os.pidfd_open(child)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in {listener.fileno(), ended}:
            try:
                os.close(int(name))
            except OSError:
                continue  # That was the listing's own.
    accept(listener, path, ended)
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def accept(listener: _socket.socket, path: str, ended: int) -> None:
    """Connect each that comes, until the process of `ended` has ended."""
    waiter = select.poll()
    waiter.register(listener.fileno(), select.POLLIN)
    waiter.register(ended, select.POLLIN)
    while all(fd != ended for fd, _ in waiter.poll()):
        fd, _ = listener._accept()  # type: ignore[attr-defined]  # noqa: SLF001  its front is in Python
        inside = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM, 0, fileno=fd)
        outside = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            outside.connect(path)
        except OSError:
            inside.close()
            continue
        _thread.start_new_thread(carry, (inside, outside))
        _thread.start_new_thread(carry, (outside, inside))


def carry(source: _socket.socket, target: _socket.socket) -> None:
    """Pass on what comes until its end; both threads keep both sockets until they are done."""
    try:
        while data := source.recv(CHUNK):
            target.sendall(data)
        target.shutdown(_socket.SHUT_WR)
    except OSError:
        for each in (source, target):
            try:
                each.shutdown(_socket.SHUT_RDWR)
            except OSError:
                continue
