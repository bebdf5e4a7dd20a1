"""The parts of a parsed command line."""

from dataclasses import dataclass, field
from typing import Final, Literal

DEEPEST: Final = 24
"""Constructs within each other, nested shells included; what is deeper is not parsed."""


class Unparsed(Exception):
    """The text is not a whole command line, or more than is looked at; says why."""


@dataclass(slots=True)
class Lit:
    """Characters that stand for themselves; unquoted ones may still be a pattern or a brace."""

    text: str
    quoted: bool


@dataclass(slots=True)
class Var:
    """`$name` or `${name op argument}`; `op` is empty for the plain value."""

    name: str
    op: str
    argument: "Word | None"
    quoted: bool
    source: str


@dataclass(slots=True)
class Sub:
    """`$(script)` or its older form."""

    script: "Script"
    quoted: bool
    source: str


@dataclass(slots=True)
class Proc:
    """`<(script)` and `>(script)`."""

    script: "Script"
    source: str


@dataclass(slots=True)
class Arith:
    """`$(( ))`: a number nobody computed; `inside` holds what may run on the way."""

    inside: "list[Word]"
    quoted: bool
    source: str


Part = Lit | Var | Sub | Proc | Arith


@dataclass(slots=True)
class Word:
    """One word as it is written."""

    parts: list[Part]


@dataclass(slots=True)
class Redirection:
    """`fd operator target`; a heredoc has its body in `target`."""

    fd: str
    operator: str
    target: Word


@dataclass(slots=True)
class Assignment:
    """`name=value`, `name+=value`, or `name=(values)`."""

    name: str
    adds: bool
    value: Word | None
    values: list[Word] | None


@dataclass(slots=True)
class Simple:
    """A simple command: `start` and `end` say where it is in the text."""

    assignments: list[Assignment]
    words: list[Word]
    redirections: list[Redirection]
    start: int
    end: int


Kind = Literal["subshell", "group", "branches", "for", "test"]


@dataclass(slots=True)
class Block:
    """A compound command. `words` are what it loops over or compares, `bodies` its scripts."""

    kind: Kind
    bodies: "list[Script]"
    words: list[Word] = field(default_factory=list)
    name: str = ""
    redirections: list[Redirection] = field(default_factory=list)


@dataclass(slots=True)
class Function:
    """`name() body`."""

    name: str
    body: "Command"


Command = Simple | Block | Function


@dataclass(slots=True)
class Item:
    """A pipeline and the sign that follows it."""

    commands: list[Command]
    joiner: str
    """`;`, `&`, `&&`, `||`, a newline, or empty at the end."""


@dataclass(slots=True)
class Script:
    """What a shell reads as commands; `text` is what the positions of its parts count in."""

    items: list[Item]
    text: str
