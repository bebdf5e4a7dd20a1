"""Who makes the frozen prompt of an epoch."""

from typing import Protocol

from hermes.core.people import Origin
from hermes.core.prompt import FrozenPrompt
from hermes.core.transcript import ToolSchema


class PromptAssembler(Protocol):
    """Reads what a model should know first; called once an epoch, never between."""

    def assemble(
        self, *, origin: Origin, cwd: str, tools: tuple[ToolSchema, ...], model: str, now: float
    ) -> FrozenPrompt: ...
