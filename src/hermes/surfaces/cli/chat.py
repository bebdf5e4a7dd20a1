"""The line chat: type, watch, stop.

It holds nothing but a session and a pen. Ctrl-C stops the running turn, and `stopped` is printed
only when all is quiet; a second Ctrl-C leaves. At the prompt Ctrl-C clears the line, and on an
empty line leaves.
"""

import signal
import sys
from contextlib import suppress
from pathlib import Path

import anyio
from anyio.abc import TaskStatus
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import FileHistory

from hermes.core.events import Question, TurnEnded
from hermes.core.ids import SessionId
from hermes.core.inputs import Answer, Interrupt, Submit
from hermes.core.people import Origin
from hermes.core.usage import Usage
from hermes.ports.session import AgentSession
from hermes.surfaces.cli.commands import COMMANDS
from hermes.surfaces.cli.echo import silent_keys
from hermes.surfaces.cli.keys import bindings
from hermes.surfaces.cli.pen import Pen
from hermes.surfaces.cli.services import RunChoice, Services
from hermes.surfaces.cli.setup import offer
from hermes.surfaces.kit.plain import printable
from hermes.system.i18n import t
from hermes.system.lazy import load


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
            async with host.open(current, origin, cwd=str(Path.cwd())) as live:
                chat = Chat(live, services, origin)
                again = await chat.run(resumed=current is not None)
            if not again:
                return 0
            current = None


class Chat:
    """One session on the terminal. `leaving` ends it, `again` opens a new one after it."""

    def __init__(self, live: AgentSession, services: Services, origin: Origin) -> None:
        self.live = live
        self.services = services
        self.used = Usage()
        self.leaving = False
        self.again = False
        self._origin = origin
        display = services.config().settings.display
        self._pen = Pen(reasoning=display.show_reasoning, demo=live.route.demo, model=live.route)
        self._prompt: PromptSession[str] = PromptSession(
            history=FileHistory(str(services.home.history)),
            key_bindings=bindings(),
            multiline=True,
            completer=WordCompleter([f"/{c.name}" for c in COMMANDS if c.slash], sentence=True),
            complete_while_typing=False,
            prompt_continuation="  ",
        )

    async def run(self, *, resumed: bool) -> bool:
        """Serve the prompt; true if the person asked for a new session."""
        key = "cli.resumed" if resumed else "cli.welcome"
        self.say(t(key, id=self.live.id, model=self.live.route.name))
        while not self.leaving:
            try:
                text = await self._prompt.prompt_async("> ")
            except EOFError:
                break
            except KeyboardInterrupt:
                if self._prompt.default_buffer.text:
                    continue
                break
            await self._take(text.strip())
        if not self.again:
            self.say(t("cli.goodbye", id=self.live.id))
        return self.again

    def say(self, text: str) -> None:
        """Tell the person something that is not an answer."""
        self._pen.aside(text)

    async def _take(self, text: str) -> None:
        if not text:
            return
        name, *words = text.split()
        command = next((c for c in COMMANDS if c.slash and name[1:] in (c.name, *c.aliases)), None)
        if not text.startswith("/"):
            await self._turn(text)
        elif command is not None:
            await load(command.slash)(self, words)
        else:
            self.say(t("cli.unknown_command", name=printable(name)))

    async def _turn(self, text: str) -> None:
        with silent_keys():
            await self._follow(text)

    async def _follow(self, text: str) -> None:
        async with self.live.events() as events, anyio.create_task_group() as group:
            await group.start(self._on_signal)
            await self.live.send(Submit(text=text, origin=self._origin))
            async for event in events:
                match event:
                    case Question():
                        await self._ask(event)
                    case TurnEnded():
                        self._pen.ended(event)
                        self.used += event.usage
                        group.cancel_scope.cancel()
                        break
                    case _:
                        self._pen.draw(event)

    async def _on_signal(self, *, task_status: TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(signal.SIGINT) as signals:
            task_status.started()
            async for _ in signals:
                await self._stop()

    async def _stop(self) -> None:
        if self.leaving:
            raise KeyboardInterrupt
        self.leaving = self._pen.stopping
        self._pen.stopping = True
        self.say(t("cli.leaving" if self.leaving else "cli.stopping"))
        await self.live.send(Interrupt())

    async def _ask(self, question: Question) -> None:
        self._pen.question(question)
        choice = question.default
        prompt: PromptSession[str] = PromptSession()
        with anyio.move_on_after(question.deadline):
            try:
                answer = await prompt.prompt_async(t("cli.yes_or_no"))
                choice = "yes" if answer.strip().lower() in ("y", "yes") else "no"
            except EOFError:
                pass
            except KeyboardInterrupt:
                await self._stop()
        with suppress(anyio.ClosedResourceError):
            await self.live.send(Answer(question=question.id, choice=choice))
