"""A session in use, as every turn of it sees it."""

from collections.abc import Callable
from dataclasses import dataclass

from hermes.agent.limits import Parts
from hermes.agent.questions import Questions
from hermes.core.events import SessionEvent
from hermes.core.ids import SessionId
from hermes.core.people import Origin
from hermes.core.transcript import Transcript
from hermes.ports.model import Conversation
from hermes.ports.store import Lease
from hermes.ports.tool import SessionState


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A session in use: what every turn of it shares. `origin` is who has it open."""

    id: SessionId
    parts: Parts
    lease: Lease
    transcript: Transcript
    conversation: Conversation
    state: SessionState
    questions: Questions
    origin: Origin
    emit: Callable[[SessionEvent], None]
