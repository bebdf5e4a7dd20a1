"""`hermes approvals list|allow|ask|deny|revoke`: the owner's rules over calls."""

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from glob import escape
from pathlib import Path

from hermes.core.errors import UserError
from hermes.safety.approvals.grants import unreferenced
from hermes.safety.approvals.rules import Decision, Rule, command_flaw, flaw
from hermes.safety.approvals.subject import SHELL
from hermes.surfaces.cli.services import Services
from hermes.surfaces.kit.columns import columns
from hermes.surfaces.kit.plain import printable
from hermes.system.config.edit import append_item, remove_item
from hermes.system.i18n import t

BUILT_IN = ("hardline", "person")
"""Steps whose reason is the classification's own."""

ALLOWED, DENIED, RULES = "command_allowlist", "approvals.deny", "permissions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A rule as it stands in the file."""

    key: str
    item: str | Mapping[str, str]
    rule: Rule


def list_(options: argparse.Namespace, services: Services) -> int:
    """Print every rule, in the order in which they count."""
    settings = services.config().settings
    approvals, rows = settings.approvals, list(_rows(services))
    if options.json:
        rules = [
            {
                "decision": row.rule.decision,
                "tool": row.rule.tool,
                "match": row.rule.match,
                "argument": row.rule.argument,
                "source": row.rule.source,
            }
            for row in rows
        ]
        print(json.dumps({"mode": approvals.mode, "rules": rules}, ensure_ascii=False, indent=2))
        return 0
    single, cron = approvals.single_query_mode, approvals.cron_mode
    other = approvals.unattended_mode
    print(t("approvals.mode", mode=approvals.mode, single=single, cron=cron, other=other))
    if approvals.read_only:
        print(t("approvals.read_only"))
    if not rows:
        print(t("approvals.none"))
        return 0
    table = [t("approvals.head").split("|")]
    for row in rows:
        rule = row.rule
        match = f"{rule.argument}={rule.match}" if rule.argument else rule.match
        shown = match or t("approvals.everything")
        table.append([rule.decision, rule.tool, shown, rule.source])
    print("\n".join(printable(line) for line in columns(table)))
    return 0


async def decided(command: str, services: Services) -> dict[str, str]:
    """What the whole chain would say of a command, and which step of it."""
    verdict = await services.judge(SHELL, {"command": command}, cwd=str(Path.cwd()))
    told = {"verdict": verdict.decision, "rule": verdict.step}
    if verdict.decision != "allow" and verdict.step not in BUILT_IN:
        told["reason"] = verdict.question or verdict.reason
    return told


async def check_call(tool: str, text: str, services: Services) -> int:
    """Print what would become of a call of `tool` with the arguments `text`, a JSON object."""
    try:
        arguments = json.loads(text)
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise UserError(t("approvals.tool_needs_json"))
    verdict = await services.judge(tool, arguments, cwd=str(Path.cwd()))
    told = {
        "verdict": verdict.decision,
        "rule": verdict.step,
        "reason": verdict.question or verdict.reason,
    }
    print(json.dumps(told, ensure_ascii=False))
    return 0


def allow(options: argparse.Namespace, services: Services) -> int:
    """Let calls run without a question."""
    if options.tool:
        return _save_rule("allow", options, services)
    pattern = _pattern(options)
    _check_command(pattern)
    _saved(services, ALLOWED, pattern)
    if not options.exact and not any(sign in pattern for sign in "*?["):
        print(t("approvals.meaning_exact", glob=printable(f"'{pattern} *'")))
    return 0


def ask(options: argparse.Namespace, services: Services) -> int:
    """Have a person asked about calls, each time."""
    return _save_rule("ask", options, services)


def deny(options: argparse.Namespace, services: Services) -> int:
    """Forbid calls, whatever else allows them."""
    if options.tool:
        return _save_rule("deny", options, services)
    pattern = _pattern(options)
    _check_command(pattern)
    _saved(services, DENIED, pattern)
    return 0


def revoke(options: argparse.Namespace, services: Services) -> int:
    """Take rules out of the file, wherever they stand."""
    wanted = options.pattern.strip()
    rows = [
        row
        for row in _rows(services)
        if wanted in (row.rule.match, row.rule.source)
        and (not options.tool or row.rule.tool == options.tool)
    ]
    if not rows:
        raise UserError(t("approvals.no_rule", rule=repr(wanted)), hint=t("approvals.no_rule_hint"))
    for row in rows:
        remove_item(services.home, row.key, row.item)
        print(t("approvals.revoked", key=row.key, rule=printable(str(row.rule))))
    services.reload()
    return 0


def _pattern(options: argparse.Namespace) -> str:
    """What was typed, as it is kept."""
    text = options.pattern.strip()
    return unreferenced(escape(text) if options.exact else text)


def _rows(services: Services) -> Iterator[Row]:
    config = services.config()
    for i, glob in enumerate(config.settings.approvals.deny):
        rule = Rule(tool=SHELL, match=glob, decision="deny", source=f"{DENIED}[{i}]")
        yield Row(key=DENIED, item=glob, rule=rule)
    written = config.written(RULES)
    items = written if isinstance(written, list) else []
    for i, section in enumerate(config.settings.permissions):
        rule = Rule(
            tool=section.tool or "*",
            match=section.match,
            argument=section.argument,
            decision=section.decision,
            source=f"{RULES}[{i}]",
        )
        yield Row(key=RULES, item=items[i] if i < len(items) else {}, rule=rule)
    for i, entry in enumerate(config.settings.command_allowlist):
        rule = Rule(tool=SHELL, match=entry, decision="allow", source=f"{ALLOWED}[{i}]")
        yield Row(key=ALLOWED, item=entry, rule=rule)


def _save_rule(decision: Decision, options: argparse.Namespace, services: Services) -> int:
    """Add a rule to `permissions`; the last one that matches decides."""
    match = _pattern(options)
    rule = Rule(
        tool=options.tool or SHELL,
        match="" if match == "*" else match,
        argument=options.argument,
        decision=decision,
        source=RULES,
    )
    why = flaw(rule, {spec.name: spec.schema for spec in services.tools()})
    if why is not None:
        raise UserError(t("approvals.rule_at", where=printable(options.pattern), why=why))
    item = {"tool": rule.tool, "match": rule.match, "argument": rule.argument}
    item = {name: value for name, value in item.items() if value} | {"decision": decision}
    _saved(services, RULES, item)
    return 0


def _saved(services: Services, key: str, item: str | Mapping[str, str]) -> None:
    added = append_item(services.home, key, item)
    services.reload()
    shown = item if isinstance(item, str) else json.dumps(dict(item), ensure_ascii=False)
    message = t("approvals.saved", key=key, rule=printable(shown)) if added else None
    print(message or t("approvals.there_already"))


def _check_command(pattern: str) -> None:
    """Raise UserError for a glob over commands that can never match, or matches everything."""
    why = command_flaw(pattern) if pattern else t("approvals.rule_empty")
    if why is not None:
        raise UserError(t("approvals.rule_at", where=printable(repr(pattern)), why=why))
    if not pattern.strip("*? "):
        raise UserError(t("approvals.sure", rule=printable(pattern)))
