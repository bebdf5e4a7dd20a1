"""What no mode and no yes of a person lets run."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Final

from msgspec import Struct

from hermes.ports.guard import Verdict
from hermes.safety.approvals.rules import covers, forms
from hermes.safety.approvals.subject import Subject
from hermes.safety.approvals.targets import ONLY_READ, written_paths
from hermes.safety.commands.model import Segment
from hermes.safety.paths import PathPolicy
from hermes.system.i18n import t

OWNERS_VERBS: Final = (
    ("config", "set"),
    ("config", "unset"),
    ("approvals", "allow"),
    ("approvals", "deny"),
    ("approvals", "revoke"),
)
"""Verbs of `hermes` that change what Hermes allows itself."""

OPENS_ALL: Final = ("--yolo", "--accept-hooks", "--approve", "--approve=all")


class Hardline(Struct, frozen=True, kw_only=True):
    """Commands that end a machine, a disk or a home, or Hermes's own Python."""

    name: str = "hardline"

    async def judge(self, subject: Subject) -> Verdict | None:
        if subject.parsed is None and subject.kind in ("command", "input"):
            return deny(self.name, t("approvals.unchecked"))
        if subject.parsed is None or not subject.parsed.hardline:
            return None
        return deny(self.name, t("approvals.hardline", reason=subject.parsed.reason))


class OwnSettings(Struct, frozen=True, kw_only=True):
    """Hermes's own permissions: its configuration, its verbs that change it, its switches."""

    policy: PathPolicy
    name: str = "own settings"

    async def judge(self, subject: Subject) -> Verdict | None:
        for segment in subject.segments:
            if what := _opens(segment, subject.text):
                return deny(self.name, t("approvals.own_settings", what=what))
        if subject.parsed is None:
            return None
        config = self.policy.home / "config.yaml"
        if config in written_paths(subject, self.policy.user):
            return deny(self.name, t("approvals.own_settings", what=config))
        return None


class BlindSudo(Struct, frozen=True, kw_only=True):
    """`sudo -S`: it waits for a password on an input that is empty."""

    password: bool
    name: str = "sudo without password"

    async def judge(self, subject: Subject) -> Verdict | None:
        if self.password or not any(map(_reads_password, subject.segments)):
            return None
        return deny(self.name, t("approvals.blind_sudo"))


class DenyList(Struct, frozen=True, kw_only=True):
    """`approvals.deny`: globs over each command of a line, and over the line."""

    globs: Sequence[str]
    name: str = "approvals.deny"

    async def judge(self, subject: Subject) -> Verdict | None:
        if not self.globs or not subject.text:
            return None
        candidates = {subject.text.strip(), " ".join(subject.text.split())}
        for segment in subject.segments:
            candidates |= forms(segment)
        for i, glob in enumerate(self.globs):
            lines = subject.text.splitlines() if subject.kind == "script" else ()
            hit = any(covers(glob, form) for form in candidates) or any(
                fnmatchcase(line, glob) for line in lines
            )
            if hit:
                source = f"approvals.deny[{i}]"
                return deny(self.name, t("approvals.denied_by", source=source, rule=glob))
        return None


def deny(step: str, reason: str) -> Verdict:
    """A refusal that nobody is asked about."""
    return Verdict(decision="deny", step=step, reason=reason)


def _opens(segment: Segment, text: str) -> str:
    words = list(segment.words)
    names = {segment.program.rpartition("/")[2], *(w.rpartition("/")[2] for w in words)}
    if segment.program in ONLY_READ or not names & {"hermes", "hermes-acp"}:
        return ""
    plain = [word for word in words if not word.startswith("-")]
    pairs = set(pairwise(plain))
    for verb in OWNERS_VERBS:
        if verb in pairs:
            return f"hermes {' '.join(verb)}"
    opened = next((word for word in words if word in OPENS_ALL), "")
    if opened or "HERMES_YOLO_MODE" in text:
        return f"hermes {opened or 'HERMES_YOLO_MODE'}"
    return ""


def _reads_password(segment: Segment) -> bool:
    """Whether sudo is told to read its password from standard input."""
    words = list(segment.words)
    at = next((i for i, w in enumerate(words) if w.rpartition("/")[2] == "sudo"), None)
    if at is None:
        # The parser may have taken the wrapper off; then it stands in the text.
        if not any(w.rpartition("/")[2].split()[:1] == ["sudo"] for w in segment.wrappers):
            return False
        words, at = segment.text.split(), 0
        at = next((i for i, w in enumerate(words) if w.rpartition("/")[2] == "sudo"), 0)
    for word in words[at + 1 :]:
        if word == "--stdin":
            return True
        if not word.startswith("-") or word == "--":
            return False
        if not word.startswith("--") and "S" in word:
            return True
    return False
