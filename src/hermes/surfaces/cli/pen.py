"""How a session's events look on a line terminal."""

import shutil
import sys
from collections.abc import Iterable, Mapping

from hermes.core.content import thoughts, visible
from hermes.core.entries import AssistantEntry, Entry, UserEntry
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
from hermes.core.ids import CallId
from hermes.core.people import HARNESS
from hermes.core.usage import Usage
from hermes.ports.model import Route
from hermes.surfaces.kit.columns import shortened, wrapped
from hermes.surfaces.kit.plain import printable, spelled
from hermes.system.config.sections import DisplaySection
from hermes.system.i18n import t

BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
COMMAND = 100
"""Columns of a running call's line."""
RECAP = 8
"""Lines of the last answer that a resumed session shows."""


class Pen:
    """Writes answers plain and everything else dim; colour only on a terminal that has it.

    Blocks (an answer, reasoning, lines about calls) are a blank line apart. Answers are not
    wrapped here: what is copied from them would have line breaks that nobody wrote.
    """

    def __init__(self, *, route: Route, display: DisplaySection, env: Mapping[str, str]) -> None:
        self.stopping = False
        self._route = route
        self._display = display
        self._out = sys.stdout
        self._colour = (
            self._out.isatty() and not env.get("NO_COLOR") and env.get("TERM", "") != "dumb"
        )
        self._block = ""
        self._last = ""
        self._held = ""
        self._said = ""
        self._asked: CallId | None = None

    def draw(self, event: SessionEvent) -> None:
        """Show `event`, unless it says nothing to a person."""
        match event:
            case TextDelta() if self._display.streaming:
                self._text(event.channel, event.text)
            case DeltasDropped() if self._display.streaming:
                self._said = ""
                self.aside(t("cli.withdrawn"))
            case EntryAdded(entry=AssistantEntry() as entry):
                self._entry(entry)
            case CallState(phase="waiting"):
                self._asked = event.call
            case CallState(phase="running") if event.call != self._asked:
                self.aside(f"  {event.tool}  {shortened(event.summary, COMMAND)}")
            case CallState(phase="settled") if event.outcome != "ok":
                self.aside(f"  {event.tool}  {t(f'cli.outcome_{event.outcome}')}")
            case Notice():
                self.aside(event.text)

    def question(self, question: Question) -> None:
        """Show what is asked, whole and exact; the answer is read by the chat."""
        self._open("aside")
        self._write(self._styled(BOLD, printable(question.text)) + "\n")
        for line in question.detail.split("\n"):
            self._write(f"  {spelled(line)}\n")
        self._block = ""

    def ended(self, event: TurnEnded) -> None:
        """Finish the turn: what was not shown yet, why it ended, what it used."""
        self._close()
        said, self._said = self._said.strip(), ""
        stopping, self.stopping = self.stopping, False
        if event.why != "finished":
            reason = event.detail or event.text
            self.aside(t("cli.no_success") if reason.strip() == said else reason)
        elif event.text.strip() != said:
            self._text("answer", event.text)
            self._close()
            self._said = ""
        if self._display.show_cost:
            self.aside(used(event.usage))
        self.stopping = stopping

    def recap(self, entries: Iterable[Entry]) -> None:
        """The last exchange of a session that goes on, in short."""
        asked = answered = ""
        for entry in entries:
            match entry:
                case UserEntry(origin=origin) if origin != HARNESS:
                    asked, answered = visible(entry.content), ""
                case AssistantEntry(stop=stop) if stop != "blank":
                    answered = visible(entry.content).strip() or answered
        lines = answered.split("\n")
        if len(lines) > RECAP:
            lines[RECAP - 1 :] = ["…"]
        if asked:
            self.aside("\n".join((f"> {shortened(asked, self._columns() - 3)}", *lines)))

    def aside(self, text: str) -> None:
        """Lines that are no part of an answer."""
        self._open("aside")
        lines = wrapped(printable(text), self._columns())
        self._write(self._styled(DIM, lines) + "\n")
        self._block = ""

    def rest(self) -> None:
        """Get ready for a prompt: a blank line behind what was written since the last one."""
        self._close()
        if self._last:
            self._write("\n")
        self._last = ""
        self.stopping = False

    def _entry(self, entry: AssistantEntry) -> None:
        if not self._display.streaming and entry.stop not in ("blank", "cancelled"):
            self._text("thinking", thoughts(entry.content))
            self._text("answer", visible(entry.content))
        if entry.stop != "length":
            self._close()
        if entry.calls or entry.stop == "blank":
            self._said = ""

    def _text(self, channel: str, text: str) -> None:
        """More of a block. White space waits until something follows it."""
        if self.stopping or (channel == "thinking" and not self._display.show_reasoning):
            return
        if channel == "answer":
            self._said += text
        if self._block not in ("", channel):
            self._close()
        text = self._held + printable(text)
        if not self._block:
            self._held = text = text.lstrip("\n")
            if not text.strip():
                return
            self._open(channel)
        shown = text.rstrip()
        self._held = text[len(shown) :]
        self._write(self._styled(DIM, shown) if channel == "thinking" else shown)

    def _open(self, block: str) -> None:
        self._close()
        if self._last not in ("", block):
            self._write("\n")
        self._block = self._last = block
        if block == "answer" and self._route.demo:
            banner = t("cli.demo_answer", model=self._route.model)
            self._write(self._styled(DIM, banner) + "\n")
        if block == "thinking" and not self._colour:
            self._write(t("cli.thinking") + "\n")

    def _close(self) -> None:
        if self._block:
            self._write("\n")
        self._block = self._held = ""

    def _columns(self) -> int:
        return shutil.get_terminal_size().columns

    def _styled(self, style: str, text: str) -> str:
        return f"{style}{text}{PLAIN}" if self._colour and text else text

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def used(usage: Usage) -> str:
    """Tokens and cost in words."""
    cost = t("cli.cost_unknown") if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    return t(
        "cli.usage",
        input=f"{usage.input:,}",
        cached=f"{usage.cached:,}",
        output=f"{usage.output:,}",
        cost=cost,
    )
