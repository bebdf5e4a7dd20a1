"""How a session's events look on a line terminal."""

import sys
from typing import TextIO

from hermes.core.entries import AssistantEntry
from hermes.core.events import (
    CallState,
    DeltasDropped,
    EntryAdded,
    Notice,
    Question,
    SessionEvent,
    TextDelta,
    TurnEnded,
)
from hermes.ports.model import Route
from hermes.surfaces.kit.plain import printable
from hermes.system.i18n import t

DIM, PLAIN = "\x1b[2m", "\x1b[0m"


class Pen:
    """Writes answers plain and everything else dim; colour only on a real terminal."""

    def __init__(
        self, *, reasoning: bool, demo: bool, model: Route, out: TextIO | None = None
    ) -> None:
        self.stopping = False
        self._out = out or sys.stdout
        self._colour = self._out.isatty()
        self._reasoning = reasoning
        self._demo = demo
        self._model = model
        self._channel = ""
        self._streamed = ""

    def draw(self, event: SessionEvent) -> None:
        match event:
            case TextDelta(channel="answer"):
                self._answer(event.text)
            case TextDelta() if self._reasoning:
                self._switch("thinking")
                self._write(self._dim(printable(event.text)))
            case DeltasDropped():
                self._streamed = ""
                self.aside(t("cli.withdrawn"))
            case CallState(phase="running"):
                self.aside(f"  {event.tool}  {_line(event.summary)}")
            case CallState(phase="settled") if event.outcome != "ok":
                self.aside(f"  {event.tool}  {t(f'cli.outcome_{event.outcome}')}")
            case Notice():
                self.aside(event.text)
            case EntryAdded(entry=AssistantEntry(calls=calls)):
                self._switch("")
                if calls:
                    self._streamed = ""

    def question(self, question: Question) -> None:
        """Show what is asked; the answer is read by the chat."""
        self.aside(f"{question.text}\n  {printable(question.detail)}")

    def ended(self, event: TurnEnded) -> None:
        """Finish the turn: what was not streamed yet, and why it ended."""
        self._switch("")
        if event.why == "finished" and event.text.strip() != self._streamed.strip():
            self._answer(event.text)
            self._switch("")
        elif event.why != "finished":
            self.aside(event.detail or event.text)
        self._streamed = ""
        self.stopping = False

    def aside(self, text: str) -> None:
        """A line that is not part of an answer."""
        self._switch("")
        self._write(self._dim(printable(text)) + "\n")

    def _answer(self, text: str) -> None:
        if self._channel != "answer":
            self._switch("answer")
            if self._demo and not self._streamed:
                self._write(self._dim(t("cli.demo_answer", model=self._model.model)) + "\n")
        self._streamed += text
        self._write(printable(text))

    def _switch(self, channel: str) -> None:
        if self._channel and self._channel != channel:
            self._write("\n")
        self._channel = channel

    def _dim(self, text: str) -> str:
        return f"{DIM}{text}{PLAIN}" if self._colour else text

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def _line(text: str) -> str:
    """The first line, at most 100 characters."""
    first, _, rest = text.partition("\n")
    return first[:100] + ("…" if rest or len(first) > 100 else "")
