"""May this call run? One choke point for every effect, whatever surface it came from."""

from dataclasses import dataclass
from typing import Literal, Protocol

from hermes.core.people import Origin
from hermes.ports.tool import Arguments, SessionState, Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`allow`, `deny` with the true reason for the model, or `ask` a person with a question."""

    decision: Literal["allow", "deny", "ask"]
    reason: str = ""


ALLOW = Verdict(decision="allow")


class Guard(Protocol):
    """A rule over calls. In-process rules are heuristics; the operating system is the boundary."""

    def judge(
        self, tool: Tool, arguments: Arguments, state: SessionState, origin: Origin
    ) -> Verdict: ...
