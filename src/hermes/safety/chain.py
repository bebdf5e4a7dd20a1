"""The guard of today: commands are questions, and so are writes that cannot simply be undone.

The full chain (floors, deny rules, patterns, scanner, judge) arrives with its own rooms and takes
this one's place in `ports.guard.Guard`. All of it is heuristics; the operating system is the
boundary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hermes.core.people import Origin
from hermes.ports.guard import ALLOW, Guard, Verdict
from hermes.ports.tool import Arguments, SessionState, Tool
from hermes.safety.paths import PathPolicy
from hermes.system.i18n import t


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalGuard(Guard):
    """Asks a person before a call that may change anything, or that changes a path which `policy`
    asks about; one question for all paths of a call. `off` is the owner's `--yolo`.

    A path that nobody may write is no question: the tool refuses it, whatever is said here.
    """

    policy: PathPolicy
    off: bool

    def judge(
        self,
        tool: Tool,
        arguments: Arguments,
        state: SessionState,
        origin: Origin,
        *,
        touches: Sequence[str],
    ) -> Verdict:
        if self.off or tool.spec.effects in ("none", "reads"):
            return ALLOW
        if tool.spec.effects == "world" or not touches:
            return Verdict(decision="ask", reason=t("turn.nobody"))
        paths = list(map(Path, dict.fromkeys(touches)))
        if any(self.policy.unwritable(path) for path in paths):
            return ALLOW
        why = [(path, self.policy.asks(path)) for path in paths]
        reasons = "\n".join(t("safety.one", path=p, reason=r) for p, r in why if r)
        if not reasons:
            return ALLOW
        return Verdict(
            decision="ask",
            reason=t("safety.nobody", reasons=reasons),
            question=t("safety.question", reasons=reasons),
        )
