"""What the shell of a session is told, and what it tells.

One bash serves a session. For each command it forks; the fork runs the command and, on its way
out, also by `exit N` or SIGTERM, writes a *dump*: shell text that restores its state, its folder,
the names of what it exports and those of its functions, each ended by NUL. The serving shell then
adopts that state. Not carried: variables that are not exported, shell options, and all changes of a
command that replaces the shell (`exec`), is killed outright, or sets its own EXIT trap and then
calls `exit`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hermes.terminals.environment import FIXED, MARKERS

OWN: Final = ("PWD", "SHLVL", "SHELLOPTS", "BASHOPTS", "HERMES_SESSION_ID", *MARKERS)
"""Variables that belong to one shell only."""

REQUESTS, REPLIES = 3, 4
"""The descriptors over which the serving shell is spoken to."""

RUN: Final = b"r\n"
ADOPT: Final = b"a\n"
READY: Final = "ready"

SAVE: Final = (
    "__hermes_save() {{ local rc=$?; unset -f __hermes_save; set +eux; "
    f"export -n {' '.join(OWN)}; unset IFS; "
    "{{ export -p; declare -f; declare -Fx; alias -p; builtin printf '\\0%s\\0' \"$PWD\"; "
    "compgen -e; builtin printf '\\0'; compgen -A function; builtin printf '\\0'; }} >{dump}; "
    "return $rc; }}; "
)
"""Writes the dump once; keeps the exit status."""

SERVE: Final = (
    "exec >/dev/null 2>&1; {init}set -m; shopt -s expand_aliases; "
    + SAVE
    + f"builtin printf '{READY}\\n' >&{REPLIES}; "
    f"while IFS= builtin read -r -u {REQUESTS} __hermes_v; do case $__hermes_v in "
    "a) IFS= builtin read -r -d '' __hermes_v <{adopt}; builtin eval \"$__hermes_v\";; "
    "r) ( set +m; {{ IFS= builtin read -r -d '' __hermes_d; "
    "IFS= builtin read -r -d '' __hermes_v; }} <{run}; "
    "trap 'declare -F __hermes_save >/dev/null && {{ __hermes_save; }} 2>/dev/null' EXIT; "
    '[[ $PWD == "$__hermes_d" ]] || builtin cd -- "$__hermes_d" || exit 126; '
    'eval "$__hermes_v"; {{ __hermes_save; }} 2>/dev/null '
    f") </dev/null >{{out}} 2>&1 {REQUESTS}<&- {REPLIES}>&-; "
    f"builtin printf '%s\\n' \"$?\" >&{REPLIES};; esac; done"
)
"""The serving shell. All of it is one line, so that line numbers in error messages are the
command's."""

BESIDE: Final = (
    "shopt -s expand_aliases; . {state} 2>/dev/null; "
    "IFS= builtin read -r -d '' __hermes_v <{run}; eval \"$__hermes_v\""
)
"""A command beside the conversation, in the state of the session."""

PROGRAM: Final = '. {state} 2>/dev/null; exec env "$@"'
"""A program with the exported variables of the session; NAME=VALUE arguments come first."""

LASTING: Final = BESIDE.replace(
    'eval "$__hermes_v"', '( eval "$__hermes_v" ) {status}>&-; echo $? >&{status}'
)
"""A command that outlives Hermes leaves its exit status at a descriptor."""


def quoted(text: str) -> str:
    """`text` as one word of bash, on one line whatever it holds."""
    for plain, escaped in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n")):
        text = text.replace(plain, escaped)
    return f"$'{text}'"


@dataclass(frozen=True, slots=True)
class State:
    """What a command left: `text` restores it; `exported` and `functions` are names in it."""

    text: bytes
    cwd: bytes
    exported: frozenset[bytes]
    functions: frozenset[bytes]


NOTHING: Final = State(b"", b"", frozenset(), frozenset())


def read_dump(data: bytes) -> State | None:
    """The state that a dump holds, or None if it is not whole."""
    match data.split(b"\0"):
        case [text, cwd, exported, functions, b""] if cwd:
            return State(text, cwd, frozenset(exported.split()), frozenset(functions.split()))
    return None


def adoption(state: State, before: State) -> bytes:
    """What a shell in the state `before` has to run to be in `state`."""
    lines = [b"builtin cd -- " + quoted_bytes(state.cwd)]
    if gone := before.exported - state.exported:
        lines.append(b"unset -v " + b" ".join(sorted(gone)))
    if gone := before.functions - state.functions:
        lines.append(b"unset -f " + b" ".join(sorted(gone)))
    return b"\n".join([*lines, b"unalias -a", state.text])


def quoted_bytes(data: bytes) -> bytes:
    """`data` as one word of bash."""
    return b"'" + data.replace(b"'", b"'\\''") + b"'"


def init(files: tuple[str, ...]) -> str:
    """What the serving shell does first: read `files`, keep commands from waiting for people."""
    sources = "".join(f". {quoted(file)}; " for file in files)
    return sources + "".join(f"export {name}={value}; " for name, value in FIXED.items())


def serve(folder: Path, name: str, files: tuple[str, ...]) -> str:
    """The text of the serving shell `name`, whose files are in `folder`; see `shell`."""
    paths = {
        part: quoted(str(folder / f"{part}-{name}")) for part in ("out", "dump", "run", "adopt")
    }
    return SERVE.format(init=init(files), **paths)
