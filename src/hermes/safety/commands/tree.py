"""The parts of a parsed command line."""

from typing import Final, Literal

from msgspec import Struct, field

DEEPEST: Final = 24
"""Constructs within each other, nested shells included; what is deeper is not parsed."""


class Unparsed(Exception):
    """The text is not a whole command line, or more than is looked at; says why."""


class Lit(Struct):
    """Characters that stand for themselves; unquoted ones may still be a pattern or a brace."""

    text: str
    quoted: bool


class Var(Struct):
    """`$name` or `${name op argument}`; `op` is empty for the plain value."""

    name: str
    op: str
    argument: "Word | None"
    quoted: bool
    source: str


class Sub(Struct):
    """`$(script)` or its older form."""

    script: "Script"
    quoted: bool
    source: str


class Proc(Struct):
    """`<(script)` and `>(script)`."""

    script: "Script"
    source: str


class Arith(Struct):
    """`$(( ))`: a number nobody computed; `inside` holds what may run on the way."""

    inside: "list[Word]"
    quoted: bool
    source: str


Part = Lit | Var | Sub | Proc | Arith


class Word(Struct):
    """One word as it is written."""

    parts: list[Part]


class Redirection(Struct):
    """`fd operator target`; a heredoc has its body in `target`."""

    fd: str
    operator: str
    target: Word


class Assignment(Struct):
    """`name=value`, `name+=value`, or `name=(values)`."""

    name: str
    adds: bool
    value: Word | None
    values: list[Word] | None


class Simple(Struct):
    """A simple command: `start` and `end` say where it is in the text."""

    assignments: list[Assignment]
    words: list[Word]
    redirections: list[Redirection]
    start: int
    end: int


Kind = Literal["subshell", "group", "branches", "for", "test"]


class Block(Struct):
    """A compound command. `words` are what it loops over or compares, `bodies` its scripts."""

    kind: Kind
    bodies: "list[Script]"
    words: list[Word] = field(default_factory=list)
    name: str = ""
    redirections: list[Redirection] = field(default_factory=list)


class Function(Struct):
    """`name() body`."""

    name: str
    body: "Command"


Command = Simple | Block | Function


class Item(Struct):
    """A pipeline and the sign that follows it."""

    commands: list[Command]
    joiner: str
    """`;`, `&`, `&&`, `||`, a newline, or empty at the end."""


class Script(Struct):
    """What a shell reads as commands; `text` is what the positions of its parts count in."""

    items: list[Item]
    text: str
