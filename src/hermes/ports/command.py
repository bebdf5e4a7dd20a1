"""One record for a command: it feeds CLI verbs, slash commands, help and completion."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass


def no_arguments(parser: argparse.ArgumentParser) -> None:
    """For verbs without options of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec:
    """A verb of `hermes`, `/name` in a chat, or both.

    `help` is a catalogue key. `run` and `slash` name functions as `module:function`, imported only
    when used: `run(options, services) -> int`, sync or async, is the verb; `slash(chat, words)`,
    async, is the slash command. `arguments` adds the verb's options to its parser.
    """

    name: str
    help: str
    run: str = ""
    slash: str = ""
    arguments: Callable[[argparse.ArgumentParser], None] = no_arguments
    children: tuple["CommandSpec", ...] = ()
    aliases: tuple[str, ...] = ()
