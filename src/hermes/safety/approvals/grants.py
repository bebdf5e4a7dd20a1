"""What has been allowed or refused already: for good, for a session, in a turn."""

import re
from fnmatch import fnmatchcase
from glob import escape
from typing import Final

from msgspec import Struct, field

from hermes.core.ids import TurnId
from hermes.ports.guard import Proposal
from hermes.ports.tool import SessionState
from hermes.safety.approvals.rules import canonical
from hermes.safety.approvals.subject import Subject

DIRECT: Final = "tools"
"""The surface of `hermes tools call`: nobody attempts anything there again by another way."""

_SEALED: Final = r"(?s)(.+) #sha256=([0-9a-f]{16})"
"""An entry of `command_allowlist` that holds for certain scripts only: the text, and the digest of
all script files that the command runs. In a shell it is a comment."""


class SessionGrants(Struct):
    """The very calls that a person allowed for the rest of a session, by their text, their folder
    and the digest of their scripts; kept in its SessionState."""

    exact: set[tuple[str, str, str]] = field(default_factory=set)


class Refusals(Struct):
    """What was refused in a turn: how many times in a row, and which paths and names."""

    turn: TurnId | None = None
    count: int = 0
    paths: set[str] = field(default_factory=set)

    def begin(self, turn: TurnId) -> "Refusals":
        """These refusals, emptied if a new turn has begun."""
        if turn != self.turn:
            self.turn, self.count = turn, 0
            self.paths.clear()
        return self


def grants(state: SessionState) -> SessionGrants:
    return state.of(SessionGrants)


def refusals(proposal: Proposal) -> Refusals:
    """What was refused in the turn of this call; nothing for calls that no model makes."""
    if proposal.origin.surface == DIRECT:
        return Refusals()
    return proposal.state.of(Refusals).begin(proposal.turn)


def exact(subject: Subject) -> str:
    """The one text that is the same for the same call."""
    if subject.kind == "command":
        background = subject.proposal.arguments.get("background")
        return f"{'& ' if background else ''}{subject.text}"
    return f"{subject.proposal.tool.name} {canonical(subject.proposal.arguments)}"


def entry(command: str, digest: str) -> str | None:
    """The entry of `command_allowlist` for exactly this command, wildcards made literal; None if
    it has none. `digest` is that of the scripts it runs, or empty."""
    if re.fullmatch(_SEALED, command):
        return None
    text = unreferenced(escape(command.strip()))
    return f"{text} #sha256={digest[:16]}" if digest else text


def unreferenced(pattern: str) -> str:
    """`pattern` so that its `${NAME}` stays what it is in the file of settings, where that would be
    a reference; it stands for the same commands."""
    return pattern.replace("${", "[$]{")


def entry_allows(written: str, command: str, digest: str) -> bool:
    """Whether an entry of `command_allowlist` stands for `command` with its scripts."""
    command = command.strip()
    if sealed := re.fullmatch(_SEALED, written):
        return fnmatchcase(command, sealed[1]) and sealed[2] == digest[:16]
    return fnmatchcase(command, written)
