"""A call under judgement: what it is in essence, and what the steps so far have to say of it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, Protocol

from msgspec import Struct, field

from hermes.ports.guard import Proposal, SideCall, Verdict
from hermes.safety.commands.model import UNKNOWN, Classification, Segment

Kind = Literal["command", "input", "script", "call"]
"""A shell command; text for a running process; a program for the code tool; any other call."""

SHELL: Final = "terminal"
SCRIPT: Final = "execute_code"
PROCESS: Final = ("process", "process_manage")
TYPING: Final = ("write", "submit")
"""Actions of PROCESS that hand text to a running program, which may be a shell."""


class Classifier(Protocol):
    """Parses and classifies command lines; `safety.commands` has the one."""

    def classify(self, command: str, *, cwd: str) -> Classification: ...


class Subject(Struct, kw_only=True):
    """One proposal on its way through the chain.

    `text` is the command or the code, empty for other calls; `parsed` is there if it is for a
    shell. `concerns` are the reasons found so far why somebody should decide. `human` says that it
    has to be a person, `lasting` that they may allow more than this one call. `paths` keeps what
    `targets` found.
    """

    proposal: Proposal
    kind: Kind
    text: str = ""
    cwd: str = ""
    parsed: Classification | None = None
    concerns: list[str] = field(default_factory=list)
    human: bool = False
    lasting: bool = True
    used: list[SideCall] = field(default_factory=list)
    paths: dict[str, list[Path]] = field(default_factory=dict)

    @property
    def segments(self) -> Sequence[Segment]:
        return self.parsed.segments if self.parsed is not None else ()

    def typed(self, word: str, home: Path | None) -> Path:
        """The absolute path that a word of this call spells, links not followed."""
        if home is not None:
            for short in ("~", "$HOME", "${HOME}"):
                if word == short or word.startswith(f"{short}/"):
                    word = str(home) + word[len(short) :]
        return Path(os.path.normpath(Path(self.cwd, word.replace(UNKNOWN, ""))))

    def resolve(self, word: str, home: Path | None) -> Path:
        """The canonical path that a word of this call stands for."""
        return Path(os.path.realpath(self.typed(word, home)))


class Step(Protocol):
    """One step of the chain: a verdict ends it, None hands on to the next step."""

    @property
    def name(self) -> str: ...

    async def judge(self, subject: Subject) -> Verdict | None: ...


def text_of(proposal: Proposal) -> tuple[Kind, object]:
    """What kind of call it is, and its command, text or code as it was given."""
    name, arguments = proposal.tool.name, proposal.arguments
    if name == SHELL:
        return "command", arguments.get("command")
    if name == SCRIPT:
        return "script", arguments.get("code")
    if name in PROCESS and arguments.get("action") in TYPING:
        return "input", arguments.get("data")
    return "call", ""


def folder_of(proposal: Proposal) -> str:
    """Where a shell command would run."""
    workdir = proposal.arguments.get("workdir")
    cwd = proposal.state.cwd
    if proposal.tool.name != SHELL or not isinstance(workdir, str) or not workdir:
        return cwd
    return str(Path(cwd, Path(workdir).expanduser()))
