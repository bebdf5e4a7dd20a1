"""What the shell of a session is told, and what it tells.

One bash serves a session. For each command it forks; the fork runs the command and, on its way
out, also by `exit N` or SIGTERM, writes a *dump*: shell text that restores its state, its folder,
the names of what it exports and those of its functions, each ended by NUL. The serving shell then
adopts that state. Not carried: variables that are not exported, shell options, and all changes of a
command that replaces the shell (`exec`), is killed outright, or sets its own EXIT trap and then
calls `exit`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hermes.terminals.environment import FIXED, MARKERS

OWN: Final = (
    "PWD", "SHLVL", "SHELLOPTS", "BASHOPTS", "HERMES_SESSION_ID", *MARKERS,
    "__hermes_v", "__hermes_d",
)  # fmt: skip
"""Variables that belong to one shell only."""

REQUESTS, REPLIES = 3, 4
"""The descriptors over which the serving shell is spoken to."""

RUN: Final = b"r\n"
ADOPT: Final = b"a\n"
READY: Final = "ready"

SAVE: Final = (
    "__hermes_save() {{ __hermes_v=$?; builtin unset -f __hermes_save; "
    "builtin trap - DEBUG ERR RETURN; builtin set +eux; "
    f"builtin export -n {' '.join(OWN)}; "
    "{{ builtin alias -p; builtin printf '\\0'; builtin export -p; builtin printf '\\0'; "
    "builtin declare -f; builtin printf '\\0'; builtin declare -Fx; builtin printf '\\0'; "
    "builtin pwd; builtin printf '\\0'; builtin compgen -e; builtin printf '\\0'; "
    "builtin compgen -A function; builtin printf '\\0'; }} >|{dump}; "
    "builtin return $__hermes_v; return $__hermes_v; }}; "
)
"""Writes the dump once; keeps the exit status. `builtin` is said throughout, as a command may have
put functions in the place of whatever it likes; with one named `builtin` there is no dump."""

SERVE: Final = (
    "exec >/dev/null 2>&1; {init}builtin set -m; builtin shopt -s expand_aliases; "
    + SAVE
    + f"builtin printf '{READY}\\n' >&{REPLIES}; "
    f"while IFS= builtin read -r -u {REQUESTS} __hermes_v; do case $__hermes_v in "
    "a) IFS= builtin read -r -d '' __hermes_v <{adopt} && builtin eval \"$__hermes_v\";; "
    "r) ( builtin set +m; {{ IFS= builtin read -r -d '' __hermes_d && "
    "IFS= builtin read -r -d '' __hermes_v; }} <{run} || builtin exit 126; "
    "builtin trap '\\builtin declare -F __hermes_save >/dev/null && "
    "{{ __hermes_save; }} >/dev/null 2>&1' EXIT; "
    '[[ $PWD == "$__hermes_d" ]] || builtin cd -- "$__hermes_d" || builtin exit 126; '
    'builtin eval "$__hermes_v"; {{ __hermes_save; }} >/dev/null 2>&1 '
    f") </dev/null >{{out}} 2>&1 {REQUESTS}<&- {REPLIES}>&-; "
    f"builtin printf '%s\\n' \"$?\" >&{REPLIES};; esac; done"
)
"""The serving shell. All of it is one line, so that line numbers in error messages are the
command's."""

BESIDE: Final = (
    ". {state} 2>/dev/null; shopt -s expand_aliases; "
    "IFS= builtin read -r -d '' __hermes_v <{run}; builtin eval \"$__hermes_v\""
)
"""A command beside the conversation, in the state of the session."""

PROGRAM: Final = (
    ". {state} 2>/dev/null; "
    'while [[ $1 != /* ]]; do builtin export "$1"; builtin shift; done; builtin exec "$@"'
)
"""A program with the exported variables of the session; NAME=VALUE arguments come first."""

LASTING: Final = (
    "cd -- {cwd} || exit 126; . /dev/fd/{state} 2>/dev/null; shopt -s expand_aliases; "
    "IFS= builtin read -r -d '' __hermes_v <&{run}; builtin exec {state}<&- {run}<&-; "
    '( builtin eval "$__hermes_v" ) {status}>&-; builtin echo $? >&{status}'
)
"""A command that outlives Hermes: it gets descriptors, since files could be gone when it reads."""


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

WORDS: Final = frozenset((b"alias", b"declare", b"export"))
"""The commands in the text of a state; it defines functions of these names late."""


def read_dump(data: bytes) -> State | None:
    """The state that a dump holds, or None if it is not whole."""
    match data.split(b"\0"):
        case [aliases, exports, functions, marks, cwd, names, function_names, b""] if cwd:
            # By now there may be a function `declare`.
            marked = b"".join(b"builtin " + line for line in marks.splitlines(keepends=True))
            text = aliases + exports + functions + marked
            names_ = frozenset(names.split()), frozenset(function_names.split())
            return State(text, cwd.removesuffix(b"\n"), *names_)
    return None


def adoption(state: State, before: State, *, move: bool = False) -> bytes:
    """What a shell in the state `before` has to run to be in `state`; in its folder with `move`."""
    # No alias may touch these lines, nor those of functions that were printed without any.
    lines = [b"\\builtin shopt -u expand_aliases", b"builtin unalias -a"]
    if move:
        lines.append(b"builtin cd -- " + quoted_bytes(state.cwd))
    if gone := before.exported - state.exported:
        lines.append(b"builtin unset -v " + b" ".join(sorted(gone)))
    if gone := (before.functions - state.functions) | (before.functions & WORDS):
        lines.append(b"builtin unset -f -- " + b" ".join(map(quoted_bytes, sorted(gone))))
    return b"\n".join([*lines, state.text + b"builtin shopt -s expand_aliases\n"])


def quoted_bytes(data: bytes) -> bytes:
    """`data` as one word of bash."""
    return b"'" + data.replace(b"'", b"'\\''") + b"'"


PROFILE: Final = (
    "__hermes_v=$PATH; [[ -r /etc/profile ]] && . /etc/profile; "
    "for __hermes_d in ~/.bash_profile ~/.bash_login ~/.profile; do "
    "[[ -r $__hermes_d ]] && { . $__hermes_d; break; }; done; [[ -r ~/.bashrc ]] && . ~/.bashrc; "
    "builtin export PATH=$__hermes_v:$PATH; builtin unset __hermes_v __hermes_d; "
)
"""Reads what a login shell would; where Hermes found its programs they are found first."""


def init(files: tuple[str, ...], *, login: bool) -> str:
    """What the serving shell does first: read `files`, keep commands from waiting for people."""
    sources = "".join(f". {quoted(file)}; " for file in files)
    fixed = "".join(f"builtin export {name}={value}; " for name, value in FIXED.items())
    return (PROFILE if login else "") + sources + fixed


def serve(path: Callable[[str], Path], files: tuple[str, ...], *, login: bool) -> str:
    """The text of a serving shell; `path` says where each of its files is, see `shell`."""
    paths = {part: quoted(str(path(part))) for part in ("out", "dump", "run", "adopt")}
    return SERVE.format(init=init(files, login=login), **paths)
