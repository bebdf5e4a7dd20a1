"""Which commands are proven to change no file; of any other it is not known."""

from typing import Final

from hermes.safety.commands.classify import parsed, segments
from hermes.safety.commands.model import Segment

# fmt: off
PLAIN: Final = frozenset((
    "[", "basename", "cat", "cd", "cmp", "column", "comm", "cut", "date", "df", "diff", "dirname",
    "du", "echo", "egrep", "expr", "false", "fgrep", "file", "grep", "groups", "head", "hostname",
    "id", "join", "ls", "md5sum", "nl", "od", "paste", "printf", "ps", "pwd", "readlink",
    "realpath", "rg", "rev", "seq", "sha1sum", "sha256sum", "stat", "strings", "tail", "test", "tr",
    "true", "type", "uname", "uptime", "wc", "which", "whoami",
))
"""Programs that write nothing, whatever their arguments are, but for those of WRITING."""

WRITING: Final = {
    "date": ("-s", "--s"), "file": ("-C", "--c"), "rg": ("--pre", "--hostname-bin"),
    "printf": ("-v",), "hostname": ("",),
}
"""Beginnings of arguments with which they do."""
# fmt: on

GIT: Final = frozenset(
    ("blame", "describe", "diff", "log", "ls-files", "rev-parse", "shortlog", "show", "status")
)
_FOLDERS: Final = ("/bin/", "/usr/bin/")


def proven_read_only(command: str) -> bool:
    """Whether a command line surely changes no file."""
    walker = parsed(command, home="/", cwd="/")
    found = segments(walker)
    return not walker.error and bool(found) and all(map(_reads, found))


def _reads(segment: Segment) -> bool:
    if segment.wrappers or segment.assignments or segment.background or not segment.program:
        return False
    for each in segment.redirects:
        joins = each.operator == ">&" and (each.fd, each.target) == ("2", "1")
        reads = joins or each.operator in ("<", "<<", "<<-", "<<<")
        if not reads and (each.operator == "<>" or each.target != "/dev/null"):
            return False
    program, *arguments = segment.words
    if program != segment.program and program != next(
        (folder + segment.program for folder in _FOLDERS if program.startswith(folder)), ""
    ):
        return False
    if segment.program == "git":
        writes = any(a.startswith(("--output", "--ext-diff", "-c", "-C")) for a in arguments)
        return bool(arguments) and arguments[0] in GIT and not writes
    if segment.program not in PLAIN:
        return False
    writing = WRITING.get(segment.program, ())
    # An argument that is known only when it runs may be such an option.
    return not any(a.startswith(("\0", *writing)) for a in arguments) if writing else True
