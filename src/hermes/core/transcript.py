"""A conversation as one model sees it: an epoch, and entries that can only be appended."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, final

from hermes.core.calls import Persisted
from hermes.core.entries import Entry, misplaced
from hermes.core.errors import Bug
from hermes.core.prompt import FrozenPrompt

EpochReason = Literal["new", "model", "explicit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    """A tool as a model is told of it; `parameters` is canonical JSON text of its JSON Schema."""

    name: str
    description: str
    parameters: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """The only holder of prompt, tools and model. A change of any of them is a new epoch."""

    number: int
    prompt: FrozenPrompt
    tools: tuple[ToolSchema, ...]
    model: str
    opened_at: float
    reason: EpochReason


@final
class Transcript:
    """The entries of a session under one epoch."""

    def __init__(self, epoch: Epoch, entries: tuple[Persisted[Entry], ...] = ()) -> None:
        self.epoch = epoch
        self._entries: list[Persisted[Entry]] = []
        for receipt in entries:
            self.append(receipt)

    def append(self, receipt: Persisted[Entry]) -> None:
        """Add a saved entry; raises Bug if it is out of turn."""
        previous = self.last
        if why := misplaced(previous.value if previous else None, receipt.value):
            raise Bug(why)
        self._entries.append(receipt)

    @property
    def last(self) -> Persisted[Entry] | None:
        return self._entries[-1] if self._entries else None

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index: int) -> Entry:
        return self._entries[index].value

    def __iter__(self) -> Iterator[Entry]:
        return (receipt.value for receipt in self._entries)

    def receipts(self) -> Iterator[Persisted[Entry]]:
        """The entries with their sequence numbers."""
        return iter(self._entries)

    def since(self, index: int) -> Iterator[Entry]:
        """The entries from position `index` on."""
        return (self._entries[i].value for i in range(index, len(self._entries)))
