"""Which commands are proven to change no file; of any other it is not known.

Only plain words, quotes, pipes, `&&`, `||` and `;` are understood. Anything else, and any program
or option that is not listed, counts as one that may write.
"""

import re
import shlex
from typing import Final

PLAIN: Final = frozenset(
    (
        "[",
        "basename",
        "cat",
        "cd",
        "cmp",
        "column",
        "comm",
        "cut",
        "date",
        "df",
        "diff",
        "dirname",
        "du",
        "echo",
        "egrep",
        "expr",
        "false",
        "fgrep",
        "file",
        "grep",
        "groups",
        "head",
        "hostname",
        "id",
        "join",
        "ls",
        "md5sum",
        "nl",
        "od",
        "paste",
        "printf",
        "ps",
        "pwd",
        "readlink",
        "realpath",
        "rg",
        "rev",
        "seq",
        "sha1sum",
        "sha256sum",
        "stat",
        "strings",
        "tail",
        "test",
        "tr",
        "true",
        "type",
        "uname",
        "uptime",
        "wc",
        "which",
        "whoami",
    )
)
"""Programs that write nothing, whatever their arguments are."""

WRITING: Final = {"date": ("-s", "--set"), "file": ("-C", "--compile"), "hostname": None, "ls": ()}
"""Options with which they do; None: only without any argument."""

GIT: Final = frozenset(
    ("blame", "describe", "diff", "log", "ls-files", "rev-parse", "shortlog", "show", "status")
)

_SAFE_REDIRECTIONS: Final = re.compile(r"(?<=\s)(?:2>&1|[12]?>\s*/dev/null)(?=\s|$)")


def proven_read_only(command: str) -> bool:
    """Whether `command` surely changes no file; in doubt it does."""
    if any(mark in command for mark in ("$", "`", "\\", "\n", "\r", "\0")):
        return False
    try:
        lexer = shlex.shlex(
            _SAFE_REDIRECTIONS.sub(" ", command), posix=True, punctuation_chars="();<>|&"
        )
        lexer.whitespace_split = True
        lexer.commenters = ""
        words = list(lexer)
    except ValueError:
        return False
    segments: list[list[str]] = [[]]
    for word in words:
        if word in ("|", "&&", "||", ";"):
            segments.append([])
        elif set(word) & set("();<>|&"):
            return False
        else:
            segments[-1].append(word)
    return all(map(_reads, filter(None, segments))) and any(segments)


def _reads(words: list[str]) -> bool:
    program, *arguments = words
    if program == "git":
        verb = next((a for a in arguments if not a.startswith("-")), "")
        writes = any(a.startswith(("--output", "--ext-diff", "-c", "-C")) for a in arguments)
        return verb in GIT and not writes and arguments[0] == verb
    if program not in PLAIN:
        return False
    if program == "rg" and any(a.startswith(("--pre", "--hostname-bin")) for a in arguments):
        return False
    writing = WRITING.get(program, ())
    if writing is None:
        return not arguments
    return not any(a.startswith(option) for a in arguments for option in writing)
