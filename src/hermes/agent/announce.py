"""What a turn lets its readers know; the only maker of a session's events."""

from collections.abc import Callable

from hermes.agent.questions import Inquiry, Questions
from hermes.core.calls import Persisted, ToolCall, ToolResult
from hermes.core.clock import Clock
from hermes.core.entries import Entry
from hermes.core.events import (
    CallOutput,
    CallPhase,
    CallState,
    Channel,
    DeltasDropped,
    EndReason,
    EntryAdded,
    Notice,
    Question,
    QuestionClosed,
    SessionEvent,
    TextDelta,
    TurnEnded,
    TurnStarted,
)
from hermes.core.ids import SessionId, TurnId
from hermes.core.inputs import Answer
from hermes.core.usage import Usage


class Announcer:
    """Makes the events of one turn and hands them to `emit`."""

    def __init__(
        self,
        session: SessionId,
        turn: TurnId,
        clock: Clock,
        emit: Callable[[SessionEvent], None],
    ) -> None:
        self._session = session
        self._turn = turn
        self._clock = clock
        self._emit = emit

    def started(self, input: int) -> None:
        self._emit(
            TurnStarted(session=self._session, turn=self._turn, at=self._clock.now(), input=input)
        )

    def added(self, saved: Persisted[Entry]) -> None:
        self._emit(
            EntryAdded(
                session=self._session,
                turn=self._turn,
                at=self._clock.now(),
                seq=saved.seq,
                entry=saved.value,
            )
        )

    def delta(self, text: str, channel: Channel) -> None:
        self._emit(
            TextDelta(
                session=self._session,
                turn=self._turn,
                at=self._clock.now(),
                text=text,
                channel=channel,
            )
        )

    def dropped(self) -> None:
        self._emit(DeltasDropped(session=self._session, turn=self._turn, at=self._clock.now()))

    def notice(self, text: str) -> None:
        self._emit(Notice(session=self._session, turn=self._turn, at=self._clock.now(), text=text))

    def call(
        self, call: ToolCall, phase: CallPhase, summary: str, result: ToolResult | None
    ) -> None:
        self._emit(
            CallState(
                session=self._session,
                turn=self._turn,
                at=self._clock.now(),
                call=call.id,
                tool=call.tool,
                phase=phase,
                summary=summary,
                outcome=result.outcome if result else None,
            )
        )

    def output(self, call: ToolCall, text: str) -> None:
        self._emit(
            CallOutput(
                session=self._session,
                turn=self._turn,
                at=self._clock.now(),
                call=call.id,
                text=text,
            )
        )

    def ended(self, why: EndReason, text: str, detail: str, usage: Usage) -> None:
        self._emit(
            TurnEnded(
                session=self._session,
                turn=self._turn,
                at=self._clock.now(),
                why=why,
                text=text,
                detail=detail,
                usage=usage,
            )
        )

    async def ask(self, questions: Questions, id: str, inquiry: Inquiry, seconds: float) -> Answer:
        """Put a question to the readers; silence for `seconds` is its default."""
        self._emit(
            Question(
                session=self._session,
                turn=self._turn,
                at=self._clock.now(),
                id=id,
                text=inquiry.text,
                detail=inquiry.detail,
                choices=inquiry.choices,
                default=inquiry.default,
                deadline=seconds,
                rule=inquiry.rule,
            )
        )
        answer = await questions.wait(id, inquiry, seconds=seconds)
        self._emit(
            QuestionClosed(
                session=self._session,
                turn=self._turn,
                at=self._clock.now(),
                id=id,
                choice=answer.choice,
            )
        )
        return answer
