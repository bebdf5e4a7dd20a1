"""The chain that decides about every call, whatever tool it is of and wherever it came from.

`Chain.steps` is the order: the first step with a verdict decides. All of it is heuristics; the
operating system is the boundary.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio

from hermes.core.errors import Bug, HermesError
from hermes.core.ids import SessionId
from hermes.ports.guard import ALLOW, ALWAYS, NO, SESSION, Guard, Judge, Proposal, Verdict
from hermes.safety.approvals.binding import Bound, bind, drift, redefines, script_digest
from hermes.safety.approvals.floors import BlindSudo, DenyList, Hardline, OwnSettings, deny
from hermes.safety.approvals.grants import (
    entry_allows,
    exact,
    grants,
    refusals,
    unreferenced,
)
from hermes.safety.approvals.judge import SideJudge
from hermes.safety.approvals.rules import Rules, command_flaw
from hermes.safety.approvals.scanner import Scan, Scanner
from hermes.safety.approvals.steps import (
    AllowAndAskRules,
    AllowList,
    Attendance,
    Breaker,
    Clear,
    DenyRules,
    Modes,
    Patterns,
    Person,
    Protected,
    Refused,
    Yolo,
)
from hermes.safety.approvals.subject import (
    Classifier,
    Step,
    Subject,
    folder_of,
    text_of,
)
from hermes.safety.paths import PathPolicy
from hermes.system.i18n import t

log = logging.getLogger("hermes.safety")

QUICK = 2_000
"""Characters of a command that is parsed at once; a longer one in a worker thread."""

Environ = Callable[[SessionId], Mapping[str, str]]


def _no_environment(_: SessionId) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, kw_only=True)
class ApprovalGuard(Guard):
    """The guard of a run; made once, so that what it was told at the start stays.

    `off` asks nothing. `classifier` makes the one that parses commands when the first comes.
    `environ` is what commands of a session have in their environment. `save` keeps a rule for good;
    without it that is not offered. `sudo_password` tells that sudo has one. A command that `redact`
    changes is not saved.
    """

    policy: PathPolicy
    off: bool
    classifier: Callable[[], Classifier]
    rules: Rules = field(default_factory=Rules)
    denied: Sequence[str] = ()
    allowed: Sequence[str] = ()
    modes: Modes = field(default_factory=Modes)
    most_refusals: int = 3
    scan: Scan | None = None
    judge_model: Judge | None = None
    environ: Environ = _no_environment
    save: Callable[[str], Awaitable[None]] | None = None
    sudo_password: bool = False
    redact: Callable[[str], str] = str
    _made: list[Classifier] = field(default_factory=list, init=False)
    _allow_list: AllowList = field(init=False)
    steps: tuple[Step, ...] = field(init=False)

    def __post_init__(self) -> None:
        user = self.policy.user
        listed = AllowList(entries=list(self.allowed), home=user)
        object.__setattr__(self, "_allow_list", listed)
        steps: tuple[Step | None, ...] = (
            # Floors.
            Hardline(),
            OwnSettings(policy=self.policy),
            BlindSudo(password=self.sudo_password),
            DenyList(globs=self.denied),
            # Deny rules, and what only a person may allow.
            DenyRules(rules=self.rules, home=user),
            Protected(policy=self.policy, bind=self._bind),
            Refused(most=self.most_refusals, home=user),
            # What the owner said beforehand.
            Yolo(off=self.off),
            listed,
            AllowAndAskRules(rules=self.rules, home=user),
            # What is found in the call itself.
            Patterns(policy=self.policy, modes=self.modes),
            Scanner(scan=self.scan) if self.scan is not None else None,
            Clear(),
            # Who decides.
            Breaker(most=self.most_refusals),
            Attendance(modes=self.modes),
            SideJudge(judge_=self.judge_model, bind=self._bind) if self.judge_model else None,
            Person(
                bind=self._bind,
                modes=self.modes,
                home=user,
                saves=self.save is not None,
                redact=self.redact,
            ),
        )
        object.__setattr__(self, "steps", tuple(step for step in steps if step is not None))

    async def judge(self, proposal: Proposal) -> Verdict:
        kind, text = text_of(proposal)
        if not isinstance(text, str) or (kind != "call" and not text.strip()):
            # No command at all: the tool says so, and runs nothing.
            return ALLOW
        subject = Subject(proposal=proposal, kind=kind, text=text, cwd=folder_of(proposal))
        if kind in ("command", "input"):
            await self._parse(subject)
        for step in self.steps:
            verdict = await step.judge(subject)
            if verdict is not None:
                break
        else:
            raise Bug("the last step of the chain always decides")
        if verdict.decision == "deny":
            return self._counted(proposal, verdict)
        if redefines(subject):
            # What a person allowed for the session may be another program afterwards.
            grants(proposal.state).exact.clear()
        return verdict

    async def answered(
        self, proposal: Proposal, verdict: Verdict, choice: str, rule: str = ""
    ) -> Verdict:
        subject = await self._subject(proposal)
        if choice == NO or choice not in verdict.choices:
            reason = t("approvals.said_no") if proposal.origin.person else verdict.reason
            return self._refused(subject, reason)
        if choice == SESSION:
            digest = script_digest(subject, self.policy.user)
            grants(proposal.state).exact.add((exact(subject), subject.cwd, digest))
        if choice == ALWAYS and (
            why := await self._keep(subject, unreferenced(rule.strip()) or verdict.rule)
        ):
            return self._refused(subject, why)
        refusals(proposal).count = 0
        return Verdict(decision="allow", step=verdict.step, bound=verdict.bound)

    async def drifted(self, proposal: Proposal, verdict: Verdict) -> str:
        if not isinstance(verdict.bound, Bound):
            return ""
        what = drift(verdict.bound, await self._bind(await self._subject(proposal)))
        return t("approvals.drift", what=what) if what else ""

    async def _keep(self, subject: Subject, rule: str) -> str:
        """Save `rule`; why that was not done, or empty."""
        digest = script_digest(subject, self.policy.user)
        why = command_flaw(rule)
        if why is None and not entry_allows(rule, subject.text, digest):
            why = t("approvals.rule_other")
        if why is None and not rule.strip("*? "):
            why = t("approvals.sure", rule=rule)
        if why is not None or self.save is None:
            return t("approvals.bad_rule", rule=rule, why=why)
        try:
            await self.save(rule)
        except HermesError as e:
            return t("approvals.not_saved", why=e)
        self._allow_list.entries.append(rule)
        return ""

    def _refused(self, subject: Subject, reason: str) -> Verdict:
        past = refusals(subject.proposal)
        past.paths |= {*subject.proposal.touches}
        return self._counted(subject.proposal, deny("person", reason))

    def _counted(self, proposal: Proposal, verdict: Verdict) -> Verdict:
        past = refusals(proposal)
        past.count += 1
        if not self.most_refusals or past.count < self.most_refusals:
            return verdict
        reason = t("approvals.stop", reason=verdict.reason, count=past.count)
        return Verdict(decision="deny", step=verdict.step, reason=reason)

    async def _subject(self, proposal: Proposal) -> Subject:
        kind, text = text_of(proposal)
        text = text if isinstance(text, str) else ""
        subject = Subject(proposal=proposal, kind=kind, text=text, cwd=folder_of(proposal))
        if kind in ("command", "input"):
            await self._parse(subject)
        return subject

    async def _parse(self, subject: Subject) -> None:
        if not self._made:
            self._made.append(self.classifier())
        classify = partial(self._made[0].classify, subject.text, cwd=subject.cwd)
        try:
            quick = len(subject.text) <= QUICK
            subject.parsed = classify() if quick else await anyio.to_thread.run_sync(classify)
        except Exception:  # boundary: one command's words; the first step refuses it
            log.exception("a command could not be classified")

    async def _bind(self, subject: Subject) -> Bound:
        env = self.environ(subject.proposal.session)
        home: Path | None = self.policy.user
        return await anyio.to_thread.run_sync(lambda: bind(subject, env, home))
