"""One record for a command: it feeds slash commands, CLI verbs, help and completion."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec:
    """A verb of `hermes` and, where `slash` is true, `/name` in a chat.

    `help` is a catalogue key. `arguments` adds the verb's options to its parser. `run` names the
    function, `module:function`, that takes the parsed options and returns the exit status; it is
    imported only when the command runs.
    """

    name: str
    help: str
    run: str
    arguments: Callable[[argparse.ArgumentParser], None] = lambda _: None
    children: tuple["CommandSpec", ...] = ()
    aliases: tuple[str, ...] = ()
    cli: bool = True
    slash: bool = False
