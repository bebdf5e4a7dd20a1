"""`hermes sandbox`: what commands run in, what that keeps and leaves open, and whether it holds."""

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hermes.surfaces.cli.services import Services
from hermes.surfaces.kit.plain import printable
from hermes.system.i18n import t
from hermes.terminals.sandbox.explain import Explanation, explain
from hermes.terminals.sandbox.sandboxes import Choice
from hermes.terminals.sandbox.trial import trial


async def status(options: argparse.Namespace, services: Services) -> int:
    """Print level and engine, and why it is not a better one; 1 if there is none but one is set."""
    async with services.sandboxes() as sandboxes:
        choice, settings = await sandboxes.choice(), sandboxes.settings
    off = settings.sandbox == "off"
    if options.json:
        _print_json(
            {"level": settings.sandbox, "network": settings.network, **_engine(choice, off=off)}
        )
    else:
        engine = "none" if off else choice.engine
        print(t("sandbox.level", level=settings.sandbox))
        print(t("sandbox.engine", engine=engine))
        print(t("sandbox.network", network=settings.network))
        for name, why in choice.passed_over.items():
            print(t("sandbox.passed_over", engine=name, why=why))
    return 1 if choice.engine == "none" and not off else 0


async def explain_(options: argparse.Namespace, services: Services) -> int:
    """Print what is hidden, read-only, writable and open for commands started in this folder."""
    async with services.sandboxes() as sandboxes:
        found = await explain(sandboxes, _here())
    if options.json:
        _print_json(_as_json(found))
        return 0
    print(t("sandbox.level", level=found.level))
    print(t("sandbox.engine", engine=found.choice.engine))
    print(t("sandbox.network", network=found.network))
    _section("sandbox.hidden", ((path, key) for path, key in found.hidden.items()))
    _section("sandbox.read_only", ((path, "") for path in found.read_only))
    _section("sandbox.writable", ((path, "") for path in found.writable))
    print(t("sandbox.open"))
    for each in found.open:
        key = t("sandbox.key", key=each.key) if each.key else ""
        print(t("sandbox.item", what=each.text, key=key))
        for path in each.paths:
            print(t("sandbox.below", what=printable(path)))
    return 0


async def test(options: argparse.Namespace, services: Services) -> int:
    """Try to break out, and print what came of each attempt; 1 if one did."""
    async with services.sandboxes() as sandboxes:
        outcomes = await trial(sandboxes, _here())
    if options.json:
        fields = ("attempt", "target", "verdict", "reason")
        _print_json([{name: getattr(each, name) for name in fields} for each in outcomes])
    else:
        for each in outcomes:
            target = printable(each.target)
            verdict = t(f"sandbox.verdict_{each.verdict}")
            what = t(f"sandbox.try_{each.attempt}", target=target)
            print(t("sandbox.outcome", verdict=verdict, what=what, reason=each.reason))
    return 1 if any(each.verdict == "broken" for each in outcomes) else 0


def _engine(choice: Choice, *, off: bool) -> dict[str, Any]:
    return {
        "engine": "none" if off else choice.engine,
        "program": choice.program,
        "landlock": choice.landlock,
        "passed_over": dict(choice.passed_over),
    }


def _as_json(found: Explanation) -> Mapping[str, Any]:
    return {
        "level": found.level,
        "network": found.network,
        **_engine(found.choice, off=found.level == "off"),
        "hidden": [{"path": path, "key": key} for path, key in found.hidden.items()],
        "read_only": list(found.read_only),
        "writable": list(found.writable),
        "open": [
            {"name": o.name, "text": o.text, "key": o.key, "paths": list(o.paths)}
            for o in found.open
        ],
    }


def _section(title: str, rows: Iterable[tuple[str, str]]) -> None:
    print(t(title))
    for path, key in rows:
        shown = t("sandbox.key", key=key) if key else ""
        print(t("sandbox.item", what=printable(path), key=shown))


def _print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def _here() -> Path:
    return Path.cwd()
