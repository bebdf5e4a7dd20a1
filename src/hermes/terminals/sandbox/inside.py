"""What goes on in a process that enters a sandbox, see `enter.py`.

Hermes does not run it, and it imports nothing of Hermes but what lies beside it, and little of the
library: it is paid with each session. SCRIPT is Python, and runs in this very process, as a second
start of Python would cost what all the rest of the sandbox does; with `exec` among the words it is
the path of any program. The words:

- `mHOW`, a newline and a path: see `mounts.mount_all`; needs a mount namespace of our own;
- `scope`: no sockets with abstract names of others and no signals to others, as far as the kernel
  knows that (Landlock ABI 6); alone it never fails;
- `b/PATH`, `r/PATH`, `w/PATH`, `l/PATH`: with Landlock, only read PATH and all below it, read and
  write it, or only list it (`b` for a device: read, write, and all it can do); nothing else is
  reached. `fs` has to come first;
- `tcp` and `tcp=PORT`: no TCP, but to PORT;
- `caps=N,N...`: keep only these capabilities, none if it ends there;
- `die`: end when the parent does, which is bubblewrap;
- `bridge=PORT:PATH`: what connects to 127.0.0.1:PORT is connected to the socket PATH outside.

Numbers are those of landlock(7), linux/landlock.h and linux/capability.h. Exit status 71 if the
kernel refused; nothing has run then.
"""

# ruff: noqa: PTH112, PTH123  pathlib costs 5 ms

import ctypes
import os
import sys

from hermes.terminals.sandbox.mounts import mount_all

TYPE_CHECKING = False  # `typing` costs 3 ms.
if TYPE_CHECKING:
    from typing import NoReturn

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
RULE_PATH, RULE_PORT = 1, 2
NO_NEW_PRIVS, CAPBSET_DROP, CAP_AMBIENT, AMBIENT_CLEAR = 38, 24, 47, 4
PARENT_DEATH_SIGNAL, KILL = 1, 9
CAPABILITY_VERSION = 0x20080522
LAST_CAPABILITY = 63

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READ = EXECUTE | READ_FILE | READ_DIR
FS_BITS = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many of the rights a version knows; 16 since the fifth."""
CONNECT_TCP = 1 << 1
BOTH_TCP = 3
SCOPES = 3
REFUSED = 71

LIBC = ctypes.CDLL(None, use_errno=True)


def refuse(why: str) -> "NoReturn":
    os.write(2, f"sandbox: {why}\n".encode())
    os._exit(REFUSED)


def fail(what: str) -> "NoReturn":
    refuse(f"{what}: {os.strerror(ctypes.get_errno())}")


def abi() -> int:
    """Landlock's version in this kernel; 0 if it has none or it is off."""
    return max(0, int(LIBC.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)))


def add_path(ruleset: int, path: str, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return  # It has gone meanwhile, and nothing is given away by leaving it out.
    rights = access if os.path.isdir(path) else access & FILE_RIGHTS
    rule = rights.to_bytes(8, sys.byteorder) + fd.to_bytes(4, sys.byteorder)
    if LIBC.syscall(ADD_RULE, ruleset, RULE_PATH, rule, 0):
        fail(f"Landlock does not take {path}")
    os.close(fd)


def add_port(ruleset: int, port: int) -> None:
    rule = CONNECT_TCP.to_bytes(8, sys.byteorder) + port.to_bytes(8, sys.byteorder)
    if LIBC.syscall(ADD_RULE, ruleset, RULE_PORT, rule, 0):
        fail(f"Landlock does not take port {port}")


def restrict(words: "list[str]") -> None:
    """Take from this process, for good, what the words do not give."""
    version = abi()
    everything = (1 << FS_BITS.get(version, 16)) - 1
    granted = {
        "l": READ_DIR,
        "r": READ,
        "w": everything & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV),
        "b": everything & ~(MAKE_CHAR | MAKE_BLOCK),
    }
    handled = everything if "fs" in words else 0
    tcp = BOTH_TCP if "tcp" in words and version >= 4 else 0
    scopes = SCOPES if "scope" in words and version >= 6 else 0
    if not (handled or tcp or scopes):
        return
    size = 8 if version < 4 else 16 if version < 6 else 24
    attributes = b"".join(n.to_bytes(8, sys.byteorder) for n in (handled, tcp, scopes))
    ruleset = LIBC.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(size), 0)
    if ruleset < 0:
        fail("Landlock")
    for word in words:
        if word[1:2] == "/":
            add_path(ruleset, word[1:], granted[word[0]] & everything)
        elif word.startswith("tcp=") and tcp:
            add_port(ruleset, int(word[4:]))
    if LIBC.syscall(RESTRICT_SELF, ruleset, 0):
        fail("Landlock")
    os.close(ruleset)


def drop_capabilities(kept: "set[int]") -> None:
    """Keep only `kept`, here and in all that is started."""
    for number in range(LAST_CAPABILITY + 1):
        if number not in kept and LIBC.prctl(CAPBSET_DROP, number, 0, 0, 0):
            break  # The kernel knows no more.
    LIBC.prctl(CAP_AMBIENT, AMBIENT_CLEAR, 0, 0, 0)
    mask = sum(1 << number for number in kept)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    held = (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)
    if LIBC.capset(header, held):
        fail("capabilities")


def end_with_parent(words: "list[str]") -> None:
    """A process asks for itself; a fork of it has to ask again."""
    if "die" in words:
        LIBC.prctl(PARENT_DEATH_SIGNAL, KILL, 0, 0, 0)


def option(words: "list[str]", name: str) -> "str | None":
    """What follows `name=` among `words`, None if that is not there."""
    return next((word[len(name) + 1 :] for word in words if word.startswith(f"{name}=")), None)


def main() -> None:
    cut = sys.argv.index("--")
    words, sys.argv = sys.argv[1:cut], sys.argv[cut + 1 :]
    if bridge := option(words, "bridge"):
        end_with_parent(words)
        # lazy: threads, for the few who need it
        from hermes.terminals.sandbox.bridge import serve

        serve(*bridge.split(":", 1))
    parted = (word[1:].partition("\n") for word in words if word[0] == "m")
    if mounts := [(how, path) for how, _, path in parted]:
        try:
            mount_all(mounts)
        except OSError as e:
            refuse(f"mount: {e}")
    if LIBC.prctl(NO_NEW_PRIVS, 1, 0, 0, 0):
        fail("no_new_privs")
    restrict(words)
    if (kept := option(words, "caps")) is not None:
        drop_capabilities({int(number) for number in kept.split(",") if number})
    end_with_parent(words)
    script = sys.argv[0]
    if "exec" in words:
        try:
            os.execv(script, sys.argv)
        except OSError as e:
            refuse(f"{script}: {e.strerror}")
    with open(script, "rb") as file:
        code = compile(file.read(), script, "exec")
    exec(code, {"__name__": "__main__", "__file__": script, "__builtins__": __builtins__})
