"""The classifier: what a command line is by the built-in rules."""

import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from hermes.safety.commands.expand import Scope, absolute
from hermes.safety.commands.model import Classification, Finding, Redirect, Segment
from hermes.safety.commands.places import Places
from hermes.safety.commands.rules import (
    inline,
    machine,
    network,
    programs,
    removal,
    running,
    writing,
)
from hermes.safety.commands.rules.arguments import Rule, Site
from hermes.safety.commands.rules.text import looks_alike, odd
from hermes.safety.commands.tree import Unparsed
from hermes.safety.commands.walk import Draft, Place, Walker
from hermes.system.i18n import t

__all__ = ["Classification", "Classifier", "Redirect", "Segment"]

_AREAS: Final = (removal, writing, machine, programs, network, inline, running)
_EVERYWHERE: Final[tuple[Rule, ...]] = (*network.EVERYWHERE, *running.EVERYWHERE)


def _by_program() -> dict[str, tuple[Rule, ...]]:
    table: dict[str, tuple[Rule, ...]] = {}
    for area in _AREAS:
        for program, rule in area.RULES.items():
            table[program] = (*table.get(program, ()), rule)
    return table


_RULES: Final = _by_program()


class Classifier:
    """Classifies command lines. It runs nothing, reads no file and knows the machine by a few
    paths and the numbers `pids` of Hermes's own process and group only, so the same line in the
    same folder is always the same."""

    def __init__(
        self,
        *,
        home: str | Path | None = None,
        hermes_home: str | Path = "",
        python: str = sys.prefix,
        pids: Collection[int] = (),
    ) -> None:
        self._home = absolute(str(home), "/") if home else "/root"
        self._places = Places(
            home=self._home,
            hermes_home=absolute(str(hermes_home), "/") if hermes_home else "",
            python=python if python.count("/") > 2 else "",
            pids=frozenset(pids),
        )

    def classify(self, command: str, *, cwd: str = "/") -> Classification:
        """What `command` is if a shell runs it in `cwd`. Never raises."""
        walker = parsed(command, home=self._home, cwd=cwd)
        site = Site(self._places, walker.drafts)
        findings = dict.fromkeys(walker.findings)
        for draft in walker.drafts:
            findings.update(dict.fromkeys(_judged(draft, site)))
        if odd(command):
            findings[Finding("odd_text")] = None
        if walker.error:
            findings[Finding("unparsed")] = None
        return _classification(list(findings), walker)


def parsed(command: str, *, home: str, cwd: str) -> Walker:
    """The simple commands of a text; `error` of the answer says what of it was not understood."""
    walker = Walker()
    try:
        walker.text(command, Scope(home, (absolute(cwd, "/"),)), Place())
    except Unparsed as e:
        walker.error = str(e)
    except RecursionError:
        walker.error = "too deeply nested"
    return walker


def _judged(draft: Draft, site: Site) -> Iterator[Finding]:
    name = draft.program
    if name.startswith("mkfs"):
        yield from removal.disk(draft, site)
    rules = _RULES.get(name) or _RULES.get(network.interpreter(name)) or _RULES.get(name.lower())
    for rule in rules or ():
        yield from rule(draft, site)
    if draft.redirects:
        yield from writing.redirects(draft, site)
        yield from network.sockets(draft, site)
        yield from removal.bare_redirect(draft, site)
    for rule in _EVERYWHERE:
        yield from rule(draft, site)
    for words in draft.outer:
        yield from _outer(words)
    if not name.isascii() and looks_alike(name):
        yield Finding("odd_text")


def _outer(words: tuple[str, ...]) -> Iterator[Finding]:
    name = words[0].rpartition("/")[2]
    if name == "sudo":
        yield from machine.sudo(words)
    elif name in ("docker", "podman", "nerdctl", "docker-compose"):
        yield from running.container(words)


def _classification(findings: list[Finding], walker: Walker) -> Classification:
    hardline = any(each.floor for each in findings)
    dangerous = any(each.asked for each in findings)
    findings.sort(key=lambda each: not each.floor)
    families = tuple(dict.fromkeys(each.family for each in findings))
    if families[:1] == ("unparsed",):
        reason = t("commands.unparsed", why=walker.error)
    else:
        reason = t(f"commands.{families[0]}") if families else t("commands.nothing")
    return Classification(
        verdict="deny" if hardline else "ask" if dangerous else "allow",
        hardline=hardline,
        dangerous=dangerous,
        families=families,
        reason=reason,
        segments=segments(walker),
    )


def segments(walker: Walker) -> tuple[Segment, ...]:
    """The simple commands as others see them."""
    return tuple(
        Segment(
            text=draft.text,
            program=draft.program,
            words=draft.words,
            wrappers=draft.wrappers,
            redirects=draft.redirects,
            assignments=draft.assignments,
            background=draft.background,
            piped_from=tuple(each.program for each in draft.upstream),
            piped_to=tuple(each.program for each in draft.downstream),
        )
        for draft in walker.drafts
    )
