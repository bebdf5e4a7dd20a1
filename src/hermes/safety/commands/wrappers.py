"""Programs that run another program which stands in their arguments."""

import itertools
import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from hermes.safety.commands.model import UNKNOWN
from hermes.safety.commands.names import names
from hermes.safety.commands.wrapper_table import CONTAINER_VALUED, CONTAINERS, PLAIN, Wrapper

# fmt: off
SHELLS: Final = frozenset((
    "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "yash", "csh", "tcsh",
))
# fmt: on


class Inner(Struct, frozen=True):
    """What a wrapper runs: the words of a command, or texts for a shell.

    `arguments` are `$1` and so on of the text. `assigned` are variables set for it.
    """

    words: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    arguments: tuple[str, ...] | None = None
    assigned: tuple[tuple[str, str], ...] = ()


_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w*=")
_TAKES_ASSIGNMENTS: Final = frozenset(("env", "sudo", "doas", "cross-env", "systemd-run", "exec"))


def program_name(word: str) -> str:
    """The name of the program that a first word stands for; empty if it cannot be known."""
    if UNKNOWN in word:
        word = known_end(word)
        if "/" not in word:
            return ""
    name = word.rpartition("/")[2]
    if re.search(r"[*?]|\[.", name):
        return ""
    return name.removesuffix(".exe").removesuffix(".EXE")


def known_end(word: str) -> str:
    """What follows the last part of a word that is not known."""
    rest = word.rpartition(UNKNOWN)[2]
    if found := re.match(r"\$\w+|\$[@*#?!$-]|~\+|`[^`]*`", rest):
        return rest[found.end() :]
    open_ = 0
    for found in re.finditer(r"[(){}]", rest):
        open_ += 1 if found[0] in "({" else -1
        if open_ <= 0:
            return rest[found.end() :]
    return ""


def options(words: Sequence[str], valued: str) -> tuple[list[str], int]:
    """The options in front of the first argument, and where that stands."""
    taking = valued.split()
    found: list[str] = []
    i = 0
    while i < len(words):
        word = words[i]
        if word == "--":
            return found, i + 1
        if not word.startswith("-") or word == "-":
            break
        found.append(word)
        i += 1
        if word.startswith("--"):
            takes = word in taking
        else:
            letters = word[1:]
            at = next((k for k, c in enumerate(letters) if c in taking), -1)
            takes = at >= 0 and at == len(letters) - 1
        if takes and i < len(words):
            found.append(words[i])
            i += 1
    return found, i


def inner(words: Sequence[str]) -> Inner | None:
    """What the command `words` runs in turn; None if it is no wrapper or runs nothing."""
    name = program_name(words[0])
    arguments = list(words[1:])
    if name in SHELLS:
        return _shell(arguments)
    if name in CONTAINERS or name in ("docker-compose", "podman-compose"):
        return _container(arguments, composes=name.endswith("compose"))
    if special := _SPECIAL.get(name):
        return special(arguments)
    if name in PLAIN:
        return _plain(name, PLAIN[name], arguments)
    if name.startswith(("ld-linux", "ld-musl")):
        return _plain(name, Wrapper("--library-path --argv0 --preload"), arguments)
    return None


def _plain(name: str, wrapper: Wrapper, arguments: list[str]) -> Inner | None:
    if wrapper.verbs:
        _, at = options(arguments, wrapper.valued)
        if at >= len(arguments) or arguments[at] not in wrapper.verbs:
            return None
        arguments = arguments[at + 1 :]
    _, at = options(arguments, wrapper.valued)
    rest = arguments[at:]
    for option in wrapper.code:
        behind = rest[wrapper.skip :]
        near = [*arguments[: at + 1], *(behind if behind[:1] and behind[0][:1] == "-" else [])]
        if text := option_value(arguments if wrapper.skip > 8 else near, option):
            return Inner(texts=(text,))
    if wrapper.needs_dashes:
        if "--" not in rest:
            return None
        return _command(rest[rest.index("--") + 1 :])
    assigned = []
    while name in _TAKES_ASSIGNMENTS and rest and _ASSIGNED.match(rest[0]):
        variable, _, value = rest.pop(0).partition("=")
        assigned.append((variable, value))
    rest = rest[wrapper.skip :]
    if rest[:1] == ["--"]:
        rest = rest[1:]
    if not rest:
        return None
    if wrapper.text:
        texts = tuple(rest) if name == "hyperfine" else (" ".join(rest),)
        return Inner(texts=texts)
    return Inner(words=tuple(rest), assigned=tuple(assigned))


def option_value(arguments: Sequence[str], option: str) -> str:
    """The value of an option, however it is written; empty without it."""
    for i, word in enumerate(arguments):
        if word == option:
            return arguments[i + 1] if i + 1 < len(arguments) else ""
        if option.startswith("--") and word.startswith(f"{option}="):
            return word[len(option) + 1 :]
        if not option.startswith("--") and re.match(r"-[a-zA-Z]", word):
            if word.startswith(option):
                return word[2:]
            if word.endswith(option[1]) and re.fullmatch(r"-[a-zA-Z]+", word):
                return arguments[i + 1] if i + 1 < len(arguments) else ""
    return ""


def _command(words: Sequence[str]) -> Inner | None:
    return Inner(words=tuple(words)) if words else None


def _shell(arguments: list[str]) -> Inner | None:
    """The text of `sh -c`; a script file is none."""
    arguments = [word for word in arguments if not re.fullmatch(r"\+[a-zA-Z]+", word)]
    given, at = options(arguments, "o O --rcfile --init-file")
    if not any(re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*|--command", word) for word in given):
        return None
    if at >= len(arguments):
        return None
    return Inner(
        texts=(arguments[at],),
        arguments=tuple(arguments[at + 2 :]),
        assigned=tuple(("0", word) for word in arguments[at + 1 : at + 2]),
    )


def _container(arguments: list[str], *, composes: bool) -> Inner | None:
    _, at = options(arguments, "H c l f p --host --context --config --file --project-name")
    rest = arguments[at:]
    if rest[:1] in (["compose"], ["container"]):
        _, at = options(rest[1:], "f p --file --project-name --profile --env-file")
        rest = rest[1 + at :]
    if rest[:1] not in (["exec"], ["run"]):
        return None
    given, at = options(rest[1:], CONTAINER_VALUED)
    entry = option_value(given, "--entrypoint")
    words = rest[1 + at + 1 :]
    return _command([entry, *words] if entry else words)


def _command_builtin(arguments: list[str]) -> Inner | None:
    given, at = options(arguments, "")
    return None if {"-v", "-V"} & set(given) else _command(arguments[at:])


def _su(arguments: list[str]) -> Inner | None:
    for option in ("-c", "--command", "--session-command"):
        if text := option_value(arguments, option):
            return Inner(texts=(text,))
    return None


def _runuser(arguments: list[str]) -> Inner | None:
    if text := option_value(arguments, "-c") or option_value(arguments, "--command"):
        return Inner(texts=(text,))
    given, at = options(arguments, "u g G --user --group")
    return _command(arguments[at:]) if "-u" in given or "--user" in given else None


def _joined(arguments: list[str]) -> Inner | None:
    rest = arguments[1:] if arguments[:1] == ["--"] else arguments
    return Inner(texts=(" ".join(rest),)) if rest else None


def _trap(arguments: list[str]) -> Inner | None:
    rest = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not rest or rest[0].startswith("-") or rest[0] == "":
        return None
    return Inner(texts=(rest[0],))


def _xargs(arguments: list[str]) -> Inner | None:
    _, at = options(arguments, "a d E I L n P s --arg-file --delimiter --max-args --max-procs")
    return _command(arguments[at:])


def _parallel(arguments: list[str]) -> Inner | None:
    _, at = options(arguments, "j a I S N n L P --jobs --arg-file --joblog --results --sshlogin")
    rest = arguments[at:]
    ends = [i for i, word in enumerate(rest) if re.fullmatch(r":::\+?|::::\+?", word)]
    command, operands = (rest[: ends[0]], rest[ends[0] + 1 :]) if ends else (rest, [])
    if not command:
        return Inner(texts=tuple(w for w in operands if not w.startswith(":::"))) if ends else None
    text = " ".join(command)
    if not operands:
        return Inner(texts=(text,))
    items = [word for word in operands if not word.startswith(":::")][:16]
    return Inner(
        texts=tuple(
            text.replace("{}", item) if "{}" in text else f"{text} {item}" for item in items
        )
    )


def find_commands(words: Sequence[str]) -> list[tuple[str, ...]]:
    """The commands that `find` runs; `{}` stands in them as the folders that it starts from."""
    starts: list[str] = []
    for word in words[1:]:
        if word in ("-L", "-H", "-P"):
            continue
        if word.startswith(("-", "(", "!")):
            break
        starts.append(word)
    narrowed = any(w in _NARROWS for w in words)
    found = [f"{UNKNOWN}{{}}"] if narrowed else starts[:64] or ["."]
    commands = []
    at = 0
    while at < len(words):
        if words[at] in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((k for k in range(at, len(words)) if words[k] in (";", "+")), len(words))
            put: list[str] = []
            for word in words[at + 1 : end]:
                put += found if word == "{}" else [word.replace("{}", found[0])]
            if put:
                commands.append(tuple(put))
            at = end
        at += 1
    return commands


_NARROWS: Final = frozenset(
    names(
        "-name -iname -path -ipath -regex -iregex -size -mtime -mmin -atime -ctime -newer -empty"
        " -user -perm -wholename -group -amin -cmin -newermt"
    )
)


def _git(arguments: list[str]) -> Inner | None:
    _, at = options(arguments, "C c --git-dir --work-tree --namespace")
    rest = arguments[at:]
    if rest[:2] == ["bisect", "run"]:
        return _command(rest[2:])
    if rest[:2] == ["submodule", "foreach"]:
        return _joined([word for word in rest[2:] if word not in ("--recursive", "-q", "--quiet")])
    if rest[:1] == ["rebase"]:
        text = option_value(rest[1:], "--exec") or option_value(rest[1:], "-x")
        return Inner(texts=(text,)) if text else None
    if rest[:1] == ["filter-branch"]:
        filters = [w for k, w in itertools.pairwise(rest) if k.endswith("-filter")]
        return Inner(texts=tuple(filters)) if filters else None
    return None


def _tmux(arguments: list[str]) -> Inner | None:
    _, at = options(arguments, "L S f")
    rest = arguments[at:]
    made = ("new", "new-session", "neww", "new-window", "splitw", "split-window", "respawn-pane")
    if rest[:1] and rest[0] in made:
        _, at = options(rest[1:], "c e F f n s t x y l")
        return _joined(rest[1 + at :])
    if rest[:1] in (["run"], ["run-shell"], ["send-keys"], ["send"]):
        _, at = options(rest[1:], "t d N")
        keys = [w for w in rest[1 + at :] if w not in ("Enter", "C-m", "KPEnter")]
        return _joined(keys)
    return None


def _screen(arguments: list[str]) -> Inner | None:
    if "-X" in arguments:
        stuffed = arguments[arguments.index("-X") + 1 :]
        return _joined(stuffed[1:]) if stuffed[:1] in (["stuff"], ["exec"]) else None
    _, at = options(arguments, "S c e h p s t T")
    return _command(arguments[at:])


def _terminal(arguments: list[str]) -> Inner | None:
    for option in ("-e", "-x", "--"):
        if option in arguments:
            return _joined(arguments[arguments.index(option) + 1 :])
    return None


def _fd(arguments: list[str]) -> Inner | None:
    for option in ("-x", "--exec", "-X", "--exec-batch"):
        if option in arguments:
            return _command(arguments[arguments.index(option) + 1 :])
    return None


def _nix(arguments: list[str]) -> Inner | None:
    for option in ("-c", "--command"):
        if option in arguments:
            return _command(arguments[arguments.index(option) + 1 :])
    return None


def _expect(arguments: list[str]) -> Inner | None:
    text = option_value(arguments, "-c")
    spawned = re.findall(r"(?:spawn|exec|system)\s+([^;\n\]]+)", text)
    return Inner(texts=tuple(spawned)) if spawned else None


_SPECIAL: Final = {
    "command": _command_builtin,
    "su": _su,
    "runuser": _runuser,
    "eval": _joined,
    "trap": _trap,
    "xargs": _xargs,
    "parallel": _parallel,
    "sem": _parallel,
    "git": _git,
    "tmux": _tmux,
    "screen": _screen,
    "xterm": _terminal,
    "gnome-terminal": _terminal,
    "konsole": _terminal,
    "fd": _fd,
    "fdfind": _fd,
    "nix": _nix,
    "expect": _expect,
}
