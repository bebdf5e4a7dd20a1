"""The owner's hooks as people see them: what is configured, what may run, what one says."""

from dataclasses import dataclass
from typing import Literal, Protocol

from hermes.ports.hooks import HookAnswer, HookEvent, HookPayload

HookConsent = Literal["allowed", "accepted", "new", "changed"]
"""`accepted`: by configuration, unseen. `changed`: allowed once, and its files differ since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFacts:
    """A hook as it is configured. `root` is the project it belongs to, empty for the owner's own.

    `timeout` is in seconds. `problems` are sentences: what keeps it from running as it stands.
    """

    event: HookEvent
    command: str
    matcher: str
    timeout: float
    fail_closed: bool
    root: str
    consent: HookConsent
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookTrial:
    """One run of a hook by hand. `failure` is a sentence, empty if it answered as it should."""

    exit_code: int | None
    seconds: float
    stdout: str
    stderr: str
    failure: str
    answer: HookAnswer


class HookBook(Protocol):
    """The hooks of this home and folder, for people to look at, allow and try."""

    def listed(self) -> tuple[HookFacts, ...]:
        """Every configured hook, in the order in which they run."""
        ...

    def allow(self, hook: HookFacts) -> None:
        """Let `hook` run from now on; raises ConfigError, OSError."""
        ...

    def revoke(self, command: str) -> int:
        """Take every consent for `command` back; how many there were."""
        ...

    async def trial(self, hook: HookFacts, payload: HookPayload) -> HookTrial:
        """Run an allowed hook as the event would; raises UserError for one that is not."""
        ...
