"""A sandbox as a terminal holds it: how a program starts in it, and what its failures mean."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from hermes.terminals.sandbox.bubblewrap import ENTER
from hermes.terminals.sandbox.late import Late
from hermes.terminals.sandbox.plan import Level, Plan
from hermes.terminals.sandbox.stores import name_of

Engine = Literal["bubblewrap", "landlock", "none"]

LOOKED_AT: Final = 20_000
"""Bytes of a command's output, from its end, that are searched for the words of a refusal."""

REFUSAL: Final = (
    r"(?mi)^.*(?:Read-only file system|Permission denied|Operation not permitted|No such file|"
    r"Cross-device link|Device or resource busy).*$"
)
PATH: Final = r"(?<![\w.~])/[^\s'\"‘’`:;,()\[\]<>|]+"
SUDO: Final = r"no new privileges|effective uid is not 0|must be setuid root"
DOORS: Final = (
    r"(?i)docker daemon|docker\.sock|podman\.sock|connect to bus|system bus|D-Bus|"
    r"booted with systemd|error connecting to /tmp/tmux"
)
NETWORK: Final = (
    r"(?i)Network is unreachable|Could not resolve|name resolution|Name or service not known|"
    r"No address associated|Failed to connect|Connection refused|EAI_AGAIN|ENETUNREACH|"
    r"CONNECT tunnel failed|Tunnel connection failed|Received HTTP code 403 from proxy"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Jail:
    """One sandbox, for the programs of one session.

    `before` is what stands before the words of a program. `env` is what its environment gets,
    None for what it must not have, as that leads to what is closed. `warning` is a sentence for the
    person if there is no sandbox though one is asked for. `home` is the person's own, for `~`;
    `people` have stores that may be exposed, and `exposed` are those that are.
    """

    engine: Engine
    level: Level
    network: Literal["open", "none", "allow-list"] = "open"
    before: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    env: Mapping[str, str | None] = field(default_factory=dict)
    warning: str | None = None
    plan: Plan | None = None
    home: str = ""
    people: tuple[Path, ...] = ()
    exposed: tuple[str, ...] = ()
    late: Late = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "late", Late(self.plan.late if self.plan else {}))

    def argv(self, program: Sequence[str]) -> list[str]:
        """The words that start `program`, whose path is absolute, in the sandbox.

        It keeps the descriptors that are handed to it. A script of Python that is started by
        `[python, "-I", "-S", script, ...]` starts quickest.
        """
        if self.engine == "none":
            return list(program)
        isolated = list(program[1:3]) == ["-I", "-S"]
        python = program[:3] if isolated else (sys.executable, "-I", "-S")
        how, rest = ((), program[3:]) if isolated else (("exec",), program)
        return [*self.before, *python, ENTER, *how, *self.words, "--", *rest]

    def appeared(self) -> tuple[str, ...]:
        """Protected paths that could not be covered and have come to be, or lead elsewhere now.

        What runs by itself later is among them; a person has to know.
        """
        return self.late.appeared()

    def hint(self, output: bytes, exit_code: int) -> str | None:
        """One sentence for the model if the sandbox seems to be why a command failed."""
        if exit_code == 0 or self.engine == "none" or self.plan is None:
            return None
        text = output[-LOOKED_AT:].decode("utf-8", "replace")
        what = f"The sandbox ({self.engine}, level {self.level})"
        if re.search(SUDO, text):
            return f"{what} lets no program gain rights, so sudo and su never work in it."
        for line in re.findall(REFUSAL, text):
            if reason := self._refused(line):
                return f"{what} {reason}"
        if self.engine == "bubblewrap" and re.search(DOORS, text):
            return (
                f"{what} closes the sockets of container engines, D-Bus, systemd and tmux; "
                "`terminal.local.expose` opens them by name, see `hermes sandbox explain`."
            )
        if self.network != "open" and re.search(NETWORK, text):
            key = "network_allow" if self.network == "allow-list" else "network"
            return (
                f"{what} has the network policy `{self.network}`; a person can change it by "
                f"`terminal.local.{key}`."
            )
        return None

    def _refused(self, line: str) -> str | None:
        """What the sandbox has to do with a refusal, in words after its name."""
        assert self.plan is not None
        read_only = "read-only file system" in line.lower()
        missing = "no such file" in line.lower()
        for path, shown in self._named(line):
            access = self.plan.access(path)
            if access in {"hidden", "private"}:
                if name := name_of(path, self.people, self.exposed):
                    return (
                        f"hides {shown}; a person can open it by `terminal.local.expose`: {name}."
                    )
                return f"hides {shown} at every level; there is no key that opens it."
            if access in {"read", "closed"} and not missing:
                return (
                    f"keeps {shown} read-only; file tools can ask a person for a single file, and "
                    "`terminal.local.sandbox` is the level."
                )
        if read_only:
            return "keeps that path read-only; `terminal.local.sandbox` is the level."
        return None

    def _named(self, line: str) -> Iterator[tuple[str, str]]:
        """Paths in `line` about which the plan says something, and how they are written there."""
        assert self.plan is not None
        # The deepest first, as it is the one that decides.
        for path in sorted(self.plan.rules, key=len, reverse=True):
            for shown in self._spellings(path):
                if re.search(rf"(?<![\w/.-]){re.escape(shown)}(?![\w.-])", line):
                    yield path, shown
        for found in re.findall(PATH, line):
            yield os.path.normpath(found), found

    def _spellings(self, path: str) -> Iterator[str]:
        if path.count("/") < 2:
            return
        yield path
        if self.home and path.startswith(f"{self.home}/"):
            inner = path[len(self.home) + 1 :]
            yield f"~/{inner}"
            if inner.startswith("."):
                yield inner
