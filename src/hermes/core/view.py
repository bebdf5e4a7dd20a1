"""The fold of events that every screen draws: same events, same view."""

from dataclasses import dataclass, replace

from hermes.core.entries import AssistantEntry, Entry, ToolBatchEntry
from hermes.core.events import (
    CallOutput,
    CallState,
    DeltasDropped,
    EntryAdded,
    Gap,
    Notice,
    Question,
    QuestionClosed,
    SessionEvent,
    TextDelta,
    TurnEnded,
    TurnStarted,
)
from hermes.core.ids import CallId

OUTPUT = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """What a surface knows: saved entries, the reply in the making, open calls with the newest
    OUTPUT characters that they printed, and questions."""

    entries: tuple[Entry, ...] = ()
    answer: str = ""
    thinking: str = ""
    calls: tuple[CallState, ...] = ()
    output: str = ""
    questions: tuple[Question, ...] = ()
    notice: str = ""
    running: bool = False
    ended: TurnEnded | None = None
    stale: bool = False


def _with_call(calls: tuple[CallState, ...], new: CallState) -> tuple[CallState, ...]:
    if any(c.call == new.call for c in calls):
        return tuple(new if c.call == new.call else c for c in calls)
    return (*calls, new)


def _with_entry(view: SessionView, entry: Entry) -> SessionView:
    view = replace(view, entries=(*view.entries, entry))
    match entry:
        case AssistantEntry():
            return replace(view, answer="", thinking="", notice="")
        case ToolBatchEntry(results=results):
            done: set[CallId] = {r.call for r in results}
            open_calls = tuple(c for c in view.calls if c.call not in done)
            return replace(view, calls=open_calls, output="")
        case _:
            return view


def fold(view: SessionView, event: SessionEvent) -> SessionView:
    """`view` after `event`."""
    match event:
        case TurnStarted():
            return replace(view, running=True, ended=None, notice="")
        case EntryAdded(entry=entry):
            return _with_entry(view, entry)
        case TextDelta(channel="answer"):
            return replace(view, answer=view.answer + event.text)
        case TextDelta():
            return replace(view, thinking=view.thinking + event.text)
        case DeltasDropped():
            return replace(view, answer="", thinking="")
        case CallState():
            return replace(view, calls=_with_call(view.calls, event))
        case CallOutput(text=text):
            return replace(view, output=(view.output + text)[-OUTPUT:])
        case Question():
            return replace(view, questions=(*view.questions, event))
        case QuestionClosed(id=closed):
            return replace(view, questions=tuple(q for q in view.questions if q.id != closed))
        case Notice(text=text):
            return replace(view, notice=text)
        case TurnEnded():
            return replace(
                view,
                running=False,
                ended=event,
                answer="",
                thinking="",
                calls=(),
                output="",
                questions=(),
                notice="",
            )
        case Gap():
            return replace(view, stale=True)
