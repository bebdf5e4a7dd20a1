"""May this call run? One choke point for every effect, whatever surface it came from."""

from dataclasses import dataclass
from typing import Final, Literal, Protocol

from hermes.core.ids import SessionId, TurnId
from hermes.core.people import Origin
from hermes.core.usage import Usage
from hermes.ports.store import UsageRecord
from hermes.ports.tool import Arguments, SessionState, ToolSpec

ONCE: Final = "once"
SESSION: Final = "session"
ALWAYS: Final = "always"
NO: Final = "no"
"""What a person may answer: this call, this very call for the rest of the session, for good, no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A call that wants to run; `touches` are the absolute paths it says it reads or changes."""

    tool: ToolSpec
    arguments: Arguments
    state: SessionState
    origin: Origin
    session: SessionId
    turn: TurnId
    touches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SideCall:
    """A call of a model that judged; it is booked like every other."""

    usage: Usage
    record: UsageRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`allow`, `deny`, or `ask` a person.

    `reason` is for the model: the true one for a refusal, also if there was nobody to ask.
    `question` is what a person should know beside what the call would do, `choices` what they may
    answer, and `rule` what ALWAYS would save, word for word. `step` names the step of the chain
    that decided. `bound` is what the approval was given for; only the guard knows its inside.
    """

    decision: Literal["allow", "deny", "ask"]
    step: str = ""
    reason: str = ""
    question: str = ""
    choices: tuple[str, ...] = (ONCE, NO)
    rule: str = ""
    bound: object = None
    used: tuple[SideCall, ...] = ()


ALLOW: Final = Verdict(decision="allow")


class Bypass:
    """Whether a person switched the questions of one session off; kept in its SessionState."""

    def __init__(self) -> None:
        self.on = False


class Guard(Protocol):
    """Rules over calls. In-process rules are heuristics; the operating system is the boundary."""

    async def judge(self, proposal: Proposal) -> Verdict:
        """Judge one call."""
        ...

    async def answered(
        self, proposal: Proposal, verdict: Verdict, choice: str, rule: str = ""
    ) -> Verdict:
        """What becomes of a call that was asked about: allowed or denied, and remembered.

        `rule` is the person's own wording of what ALWAYS saves; empty: as it was shown.
        """
        ...

    async def drifted(self, proposal: Proposal, verdict: Verdict) -> str:
        """Why an allowed call may not run any more: what it was allowed for has changed since.
        Empty if nothing has. Called right before the run."""
        ...


class Judge(Protocol):
    """A second model that is asked about a flagged command before a person is."""

    async def opinion(self, command: str, concerns: str, *, cwd: str) -> "Opinion":
        """What it says. Never raises for a failure of the model: that escalates, with a reason."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """`escalate` is also every answer that was not one of the three words; `why` then says so."""

    answer: Literal["approve", "deny", "escalate"]
    why: str = ""
    used: SideCall | None = None
