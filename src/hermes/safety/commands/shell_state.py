"""What a shell's own commands and signs change for the commands behind them."""

import re
from collections.abc import Sequence
from typing import Final

from hermes.safety.commands.expand import Scope, Value, absolute
from hermes.safety.commands.model import UNKNOWN, Redirect
from hermes.safety.commands.syntax import Parser
from hermes.safety.commands.tree import Simple, Unparsed
from hermes.safety.commands.wrappers import Inner

MOST_NAMES: Final = 1000
"""Variables of one command line."""
LONGEST: Final = 128 * 1024
"""Characters of a text that are parsed, and of all texts within it together."""
OUTPUT: Final = frozenset((">", ">>", ">|", "&>", "&>>", ">&"))


def unless(redirects: tuple[Redirect, ...], said: str | None) -> str | None:
    sent_away = any(r.operator in OUTPUT and r.fd in ("", "1") for r in redirects)
    return None if sent_away else said


def input_of(redirects: tuple[Redirect, ...], fed: str | None) -> str | None:
    """The input after redirections: a here-document's or here-string's text."""
    for each in redirects:
        if each.operator in ("<<", "<<-"):
            fed = each.target
        elif each.operator == "<<<":
            fed = f"{each.target}\n"
        elif each.operator == "<":
            fed = UNKNOWN + each.target if each.target.startswith(UNKNOWN) else None
    return fed


def assign(scope: Scope, name: str, value: Value, adds: bool, maybe: bool) -> None:
    before = scope.variables.get(name)
    if adds and isinstance(value, str):
        value = before + value if isinstance(before, str) else None
    elif adds and isinstance(value, tuple):
        value = before + value if isinstance(before, tuple) else value
    if maybe and name in scope.variables and before != value:
        value = None
    if isinstance(value, str) and len(value) > LONGEST:
        value = None
    if len(scope.variables) > MOST_NAMES:
        raise Unparsed("too many variables")
    scope.variables[name] = value


def change_folder(name: str, arguments: tuple[str, ...], scope: Scope, *, maybe: bool) -> None:
    plain = [w for w in arguments if not re.fullmatch(r"-[LPe@]+|--", w)]
    target = plain[0] if plain else scope.home
    if name == "popd" or target == "-" or UNKNOWN in target or re.search(r"[*?]|^\+\d", target):
        scope.cwds = scope.cwds if maybe and name == "popd" else ()
        return
    gone = tuple(dict.fromkeys(absolute(target, cwd) for cwd in scope.cwds))
    if target.startswith("/"):
        gone = (absolute(target, "/"),)
    scope.cwds = tuple(dict.fromkeys((*gone, *scope.cwds)))[:6] if maybe else gone


def one_substitution(text: str) -> bool:
    """Whether a text is nothing but what one substitution prints."""
    if not text.startswith((f"{UNKNOWN}$(", f"{UNKNOWN}`")) or text.count(UNKNOWN) != 1:
        return False
    items = Parser(text[1:]).parse().items
    command = items[0].commands[0] if len(items) == 1 and len(items[0].commands) == 1 else None
    return (
        isinstance(command, Simple)
        and len(command.words) == 1
        and len(command.words[0].parts) == 1
        and not command.redirections
    )


def reads_input(words: Sequence[str]) -> bool:
    """Whether a shell takes its commands from its input."""
    plain = [word for word in words[1:] if not word.startswith(("-", "+")) or word == "-"]
    return not plain or plain[0] in ("-", "/dev/stdin") or "-s" in words


def with_input(found: Inner, words: Sequence[str], fed: str | None) -> Inner:
    """The command of xargs with what it adds to it."""
    mark = next((w for w in words if w.startswith(("-I", "-i", "--replace"))), "")
    holder = mark[2:] if mark.startswith("-I") and mark != "-I" else "{}"
    if mark == "-I":
        holder = words[words.index("-I") + 1] if words.index("-I") + 1 < len(words) else "{}"
    known = fed is not None and UNKNOWN not in fed
    items = fed.split()[:64] if known and fed is not None else [f"{UNKNOWN}stdin"]
    if not mark:
        return Inner(words=(*found.words, *items))
    put: list[str] = []
    for word in found.words:
        put += [word.replace(holder, item) for item in items] if holder in word else [word]
    return Inner(words=tuple(put))
