"""The steps between the floors and the judging model, in the order of the chain."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from hermes.ports.guard import ALLOW, ALWAYS, NO, ONCE, SESSION, Bypass, Verdict
from hermes.safety.approvals.binding import Bound, script_digest
from hermes.safety.approvals.floors import deny
from hermes.safety.approvals.grants import entry, entry_allows, exact, grants, refusals
from hermes.safety.approvals.rules import Rules, canonical, typed
from hermes.safety.approvals.subject import PROCESS, Subject
from hermes.safety.approvals.targets import named_paths, written_paths
from hermes.safety.paths import PathPolicy
from hermes.system.i18n import t

Unattended = Literal["deny", "approve"]

MODE_KEYS = {"cron": "cron_mode", "oneshot": "single_query_mode", "cli": "single_query_mode"}
"""The key of `approvals` that decides for a surface without a person; `unattended_mode` for any
other."""


class DenyRules(Struct, frozen=True, kw_only=True):
    """`permissions` rules that say deny."""

    rules: Rules
    home: Path | None
    name: str = "permissions"

    async def judge(self, subject: Subject) -> Verdict | None:
        match self.rules.decide(subject, self.home):
            case "deny", rule:
                said = t("approvals.denied_by", source=rule.source, rule=rule)
                return deny(self.name, said)
        return None


class Protected(Struct, frozen=True, kw_only=True):
    """Files that instruct agents: a person decides, each time, whatever else is said."""

    policy: PathPolicy
    bind: Callable[[Subject], Awaitable[Bound]]
    name: str = "protected files"

    async def judge(self, subject: Subject) -> Verdict | None:
        if subject.parsed is not None:
            paths = written_paths(subject, self.policy.user)
        elif subject.proposal.tool.effects == "writes":
            paths = list(map(Path, subject.proposal.touches))
            if any(self.policy.unwritable(path) for path in paths):
                # The tool refuses it, whatever is said here, and knows the better reason.
                return None
            named = subject.proposal.arguments.get("path")
            if isinstance(named, str):
                paths.append(subject.typed(named, self.policy.user))
        else:
            return None
        found = [(path, why) for path in paths if (why := self.policy.instructs(path))]
        if not found:
            return None
        concerns = "\n".join(t("approvals.protected", path=p, reason=why) for p, why in found)
        return Verdict(
            decision="ask",
            step=self.name,
            reason=t("approvals.nobody_protected", concerns=concerns),
            question=t("approvals.question", concerns=concerns),
            choices=(ONCE, NO),
            bound=await self.bind(subject),
        )


class Refused(Struct, frozen=True, kw_only=True):
    """What was refused in this turn is not done by another way unseen, and not asked for ever."""

    most: int
    home: Path | None
    name: str = "refused before"

    async def judge(self, subject: Subject) -> Verdict | None:
        past = refusals(subject.proposal)
        if not past.paths or subject.proposal.tool.effects in ("none", "reads"):
            return None
        touched = {*subject.proposal.touches}
        if subject.parsed is not None:
            touched |= {str(path) for path in named_paths(subject, self.home)}
        for path in sorted(past.paths):
            if path in touched or (subject.text and Path(path).name in subject.text):
                subject.concerns.append(t("approvals.refused_before", path=path))
                subject.human, subject.lasting = True, False
        return None


class Yolo(Struct, frozen=True, kw_only=True):
    """The owner wants no questions: `--yolo`, HERMES_YOLO_MODE or `approvals.mode: off` as they
    were at the start, or `/yolo` in this session."""

    off: bool
    name: str = "yolo"

    async def judge(self, subject: Subject) -> Verdict | None:
        on = self.off or subject.proposal.state.of(Bypass).on
        return Verdict(decision="allow", step=self.name) if on else None


class AllowList(Struct, kw_only=True):
    """What a person allowed before: `command_allowlist`, and calls allowed for this session."""

    entries: list[str]
    home: Path | None
    name: str = "allow list"

    async def judge(self, subject: Subject) -> Verdict | None:
        if subject.human:
            return None
        digest = script_digest(subject, self.home) if subject.kind == "command" else ""
        if (exact(subject), subject.cwd, digest) in grants(subject.proposal.state).exact:
            return Verdict(decision="allow", step="session")
        if subject.kind == "command" and self._lists(subject, digest):
            return Verdict(decision="allow", step=self.name)
        return None

    def _lists(self, subject: Subject, digest: str) -> bool:
        if any(entry_allows(each, subject.text, digest) for each in self.entries if _whole(each)):
            return True
        segments = subject.segments
        if segments and all(
            any(entry_allows(each, typed(segment), digest) for each in self.entries)
            for segment in segments
        ):
            return True
        parsed = subject.parsed
        families = parsed.families if parsed is not None and parsed.dangerous else ()
        return bool(families) and all(family in self.entries for family in families)


class AllowAndAskRules(Struct, frozen=True, kw_only=True):
    """`permissions` rules that say allow or ask."""

    rules: Rules
    home: Path | None
    name: str = "permissions"

    async def judge(self, subject: Subject) -> Verdict | None:
        match self.rules.decide(subject, self.home):
            case "allow", _ if not subject.human:
                return Verdict(decision="allow", step=self.name)
            case "ask", rule:
                said = t("approvals.asked_by", source=rule.source, rule=rule)
                subject.concerns.append(said)
                subject.human = True
        return None


BY_HAND: Final = "tools"
"""The surface whose calls a person has written out, code and all (`hermes tools call`)."""


class Patterns(Struct, frozen=True, kw_only=True):
    """What of a call somebody should look at, by its kind; and scripts, whose calls are judged one
    by one, and which are started only if somebody is there."""

    policy: PathPolicy
    modes: "Modes"
    name: str = "patterns"

    async def judge(self, subject: Subject) -> Verdict | None:
        proposal = subject.proposal
        if subject.kind == "script":
            return self._script(subject)
        if subject.kind in ("command", "input"):
            subject.concerns += _flags(subject)
        elif proposal.tool.effects in ("none", "reads") or proposal.tool.name in PROCESS:
            pass
        elif proposal.tool.effects == "world":
            subject.concerns.append(t("approvals.world"))
        elif not proposal.touches:
            subject.concerns.append(t("approvals.unknown_extent"))
        else:
            paths = list(map(Path, dict.fromkeys(proposal.touches)))
            if any(self.policy.unwritable(path) for path in paths):
                return ALLOW
            why = [(path, self.policy.asks(path)) for path in paths]
            subject.concerns += [t("safety.one", path=p, reason=r) for p, r in why if r]
        return None

    def _script(self, subject: Subject) -> Verdict | None:
        origin = subject.proposal.origin
        if subject.concerns:
            return None
        by_hand = origin.surface == BY_HAND
        if origin.person or by_hand or self.modes.of(origin.surface) == "approve":
            return Verdict(decision="allow", step=self.name)
        key = self.modes.key(origin.surface)
        return Verdict(
            decision="ask", step=self.name, reason=t("approvals.script_unattended", key=key)
        )


class Clear(Struct, frozen=True, kw_only=True):
    """Nothing was found: the call runs, inside whatever the operating system allows it."""

    name: str = "nothing found"

    async def judge(self, subject: Subject) -> Verdict | None:
        return None if subject.concerns else Verdict(decision="allow", step=self.name)


class Breaker(Struct, frozen=True, kw_only=True):
    """After several refusals in a row in one turn, nothing more is asked in it."""

    most: int
    name: str = "refusals in a row"

    async def judge(self, subject: Subject) -> Verdict | None:
        past = refusals(subject.proposal)
        if not self.most or past.count < self.most:
            return None
        return deny(self.name, t("approvals.exhausted", count=past.count))


class Modes(Struct, frozen=True, kw_only=True):
    """What becomes of a flagged call where nobody can be asked, by surface."""

    cron: Unattended = "deny"
    single: Unattended = "deny"
    other: Unattended = "deny"

    def of(self, surface: str) -> Unattended:
        by_key = {"cron_mode": self.cron, "single_query_mode": self.single}
        return by_key.get(MODE_KEYS.get(surface, ""), self.other)

    def key(self, surface: str) -> str:
        return f"approvals.{MODE_KEYS.get(surface, 'unattended_mode')}"


class Attendance(Struct, frozen=True, kw_only=True):
    """Nobody is there, and the owner said beforehand that flagged calls may run then."""

    modes: Modes
    name: str = "unattended"

    async def judge(self, subject: Subject) -> Verdict | None:
        origin = subject.proposal.origin
        if origin.person or subject.human or self.modes.of(origin.surface) == "deny":
            return None
        return Verdict(decision="allow", step=self.name)


class Person(Struct, frozen=True, kw_only=True):
    """Everything else: a person decides. Whoever cannot be asked says no."""

    bind: Callable[[Subject], Awaitable[Bound]]
    modes: Modes
    home: Path | None
    saves: bool
    redact: Callable[[str], str]
    name: str = "person"

    async def judge(self, subject: Subject) -> Verdict | None:
        concerns = "\n".join(subject.concerns)
        rule = self._rule(subject) if self.saves and subject.lasting else None
        question = t("approvals.question", concerns=concerns)
        if rule:
            question = f"{question}\n{t('approvals.rule_shown', rule=rule)}"
        key = self.modes.key(subject.proposal.origin.surface)
        return Verdict(
            decision="ask",
            step=self.name,
            reason=t("approvals.nobody", concerns=concerns, key=key),
            question=question,
            choices=_choices(subject, rule),
            rule=rule or "",
            bound=await self.bind(subject),
            used=tuple(subject.used),
        )

    def _rule(self, subject: Subject) -> str | None:
        """What ALWAYS would save; only commands can be saved from a question, and none that
        holds a secret, which the file would show."""
        if subject.kind != "command" or self.redact(subject.text) != subject.text:
            return None
        return entry(subject.text, script_digest(subject, self.home))


def _choices(subject: Subject, rule: str | None) -> tuple[str, ...]:
    if not subject.lasting or subject.kind == "input":
        return (ONCE, NO)
    return (ONCE, SESSION, ALWAYS, NO) if rule else (ONCE, SESSION, NO)


def _whole(written: str) -> bool:
    """Whether an entry may stand for a whole line: not by a wildcard, which would let any other
    command follow."""
    return all(sign not in written.replace(f"[{sign}]", "") for sign in "*?")


def _flags(subject: Subject) -> Sequence[str]:
    parsed = subject.parsed
    if parsed is None or not parsed.dangerous:
        return ()
    if subject.kind == "input" and parsed.families == ("unparsed",):
        return ()  # What reads it need not be a shell, and no shell would run this.
    families = ", ".join(parsed.families)
    return (t("approvals.flagged", reason=parsed.reason, families=families),)


def call_text(subject: Subject) -> str:
    """What a call is, in one line."""
    return subject.text or canonical(subject.proposal.arguments)
