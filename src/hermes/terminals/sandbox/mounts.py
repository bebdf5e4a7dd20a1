"""Mounts a plan in a mount namespace of our own: part of `inside.py`, not run by Hermes.

bubblewrap could do it, in 25 ms for the 60 places of a usual plan, as it reads the table of mounts
again for each; by these calls it is one millisecond. Sources: open_tree(2), move_mount(2),
mount_setattr(2) (Linux 5.12), linux/mount.h.
"""
# ruff: noqa: PTH101, PTH103, PTH112, PTH120, PTH211
# pathlib costs 5 ms.

import ctypes
import os
import stat
import sys

OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
HERE = -100
CLONE, CLOSE_ON_EXEC = 1, os.O_CLOEXEC
RECURSIVE, EMPTY_PATH, FROM_FD = 0x8000, 0x1000, 0x4
READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC = 1, 2, 4, 8
NOSUID_NODEV = 2 | 4
"""MS_NOSUID and MS_NODEV of mount(2)."""

LIBC = ctypes.CDLL(None, use_errno=True)


def fail(what: str) -> None:
    """Raise OSError for the last call if it failed with anything."""
    number = ctypes.get_errno()
    raise OSError(number, f"{os.strerror(number)}: {what}")


def tree_of(path: str) -> int:
    """A copy of what is mounted at and below `path`, as a descriptor."""
    flags = CLONE | CLOSE_ON_EXEC | RECURSIVE
    fd = LIBC.syscall(OPEN_TREE, HERE, os.fsencode(path), flags)
    if fd < 0:
        fail(path)
    return int(fd)


def change(fd: int, path: str, attributes: int, flags: int) -> None:
    wanted = b"".join(n.to_bytes(8, sys.byteorder) for n in (attributes, 0, 0, 0))
    size = ctypes.c_size_t(len(wanted))
    if LIBC.syscall(MOUNT_SETATTR, fd, os.fsencode(path), flags, wanted, size):
        fail(path)


def put(tree: int, path: str) -> None:
    """Mount a copy at `path`."""
    if LIBC.syscall(MOVE_MOUNT, tree, b"", HERE, os.fsencode(path), FROM_FD):
        fail(path)
    os.close(tree)


def cover(path: str) -> None:
    """An empty folder over `path`, writable so far."""
    where = os.fsencode(path)
    if LIBC.mount(b"tmpfs", where, b"tmpfs", NOSUID_NODEV, b"mode=0700"):
        fail(path)


def make_place(path: str, like: int) -> None:
    """Make in a cover what can be mounted on."""
    if stat.S_ISDIR(os.fstat(like).st_mode):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_CLOEXEC, 0o600))


def mount_all(rules: "list[tuple[str, str]]") -> None:
    """Carry out `rules`, pairs of a letter and a path, folders before what is in them.

    `w` stays as it is, `r` is read-only, `h` hidden, `c` a cover that shows only what has a rule,
    `p` an empty folder of our own, `lTARGET` a link. Raises OSError; the program must not go on
    then.
    """
    # First of all, as covers will hide them.
    trees = {path: tree_of(path) for how, path in rules if how in {"w", "r"} and path != "/"}
    covers: list[str] = []
    if ("r", "/") in rules:
        change(HERE, "/", READ_ONLY, RECURSIVE)
    for how, path in rules:
        if path == "/":
            continue
        if how in {"w", "r"}:
            tree = trees[path]
            if how == "r":
                change(tree, "", READ_ONLY, RECURSIVE | EMPTY_PATH)
            if not os.path.lexists(path):
                make_place(path, tree)
            put(tree, path)
        elif how[0] == "l":
            os.symlink(how[1:], path)
        elif how == "h" and not os.path.lexists(path):
            continue  # It is in a cover already.
        elif how in {"c", "p"} or os.path.isdir(path):
            os.makedirs(path, exist_ok=True)
            cover(path)
            if how != "p":
                covers.append(path)
        else:
            tree = tree_of(os.devnull)
            change(tree, "", READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC, EMPTY_PATH)
            put(tree, path)
    for path in covers:
        os.chmod(path, 0o555)
        change(HERE, path, READ_ONLY, 0)
