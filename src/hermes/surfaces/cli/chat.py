"""The line chat: type, watch, stop.

It holds nothing but a session and a pen. Ctrl-C stops the running turn, and `stopped` is printed
only when all is quiet; a second Ctrl-C leaves. At the prompt Ctrl-C clears the line, and on an
empty line leaves.
"""

import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import anyio
from anyio.abc import TaskStatus
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.layout.processors import TabsProcessor
from prompt_toolkit.output import create_output

from hermes.core.content import visible
from hermes.core.entries import Entry, UserEntry
from hermes.core.events import EntryAdded, Question, SessionEvent, TurnEnded, TurnStarted
from hermes.core.ids import SessionId
from hermes.core.inputs import Answer, Interrupt, Submit
from hermes.core.people import HARNESS, Origin
from hermes.core.text import clean
from hermes.core.usage import Usage
from hermes.ports.guard import ALWAYS, SESSION
from hermes.ports.session import AgentSession
from hermes.surfaces.cli.commands import COMMANDS
from hermes.surfaces.cli.echo import TypedAhead
from hermes.surfaces.cli.history import PrivateHistory
from hermes.surfaces.cli.keys import bindings
from hermes.surfaces.cli.pen import Pen
from hermes.surfaces.cli.services import RunChoice, Services
from hermes.surfaces.cli.setup import offer
from hermes.system.i18n import t
from hermes.system.lazy import load
from hermes.system.tasks import SideTasks

LASTING = (SESSION, ALWAYS)

COMMAND = re.compile(r"/([a-z][a-z-]*)(?:\s|$)")
"""A slash command. A path has a second slash, and what begins with a space is a message."""


async def converse(services: Services, run: RunChoice, *, session: SessionId | None) -> int:
    """Talk until the person leaves; returns the exit status."""
    if services.route(run) is None:
        offered = await offer(services, run)
        if offered is None:
            return 2
        run = offered
    origin = Origin(surface=run.surface, person=sys.stdout.isatty())
    async with services.host(run) as host:
        current = session
        while True:
            entries = await _entries(services, current)
            async with host.open(current, origin, cwd=str(Path.cwd())) as live:
                chat = Chat(live, services, origin)
                again = await chat.run(entries)
            if not again:
                return 0
            current = None


async def _entries(services: Services, session: SessionId | None) -> tuple[Entry, ...]:
    if session is None:
        return ()
    async with services.store() as store:
        return tuple([receipt.value async for receipt in store.read(session)])


class Chat:
    """One session on the terminal. `leaving` ends it, `again` opens a new one after it."""

    def __init__(self, live: AgentSession, services: Services, origin: Origin) -> None:
        self.live = live
        self.services = services
        self.used = Usage()
        self.leaving = False
        self.again = False
        self.yolo = False
        self._origin = origin
        self._turns = 0
        self._busy = False
        self._typing = anyio.CancelScope()
        self._begun: SessionEvent | None = None
        self._draft = Document()
        display = services.config().settings.display
        self._pen = Pen(route=live.route, display=display, env=services.env)
        # Rendered on stderr if stdout is piped; left to the library otherwise, since it knows dumb
        # terminals only then.
        self._screen = None if sys.stdout.isatty() else create_output(always_prefer_tty=True)
        self._prompt: PromptSession[str] = PromptSession(
            output=self._screen,
            history=self._history(),
            key_bindings=bindings(),
            multiline=True,
            completer=WordCompleter([f"/{c.name}" for c in COMMANDS if c.slash], sentence=True),
            complete_while_typing=False,
            prompt_continuation="  ",
            input_processors=[TabsProcessor(char1=" ", char2=" ")],
        )
        self._ahead = TypedAhead(self._prompt.input, self._prompt.output)

    async def run(self, entries: tuple[Entry, ...]) -> bool:
        """Serve the prompt, after `entries` of before; true if a new session is asked for."""
        key = "cli.resumed" if entries else "cli.welcome"
        self.say(t(key, id=self.live.id, model=self.live.route.name))
        if self.live.route.demo:
            self.say(t("cli.demo_answer", model=self.live.route.model))
        self._pen.recap(entries)
        with self._ahead.silent():
            await self._serve()
        if not self.again and (entries or self._turns):
            self.say(t("cli.goodbye", id=self.live.id))
        return self.again

    async def _serve(self) -> None:
        async with self.live.events() as events, anyio.create_task_group() as group:
            await group.start(self._on_signal)
            while not self.leaving:
                self._pen.rest()
                text = await self._read(events)
                if text is None:
                    break
                if not text and self._begun is not None:
                    with self._ahead.kept():
                        await self._follow(events, None)
                    continue
                await self._take(text, events)
            group.cancel_scope.cancel()

    def say(self, text: str) -> None:
        """Tell the person something that is not an answer."""
        self._pen.aside(text)

    def _history(self) -> History:
        path = self.services.home.history
        try:
            return PrivateHistory(path)
        except OSError as e:
            where = self.services.home.display(path)
            self.say(t("cli.no_history", path=where, reason=e.strerror or e))
            return InMemoryHistory()

    async def _read(self, events: AsyncIterator[SessionEvent]) -> str | None:
        """What was typed, empty after a Ctrl-C that cleared it, or when a turn has begun that
        nobody asked for; None to leave."""
        draft, self._draft = self._draft, Document()
        self._prompt.app.erase_when_done = False
        typed: str | None = None
        with anyio.CancelScope() as self._typing:
            self._busy = False
            async with SideTasks() as beside:
                beside.group.start_soon(self._give_way, events)
                try:
                    typed = await self._prompt.prompt_async(
                        "> ", default=draft, handle_sigint=False
                    )
                except EOFError:
                    return None
                except KeyboardInterrupt:
                    pass
        if typed is not None:
            return typed
        cleared = bool(self._prompt.default_buffer.text) or self._begun is not None
        return "" if cleared and not self.leaving else None

    async def _give_way(self, events: AsyncIterator[SessionEvent]) -> None:
        """Take the prompt away when a turn begins, and keep what is in it for the next one."""
        async for self._begun in events:
            self._draft = self._prompt.default_buffer.document
            self._prompt.app.erase_when_done = True
            self._typing.cancel()
            return

    async def _take(self, text: str, events: AsyncIterator[SessionEvent]) -> None:
        match = COMMAND.match(text)
        name, words = (match[1], text.split()[1:]) if match else ("", [])
        command = next((c for c in COMMANDS if c.slash and name in (c.name, *c.aliases)), None)
        if command is not None:
            await load(command.slash)(self, words)
        elif match:
            self.say(t("cli.unknown_command", name=f"/{name}"))
        elif text.strip():
            with self._ahead.kept():
                await self._turn(clean(text), events)

    async def _turn(self, text: str, events: AsyncIterator[SessionEvent]) -> None:
        """Say `text` and follow its turn, and whatever still runs before it, to the end."""
        self._busy = True
        self._turns += 1
        await self._follow(events, await self.live.send(Submit(text=text, origin=self._origin)))

    async def _follow(self, events: AsyncIterator[SessionEvent], number: int | None) -> None:
        """Show what happens to the end of the turn for input `number`, or of the one that has
        begun."""
        self._busy = True
        ours = unasked = False
        event, self._begun = self._begun, None
        event = event or await anext(events, None)
        while event is not None:
            match event:
                case Question():
                    await self._ask(event)
                case TurnStarted(input=input):
                    ours = number is None or input == number
                    unasked = input != number
                case EntryAdded(entry=UserEntry(origin=origin) as entry) if unasked:
                    unasked = False
                    if origin == HARNESS:
                        self.say(visible(entry.content).split("\n")[0].strip("[]:"))
                case TurnEnded():
                    last = ours or self._pen.stopping
                    self._pen.ended(event)
                    self.used += event.usage
                    if last:
                        break
                case _:
                    self._pen.draw(event)
            event = await anext(events, None)

    async def _on_signal(self, *, task_status: TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
            task_status.started()
            async for number in signals:
                await self._stop(leave=number != signal.SIGINT)

    async def _stop(self, *, leave: bool) -> None:
        """Stop what runs; leave if that is asked for, or on being asked to stop twice."""
        if self._busy and self.leaving:
            raise KeyboardInterrupt
        if self._busy:
            self.leaving = leave or self._pen.stopping
            self.say(t("cli.leaving" if self.leaving else "cli.stopping"))
            self._pen.stopping = True
            await self.live.send(Interrupt())
        else:
            self.leaving = leave
        self._typing.cancel()

    async def _ask(self, question: Question) -> None:
        """Ask the person; silence and everything but a clear yes are the question's default."""
        self._pen.question(question)
        answer = Answer(question=question.id, choice=question.default)
        prompt: PromptSession[str] = PromptSession(input=self._prompt.input, output=self._screen)
        with self._ahead.aside(), anyio.move_on_after(question.deadline) as self._typing:
            try:
                answer = await self._answer(question, prompt)
            except EOFError:
                pass
            except KeyboardInterrupt:
                await self._stop(leave=False)
        if self._typing.cancelled_caught and not self._pen.stopping:
            self.say(t("cli.silence", seconds=f"{question.deadline:g}"))
        with suppress(anyio.ClosedResourceError):
            await self.live.send(answer)

    async def _answer(self, question: Question, prompt: PromptSession[str]) -> Answer:
        """What the person types: a clear choice, or the default; ALWAYS with the rule it saves."""
        offered = [c for c in question.choices if c in LASTING]
        keys = "".join(t(f"cli.choice_{choice}") for choice in offered)
        typed = await prompt.prompt_async(t("cli.yes_or_no", keys=keys), handle_sigint=False)
        word = typed.strip().lower()
        yes = question.choices[0]
        by_word = {"y": yes, "yes": yes, **{c[0]: c for c in offered}}
        choice = by_word.get(word, word if word in question.choices else question.default)
        rule = ""
        if choice == ALWAYS:
            rule = await prompt.prompt_async(
                t("cli.rule_to_save"), default=question.rule, handle_sigint=False
            )
            choice = choice if rule.strip() else question.default
        return Answer(question=question.id, choice=choice, rule=rule)
