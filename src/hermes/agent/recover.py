"""What a crash left open is closed, told, and never re-run."""

from hermes.agent import notes
from hermes.agent.results import refusal
from hermes.core.calls import ToolCall, ToolResult
from hermes.core.content import Text
from hermes.core.entries import AssistantEntry, Entry, ToolBatchEntry, UserEntry
from hermes.core.ids import TurnId
from hermes.core.usage import Usage
from hermes.ports.store import Journal, Loaded


def closing(turn: TurnId, at: float, model: str, text: str = notes.UNANSWERED) -> AssistantEntry:
    """The entry that ends a turn without a reply of the model."""
    return AssistantEntry(
        turn=turn,
        at=at,
        content=(Text(text=text),),
        model=model,
        usage=Usage(),
        stop="cancelled",
    )


def _result(call: ToolCall, loaded: Loaded) -> ToolResult:
    phase, result = loaded.calls.get(call.id, ("committed", None))
    if result is not None:
        return result
    if phase == "started":
        return refusal(call, notes.CRASHED, "unknown")
    return refusal(call, notes.NOT_REACHED, "unknown")


async def recover(journal: Journal, loaded: Loaded, now: float) -> Loaded:
    """Close an unfinished turn in the journal; returns the session with roles in order."""
    lease, entries = loaded.lease, list(loaded.entries)
    last: Entry | None = entries[-1].value if entries else None
    if isinstance(last, AssistantEntry) and last.calls:
        batch = ToolBatchEntry(
            turn=last.turn, at=now, results=tuple(_result(c, loaded) for c in last.calls)
        )
        entries.append(await journal.append_batch(lease, batch))
        last = batch
    if isinstance(last, UserEntry | ToolBatchEntry):
        entry = closing(last.turn, now, loaded.epoch.model)
        entries.append(await journal.append_assistant(lease, entry, usage=None))
    if len(entries) == len(loaded.entries):
        return loaded
    return Loaded(
        row=loaded.row,
        lease=lease,
        epoch=loaded.epoch,
        entries=tuple(entries),
        calls={},
        inbox=loaded.inbox,
    )
