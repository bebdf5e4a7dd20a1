"""What a session is bound by, and what it is made of; both come from the composition root."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hermes.agent.results import Spill
from hermes.core.clock import Clock
from hermes.core.ids import IdSource
from hermes.ports.guard import Guard
from hermes.ports.hooks import Hooks
from hermes.ports.prompt import PromptAssembler
from hermes.ports.store import Journal, SessionStore
from hermes.ports.tool import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of a turn. None means no limit.

    `attempts` counts requests for one reply, the first included. `approval_seconds` is how long a
    question waits for a person. Money is in dollars, days are UTC days.
    """

    steps: int | None = None
    turn_seconds: float | None = None
    attempts: int = 3
    approval_seconds: float = 300.0
    usd_per_turn: float | None = None
    usd_per_session: float | None = None
    usd_per_day: float | None = None
    allow_unpriced: bool = False
    parallel: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the loop works with. `tools` is frozen for the epoch; `redact` is for people's eyes.
    `hooks` is None if none are configured."""

    store: SessionStore
    journal: Journal
    model: str
    tools: Mapping[str, Tool]
    guard: Guard
    assembler: PromptAssembler
    spill: Spill
    redact: Callable[[str], str]
    clock: Clock
    ids: IdSource
    limits: Limits
    hooks: Hooks | None = None
