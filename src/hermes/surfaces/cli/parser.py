"""argv to options, from the command registry alone."""

import argparse

from hermes.ports.command import CommandSpec
from hermes.surfaces.cli.commands import COMMANDS, run_options
from hermes.system.i18n import t


def parser() -> argparse.ArgumentParser:
    """The parser of `hermes`: options of a run, and one sub-parser a verb."""
    root = argparse.ArgumentParser(
        prog="hermes", description=t("cli.about"), epilog=t("cli.epilog"), allow_abbrev=False
    )
    root.add_argument("-V", "--version", action="store_true", help=t("cli.version"))
    root.add_argument("-p", "--profile", default=None, metavar="NAME", help=t("cli.profile"))
    root.add_argument("-z", "--oneshot", default=None, metavar="TEXT", help=t("cli.oneshot"))
    run_options(root)
    _explain(root)
    root.set_defaults(run=f"{__package__}.entry:chat", query=None)
    _add(root, COMMANDS)
    return root


def _add(parent: argparse.ArgumentParser, commands: tuple[CommandSpec, ...]) -> None:
    verbs = parent.add_subparsers(metavar="COMMAND", title=t("cli.commands"))
    for command in commands:
        if not command.run:
            continue
        text = t(command.help)
        child = verbs.add_parser(command.name, help=text, description=text, allow_abbrev=False)
        command.arguments(child)
        _explain(child)
        child.set_defaults(run=command.run)
        if command.children:
            _add(child, command.children)


def _explain(parser: argparse.ArgumentParser) -> None:
    """Give each option its help text from the catalogue, by the option's own name."""
    for action in parser._actions:  # noqa: SLF001  argparse has no public list of options
        if action.help is None:
            action.help = t(f"options.{action.dest.rstrip('_')}")
