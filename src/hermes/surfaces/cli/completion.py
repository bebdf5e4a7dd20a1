"""`hermes completion`: a script for the shell, made from the command registry."""

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hermes.ports.command import CommandSpec
from hermes.surfaces.cli.commands import COMMANDS
from hermes.surfaces.cli.parser import parser
from hermes.surfaces.cli.services import Services

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option or a positional (then without names), and the words it may be given."""

    names: tuple[str, ...]
    choices: tuple[str, ...]
    takes_value: bool
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """What may follow the words of `path`."""

    path: Path
    help: str
    verbs: tuple[tuple[str, str], ...]
    options: tuple[Option, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """Everything that can come next."""
        own = (name for option in self.options for name in option.names or option.choices)
        return (*(name for name, _ in self.verbs), *own)


def run(options: argparse.Namespace, _: Services) -> int:
    """Print the script."""
    verbs = tuple(_walk(parser([*_names(COMMANDS)]), (), ""))
    make = {"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell]
    sys.stdout.write("\n".join(make(verbs)) + "\n")
    return 0


def _names(commands: Sequence[CommandSpec]) -> Iterator[str]:
    """Every verb, so that the parser is made whole."""
    for command in commands:
        yield command.name
        yield from _names(command.children)


def _walk(at: argparse.ArgumentParser, path: Path, help: str) -> Iterator[Verb]:
    below: list[tuple[str, str, argparse.ArgumentParser]] = []
    options = []
    for action in at._actions:  # noqa: SLF001  argparse has no public list of options
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            told = {a.dest: a.help or "" for a in action._choices_actions}  # noqa: SLF001
            choices = action.choices.items()
            below += [(name, told[name], child) for name, child in choices if name in told]
            continue
        options.append(
            Option(
                names=tuple(action.option_strings),
                choices=tuple(str(choice) for choice in action.choices or ()),
                takes_value=bool(action.option_strings) and action.nargs != 0,
                help=action.help or "",
            )
        )
    verbs = tuple((name, text) for name, text, _ in below)
    yield Verb(path=path, help=help, verbs=verbs, options=tuple(options))
    for name, text, child in below:
        yield from _walk(child, (*path, name), text)


def _body(verbs: Sequence[Verb], typed: str, count: str, first: int) -> list[str]:
    """The part that bash and zsh share: leaves the words that may come next in `choices`."""
    deeper, skipped, values, words = [], [], [], []
    for verb in verbs:
        place = " ".join(verb.path)
        for name, _ in verb.verbs:
            key, inner = shlex.quote(f"{place}:{name}"), " ".join((*verb.path, name))
            deeper.append(f"      {key}) place={shlex.quote(inner)} ;;")
        for option in verb.options:
            if option.takes_value:
                keys = "|".join(shlex.quote(f"{place}:{name}") for name in option.names)
                skipped.append(f"      {keys}) previous=$word ;;")
                values.append(f"    {keys}) choices={shlex.quote(' '.join(option.choices))} ;;")
        next_words = shlex.quote(" ".join(verb.words))
        words.append(f"    {shlex.quote(f'{place}:')}) choices={next_words} ;;")
    return [
        "  local place='' previous='' choices='' word i",
        f"  for ((i = {first}; i < {count}; i++)); do",
        f'    word="${{{typed}[i]}}"',
        '    if [[ -n "$previous" ]]; then previous=""; continue; fi',
        '    case "$place:$word" in',
        *deeper,
        *skipped,
        "    esac",
        "  done",
        '  case "$place:$previous" in',
        *values,
        *words,
        "  esac",
    ]


def _bash(verbs: Sequence[Verb]) -> Iterator[str]:
    yield "_hermes() {"
    yield from _body(verbs, "COMP_WORDS", "COMP_CWORD", 1)
    yield '  COMPREPLY=($(compgen -W "$choices" -- "${COMP_WORDS[COMP_CWORD]}"))'
    yield "}"
    yield "complete -o default -F _hermes hermes"


def _zsh(verbs: Sequence[Verb]) -> Iterator[str]:
    yield "#compdef hermes"
    yield "_hermes() {"
    yield from _body(verbs, "words", "CURRENT", 2)
    yield '  if [[ -n "$choices" ]]; then compadd -- ${=choices}; else _files; fi'
    yield "}"
    yield "compdef _hermes hermes"


def _fish(verbs: Sequence[Verb]) -> Iterator[str]:
    for verb in verbs:
        seen = [f"__fish_seen_subcommand_from {name}" for name in verb.path]
        if verb.verbs:
            names = " ".join(name for name, _ in verb.verbs)
            seen.append(f"not __fish_seen_subcommand_from {names}")
        head = f"complete -c hermes -n {shlex.quote('; and '.join(seen) or 'true')}"
        for name, text in verb.verbs:
            yield f"{head} -f -a {name} -d {shlex.quote(text)}"
        for option in verb.options:
            yield _fish_option(head, option)


def _fish_option(head: str, option: Option) -> str:
    parts = [head]
    for name in option.names:
        parts.append(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}")
    if option.takes_value:
        parts.append("-r")
    if option.choices:
        parts.append(f"-f -a {shlex.quote(' '.join(option.choices))}")
    parts.append(f"-d {shlex.quote(option.help)}")
    return " ".join(parts)
