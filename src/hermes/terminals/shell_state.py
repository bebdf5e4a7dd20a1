"""What a shell hands to the next one: exported variables, functions, aliases, working folder.

Every command runs in a bash of its own. On its way out, also by `exit N` or SIGTERM, that bash
writes a *dump*: shell text that restores its state, NUL, the working folder, NUL. The next bash
reads the text. Not carried: variables that are not exported, shell options, and all changes of a
command that replaces the shell (`exec`), is killed outright, or sets its own EXIT trap and then
calls `exit`.
"""

import os
from pathlib import Path
from typing import Final

OWN: Final = ("PWD", "SHLVL", "SHELLOPTS", "BASHOPTS", "AI_AGENT", "HERMES_AGENT")
"""Variables that belong to one command only; with HERMES_SESSION_ID, which `LocalTerminal` sets."""

SAVE: Final = (
    "__hermes_save() {{ local rc=$?; unset -f __hermes_save; set +eux; "
    f"export -n {' '.join(OWN)} HERMES_SESSION_ID; "
    "{{ export -p; declare -f; declare -Fx; alias -p; printf '\\0%s\\0' \"$PWD\"; }} 1<>{dump}; "
    "return $rc; }}; "
)
"""Writes the dump once; keeps the exit status. `1<>` writes over an old state without emptying the
file first, which ext4 would make wait for the disk; `take_dump` cuts off what is left of it."""

RUN: Final = "{{ __hermes_save; }} 2>/dev/null"


def quoted(text: str) -> str:
    """`text` as one word of bash, on one line whatever it holds."""
    for plain, escaped in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n")):
        text = text.replace(plain, escaped)
    return f"$'{text}'"


def script(command: str, *, dump: Path, state: Path | None, source: Path | None) -> str:
    """The text for `bash -c` that restores the state in the file `state`, runs, and dumps.

    All of it is one line, so that line numbers in error messages are the command's. `source` names
    a file that holds a command too long for an argument; `command` is not used then.
    """
    text = quoted(command) if source is None else f'"$(<{quoted(str(source))})"'
    run = RUN.format()
    return (
        SAVE.format(dump=quoted(str(dump)))
        + f"trap 'declare -F __hermes_save >/dev/null && {run}' EXIT; "
        + "shopt -s expand_aliases; "
        + (f". {quoted(str(state))} 2>/dev/null; " if state else "")
        + f"eval {text}; {run}"
    )


def take_dump(path: Path) -> str | None:
    """Make the dump at `path` a state file; the working folder, or None if it is not whole."""
    try:
        # A state file holds no NUL, so both are of this dump, whatever it was written over.
        text, *rest = path.read_bytes().split(b"\0", 2)
        if not text or len(rest) < 2:
            return None
        os.truncate(path, len(text))
    except OSError:
        return None
    return os.fsdecode(rest[0])
