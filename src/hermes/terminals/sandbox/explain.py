"""What a sandbox keeps and what it leaves open, said as it is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hermes.system.i18n import t
from hermes.terminals.sandbox import landlock
from hermes.terminals.sandbox.plan import Plan
from hermes.terminals.sandbox.sandboxes import Choice, Sandboxes
from hermes.terminals.sandbox.stores import name_of

LEVEL_KEY: Final = "terminal.local.sandbox"
NETWORK_KEY: Final = "terminal.local.network"
EXPOSE_KEY: Final = "terminal.local.expose"

TRUNCATES: Final = 3
"""The first version of Landlock that keeps files from being emptied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """One thing that is not closed; `key` is the setting that closes it, "" if none does."""

    name: str
    text: str
    key: str = ""
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A sandbox in words. `hidden` has the key that opens each path, "" where none does."""

    choice: Choice
    level: str
    network: str
    hidden: Mapping[str, str]
    read_only: tuple[str, ...]
    writable: tuple[str, ...]
    open: tuple[Open, ...]


async def explain(sandboxes: Sandboxes, workspace: Path) -> Explanation:
    """The sandbox for `workspace`; for level `off` and without an engine, what would be."""
    choice = await sandboxes.choice()
    plan = sandboxes.plan(workspace)
    settings = sandboxes.settings
    people = sandboxes.people
    hidden = {
        path: f"{EXPOSE_KEY}: {name}" if (name := name_of(path, people, settings.expose)) else ""
        for path, access in plan.rules.items()
        if access in {"hidden", "private"}
    }
    return Explanation(
        choice=choice,
        level=settings.sandbox,
        network=settings.network,
        hidden=hidden,
        read_only=tuple(p for p, access in plan.rules.items() if access in {"read", "closed"}),
        writable=tuple(p for p, access in plan.rules.items() if access == "write"),
        open=tuple(_open(sandboxes, choice, plan)),
    )


def _open(sandboxes: Sandboxes, choice: Choice, plan: Plan) -> Iterator[Open]:
    settings = sandboxes.settings
    if settings.sandbox == "off" or choice.engine == "none":
        yield _one("everything", LEVEL_KEY)
        return
    if settings.network == "open":
        yield _one("network", NETWORK_KEY)
    if settings.expose:
        yield _one("exposed", EXPOSE_KEY, settings.expose)
    if sandboxes.agent:
        yield _one("agent", "", (sandboxes.agent,))
    if plan.level == "protect":
        yield _one("home", LEVEL_KEY)
    if plan.level == "workspace-write":
        yield _one("caches", LEVEL_KEY)
    if plan.level != "read-only":
        yield _one("projects", LEVEL_KEY)
    yield from map(_one, ("tmp", "copies", "keys", "devices", "display", "kernel"))
    if plan.late:
        yield _one("late", "", tuple(plan.late))
    yield from _landlock(choice, plan, settings.network) if choice.engine == "landlock" else ()


def _landlock(choice: Choice, plan: Plan, network: str) -> Iterator[Open]:
    """What Landlock cannot keep, by its version."""
    yield from map(_one, ("sockets", "processes", "names"))
    if fixed := landlock.fixed(plan):
        yield _one("nothing_new", "", fixed)
    if network != "open":
        yield _one("udp", "")
    if choice.landlock < TRUNCATES:
        yield _one("truncate")
    if choice.landlock < landlock.FULL:
        yield _one("signals")


def _one(name: str, key: str = "", paths: tuple[str, ...] = ()) -> Open:
    return Open(name=name, text=t(f"sandbox.open_{name}"), key=key, paths=paths)
