"""What a command line turns out to be: its simple commands, and the verdict on them."""

from typing import Final, Literal

from msgspec import Struct

UNKNOWN: Final = "\0"
"""Stands in a word in front of a part that is known only when it runs, which follows as written:
`\\0$x/build`. A word without it is exactly what the program would get, patterns aside."""


class Redirect(Struct, frozen=True, kw_only=True):
    """`fd operator target`; the target of a here-document is its text."""

    operator: str
    target: str
    fd: str = ""


class Segment(Struct, frozen=True, kw_only=True):
    """One simple command, wherever in the text it stands: on top, in `$( )`, in a nested shell's
    text, behind wrappers, in `eval`, in a here-document for a shell, in decoded text.

    `program` is the name without folders and wrappers, empty if it cannot be known or if there is
    none. `words` are the program and its arguments without quotes, see UNKNOWN. `piped_from` and
    `piped_to` are the programs of the same pipeline in front of and behind it.
    """

    text: str
    program: str
    words: tuple[str, ...]
    wrappers: tuple[str, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[tuple[str, str], ...] = ()
    background: bool = False
    piped_from: tuple[str, ...] = ()
    piped_to: tuple[str, ...] = ()

    @property
    def dynamic(self) -> bool:
        """Whether a word of it is known only when it runs."""
        return any(UNKNOWN in word for word in self.words)


class Classification(Struct, frozen=True, kw_only=True):
    """What a command line is.

    `verdict` is that of the built-in rules alone: deny for what no mode lets run, ask for what is
    dangerous or cannot be parsed. `hardline` and `dangerous` say which rules were met; the few
    commands that are only hardline, such as a shutdown, are not `dangerous`.
    """

    verdict: Literal["allow", "ask", "deny"]
    hardline: bool
    dangerous: bool
    families: tuple[str, ...]
    reason: str
    segments: tuple[Segment, ...]


class Finding(Struct, frozen=True):
    """A rule that was met: its family, whether the floor holds it, whether it is asked about."""

    family: str
    floor: bool = False
    asked: bool = True
