"""The guard of today: what changes anything is a question, unless the owner said otherwise.

The full chain (floors, deny rules, patterns, scanner, judge) arrives with its own rooms and takes
this one's place in `ports.guard.Guard`. All of it is heuristics; the operating system is the
boundary.
"""

from dataclasses import dataclass

from hermes.core.people import Origin
from hermes.ports.guard import ALLOW, Guard, Verdict
from hermes.ports.tool import Arguments, SessionState, Tool
from hermes.system.i18n import t


@dataclass(frozen=True, slots=True, kw_only=True)
class AskFirst(Guard):
    """Asks a person before any call with effects. `off` is the owner's `--yolo`."""

    off: bool

    def judge(
        self, tool: Tool, arguments: Arguments, state: SessionState, origin: Origin
    ) -> Verdict:
        if self.off or tool.spec.effects in ("none", "reads"):
            return ALLOW
        return Verdict(decision="ask", reason=t("turn.nobody"))
