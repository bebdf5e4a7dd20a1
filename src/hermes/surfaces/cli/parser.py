"""argv to options, from the command registry alone.

Only the parsers that `argv` can reach are filled in: making all of them would cost a one-shot a
twentieth of its time.
"""

import argparse

from hermes.ports.command import CommandSpec
from hermes.surfaces.cli.commands import COMMANDS, run_options
from hermes.system.i18n import t


def parser(argv: list[str]) -> argparse.ArgumentParser:
    """The parser of `hermes` for `argv`: options of a run, and one sub-parser a verb."""
    root = argparse.ArgumentParser(
        prog="hermes", description=t("cli.about"), epilog=t("cli.epilog"), allow_abbrev=False
    )
    root.add_argument("-V", "--version", action="store_true")
    root.add_argument("-p", "--profile", default=None, metavar="NAME")
    root.add_argument("-z", "--oneshot", default=None, metavar="TEXT")
    run_options(root)
    _explain(root)
    root.set_defaults(run=f"{__package__}.entry:chat", query=None)
    words = frozenset(argv)
    if _needs_verbs(words):
        _add(root, COMMANDS, words, inherited=frozenset(action.dest for action in root._actions))  # noqa: SLF001
    return root


def _needs_verbs(words: frozenset[str]) -> bool:
    """Whether a verb, help, or a word that is neither (so: an error that lists verbs) is there."""
    return bool(words & {"-h", "--help"}) or any(not word.startswith("-") for word in words)


def _add(
    parent: argparse.ArgumentParser,
    commands: tuple[CommandSpec, ...],
    words: frozenset[str],
    *,
    inherited: frozenset[str],
) -> None:
    verbs = parent.add_subparsers(metavar="COMMAND", title=t("cli.commands"))
    for command in commands:
        if not command.run:
            continue
        text = t(command.help)
        child = verbs.add_parser(
            command.name,
            aliases=command.aliases,
            help=text,
            description=text,
            allow_abbrev=False,
        )
        child.set_defaults(run=command.run)
        if words.isdisjoint((command.name, *command.aliases)):
            continue
        command.arguments(child)
        for action in child._actions:  # noqa: SLF001  argparse has no public list of options
            if action.dest in inherited:
                # What stood before the verb counts unless it is said again after it.
                action.default = argparse.SUPPRESS
        _explain(child)
        if command.children:
            _add(child, command.children, words, inherited=inherited)


def _explain(parser: argparse.ArgumentParser) -> None:
    """Give each option its help text from the catalogue, by the option's own name."""
    for action in parser._actions:  # noqa: SLF001
        if action.help is None:
            action.help = t(f"options.{action.dest.rstrip('_')}")
