"""May this call run? One choke point for every effect, whatever surface it came from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from hermes.core.people import Origin
from hermes.ports.tool import Arguments, SessionState, Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`allow`, `deny`, or `ask` a person.

    `reason` is for the model: the true one for a refusal, also if there was nobody to ask.
    `question` is what a person should know beside what the call would do.
    """

    decision: Literal["allow", "deny", "ask"]
    reason: str = ""
    question: str = ""


ALLOW = Verdict(decision="allow")


class Guard(Protocol):
    """A rule over calls. In-process rules are heuristics; the operating system is the boundary."""

    def judge(
        self,
        tool: Tool,
        arguments: Arguments,
        state: SessionState,
        origin: Origin,
        *,
        touches: Sequence[str],
    ) -> Verdict:
        """Judge one call; `touches` are the absolute paths it says it reads or changes."""
        ...
