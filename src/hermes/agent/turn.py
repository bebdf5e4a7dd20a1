"""A turn: from a person's message to an answer and a reason, readable on one screen.

`_loop` is the whole of it. Above is the session actor, which starts a turn and hands it steers,
redirects and interrupts; below are one reply (`ask_model`) and one batch (`dispatch`). The turn
owns its end: whatever happens, pairs are whole, roles alternate and TurnEnded comes last.
"""

import logging
import string
from functools import partial

import anyio

from hermes.agent import notes
from hermes.agent.announce import Announcer
from hermes.agent.ask_model import Draft, Pen, ask, check_money
from hermes.agent.budget import Repeats, Steps
from hermes.agent.dispatch import Dispatcher
from hermes.agent.ending import Ending, failure, first_of
from hermes.agent.hooks import TurnHooks
from hermes.agent.live import Live
from hermes.agent.questions import Inquiry
from hermes.agent.results import refusal
from hermes.core.calls import Persisted, ToolCall, ToolResult
from hermes.core.content import Part, Text, thoughts, visible
from hermes.core.entries import AssistantEntry, Entry, Stop, ToolBatchEntry, UserEntry
from hermes.core.errors import HermesError, ModelError, StoreError
from hermes.core.people import HARNESS, Origin
from hermes.core.text import clean
from hermes.core.usage import Usage
from hermes.ports.model import Reply
from hermes.ports.store import InboxItem, UsageRecord
from hermes.system.i18n import t
from hermes.system.logs import bind

log = logging.getLogger("hermes.agent")

CONTINUATIONS = 3
"""How often a reply that was cut at the output limit is continued."""
NUDGES = 2
"""How often a blank reply is asked for again."""
INVISIBLE = string.whitespace + "\u00a0\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u3000\ufeff"
"""Characters that are no answer, however many of them."""
CLOSING_SECONDS = 5.0
DAY = 86_400


class Turn:
    """One turn of one session."""

    def __init__(self, live: Live, first: InboxItem) -> None:
        self._live = live
        self._parts = live.parts
        self._first = first
        # A turn that a note of ours begins is judged as one of those who have the session open.
        said_by = first.input.origin
        self._origin: Origin = live.origin if said_by == HARNESS else said_by
        self.id = live.parts.ids.turn()
        self._say = Announcer(live.id, self.id, live.parts.clock, live.emit)
        self._hooks = TurnHooks(live, self.id, first.input, self._say.notice)
        self.steers: list[InboxItem] = []
        self._redirect: InboxItem | None = None
        self._usage = Usage()
        self._steps = Steps(live.parts.limits.steps)
        self._repeats = Repeats()
        self._answer: list[str] = []
        self._blanks = 0
        self._draft = Draft()
        self._asking = False
        self._work = anyio.CancelScope()
        self._request: anyio.CancelScope | None = None
        self._dispatcher: Dispatcher | None = None

    def interrupt(self) -> None:
        """Cancel the turn's work: request, tools and their processes."""
        self._work.cancel()
        self._hooks.stop()

    def steer(self, item: InboxItem) -> None:
        """Let the model read `item` with the next results; unread ones stay in `steers`."""
        self.steers.append(item)

    def take_back(self) -> list[InboxItem]:
        """The inputs that the model has not read, in the order they came; the turn forgets them."""
        unread = self.steers + ([self._redirect] if self._redirect is not None else [])
        self.steers, self._redirect = [], None
        return sorted(unread, key=lambda item: item.id)

    def redirect(self, item: InboxItem) -> None:
        """Cancel the model request and put `item` in; while tools run it is a steer."""
        if self._request is None or self._redirect is not None:
            self.steer(item)
            return
        self._redirect = item
        self._request.cancel()

    async def run(self) -> None:
        """Run to the end; announces the end last, when all is quiet."""
        with bind(session=self._live.id, turn=self.id):
            await self._run()

    async def _run(self) -> None:
        self._say.started(self._first.id)
        ending = Ending(why="failed", text=t("turn.bug"))
        try:
            ending = await self._guarded()
        except anyio.get_cancelled_exc_class():
            ending = Ending(why="interrupted", text=t("turn.stopped"))
            raise
        finally:
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLOSING_SECONDS):
                ending = await self._close(ending)
            await self._hooks.end(ending)
            log.info("turn ended: %s %s", ending.why, ending.detail)
            self._say.ended(ending.why, ending.text, ending.detail, self._usage)

    async def _guarded(self) -> Ending:
        ending = Ending(why="interrupted", text=t("turn.stopped"))
        try:
            with self._work:
                ending = await self._bounded()
        except* HermesError as group:
            ending = failure(first_of(group))
        return ending

    async def _bounded(self) -> Ending:
        seconds = self._parts.limits.turn_seconds
        with anyio.move_on_after(seconds):
            return await self._loop()
        return Ending(why="failed", text=t("turn.turn_time", seconds=seconds))

    async def _loop(self) -> Ending:
        await self._hooks.begin(partial(self._hear, self._first))
        while self._steps.spend():
            await self._afford()
            reply = await self._reply()
            if reply is None:
                continue
            entry = await self._commit(reply)
            ending = await (self._act(entry) if entry.value.calls else self._speak(entry.value))
            if ending is not None:
                return ending
        return self._at_limit("")

    # steps

    async def _hear(self, item: InboxItem, context: str = "") -> None:
        entry = UserEntry(
            turn=self.id,
            at=self._now(),
            content=(Text(text=clean(item.input.text + context)),),
            origin=item.input.origin,
        )
        self._added(
            await self._parts.journal.append_user(self._live.lease, entry, consumes=(item.id,))
        )

    async def _prompt_again(self, text: str) -> None:
        entry = UserEntry(turn=self.id, at=self._now(), content=(Text(text=text),), origin=HARNESS)
        self._added(await self._parts.journal.append_user(self._live.lease, entry))

    async def _afford(self) -> None:
        limits, store = self._parts.limits, self._parts.store
        principal, now = self._origin.principal, self._now()
        session = day = 0.0
        if limits.usd_per_session is not None:
            session = await store.spent(principal, session=self._live.id)
        if limits.usd_per_day is not None:
            day = await store.spent(principal, since=now - now % DAY)
        check_money(
            limits,
            self._live.conversation,
            self._live.transcript,
            turn=self._usage.cost_usd or 0.0,
            session=session,
            day=day,
        )

    async def _reply(self) -> Reply | None:
        """The next reply, or None after a redirect took its place."""
        self._draft = Draft()
        reply = None
        with anyio.CancelScope() as scope:
            self._request, self._asking = scope, True
            try:
                reply = await ask(
                    self._live.conversation,
                    self._live.transcript,
                    self._parts.limits,
                    Pen(delta=self._say.delta, dropped=self._say.dropped, notice=self._say.notice),
                    self._draft,
                    may_call=not self._steps.grace,
                )
            except ModelError:
                self._asking = bool(self._draft.answer or self._draft.thinking)
                raise
            finally:
                self._request = None
        if reply is not None:
            self._asking = False
            self.steers = self.take_back()
            return reply
        await self._append_cancelled(self._draft.parts())
        correction, self._redirect = self._redirect, None
        if correction is not None:
            await self._hear(correction)
        self._steps.refund()
        return None

    async def _commit(self, reply: Reply) -> Persisted[AssistantEntry]:
        wordless = not reply.calls and not visible(reply.content).strip(INVISIBLE)
        stop: Stop = "blank" if wordless and reply.stop != "refused" else reply.stop
        content = (*reply.content, Text(text=notes.BLANK)) if stop == "blank" else reply.content
        entry = await self._append_assistant(
            content, reply.calls, stop, reply.usage, self._record(reply.usage, reply.usage_raw)
        )
        self._draft = Draft()
        return entry

    async def _act(self, entry: Persisted[AssistantEntry]) -> Ending | None:
        """Run the calls of a saved entry and save their results."""
        if self._steps.grace:
            results = tuple(refusal(c, notes.STEP_LIMIT, "denied") for c in entry.value.calls)
            await self._seal(results)
            return self._at_limit("")
        self._answer.clear()
        self._dispatcher = Dispatcher(
            self._parts,
            self._live.lease,
            entry,
            state=self._live.state,
            origin=self._origin,
            ask=self._ask_person,
            show=self._say.call,
            tell=self._say.output,
            window=self._live.conversation.route.window,
            note=self._say.notice,
        )
        offered = frozenset(schema.name for schema in self._live.transcript.epoch.tools)
        await self._dispatcher.run(self._live.id, offered)
        results, rewritten = self._dispatcher.sealed(), self._dispatcher.rewritten
        self._usage += self._dispatcher.used
        self._dispatcher = None
        return await self._count(entry.value.calls, results, "\n".join(rewritten))

    async def _count(
        self, calls: tuple[ToolCall, ...], results: tuple[ToolResult, ...], rewritten: str
    ) -> Ending | None:
        """Seal a batch with what Hermes has to say of it; ends the turn on a step that repeats."""
        notice, ending = "", None
        self._repeats.next_reply()
        for call, result in zip(calls, results, strict=True):
            tool = self._parts.tools.get(call.tool)
            reads = tool is not None and tool.spec.effects in ("none", "reads")
            repeat = self._repeats.note(call, result, reads_only=reads)
            if repeat is None:
                continue
            notice = notes.repeated(repeat.tool, repeat.count, repeat.result)
            if repeat.stop:
                shown = self._parts.redact(repeat.result)
                ending = Ending(
                    why="loop",
                    text=t("turn.loop", tool=repeat.tool, count=repeat.count, result=shown),
                )
        if not self._steps.left and ending is None:
            notice = f"{notice}\n{notes.LAST_STEP}".strip()
        await self._seal(results, f"{rewritten}\n{notice}".strip())
        return ending

    async def _speak(self, entry: AssistantEntry) -> Ending | None:
        """Take a reply without calls: the answer, or a reason to ask again."""
        if entry.stop == "blank":
            return await self._ask_again(entry)
        self._answer.append(visible(entry.content))
        text = "".join(self._answer)
        if self._steps.grace:
            return self._at_limit(text)
        if entry.stop == "refused":
            return Ending(why="refused", text=text.strip() or t("turn.refused_reply"))
        if entry.stop == "length":
            if len(self._answer) > CONTINUATIONS:
                return Ending(why="failed", text=text, detail=t("turn.too_long"))
            await self._prompt_again(notes.GO_ON)
            return None
        return Ending(why="finished", text=text)

    async def _ask_again(self, entry: AssistantEntry) -> Ending | None:
        self._blanks += 1
        reasoning = thoughts(entry.content).strip()
        results = next((e for e in reversed(list(self._live.transcript)) if _is_batch(e)), None)
        ran_tools = isinstance(results, ToolBatchEntry) and results.turn == self.id
        if self._blanks > NUDGES or self._steps.grace:
            if reasoning:
                return Ending(why="blank", text=t("turn.only_reasoning", text=reasoning))
            return Ending(
                why="blank", text=t("turn.blank_after_tools" if ran_tools else "turn.blank")
            )
        if self._blanks > 1 and isinstance(results, ToolBatchEntry) and ran_tools:
            digest = "\n".join(r.content[:300] for r in results.results)
            await self._prompt_again(notes.answer_after(digest))
        else:
            await self._prompt_again(notes.ANSWER_VISIBLY if reasoning else notes.ANSWER_NOW)
        return None

    def _at_limit(self, text: str) -> Ending:
        detail = t("turn.steps", limit=self._parts.limits.steps)
        return Ending(why="steps", text=text or detail, detail=detail)

    # saving

    async def _append_assistant(
        self,
        content: tuple[Part, ...],
        calls: tuple[ToolCall, ...],
        stop: Stop,
        usage: Usage,
        record: UsageRecord | None,
    ) -> Persisted[AssistantEntry]:
        entry = AssistantEntry(
            turn=self.id,
            at=self._now(),
            content=content,
            calls=calls,
            model=self._live.conversation.route.name,
            usage=usage,
            stop=stop,
        )
        saved = await self._parts.journal.append_assistant(self._live.lease, entry, usage=record)
        self._added(saved)
        return saved

    async def _append_cancelled(self, content: tuple[Part, ...]) -> None:
        """End a turn, or a redirected request, without a reply; book it if one was under way."""
        usage, record = Usage(), None
        if self._asking:
            self._asking = False
            usage = self._draft.usage(self._live.conversation, self._live.transcript)
            record = self._record(usage, '{"estimated":true}')
        await self._append_assistant(content, (), "cancelled", usage, record)

    def _record(self, usage: Usage, raw: str) -> UsageRecord:
        self._usage += usage
        route = self._live.conversation.route
        return UsageRecord(model=route.model, provider=route.provider, task="turn", raw=raw)

    async def _seal(self, results: tuple[ToolResult, ...], notice: str = "") -> None:
        steers, self.steers = self.steers, []
        entry = ToolBatchEntry(
            turn=self.id,
            at=self._now(),
            results=results,
            steer=clean("\n".join(s.input.text for s in steers)),
            notice=notice,
        )
        try:
            saved = await self._parts.journal.append_batch(
                self._live.lease, entry, consumes=tuple(s.id for s in steers)
            )
        except BaseException:
            self.steers = steers + self.steers
            raise
        self._added(saved)

    async def _close(self, ending: Ending) -> Ending:
        """Leave the history whole: every call answered, the last word an assistant's."""
        try:
            last = self._last()
            if isinstance(last, AssistantEntry) and last.calls:
                cut = tuple(refusal(c, notes.NEVER_RAN, "cancelled") for c in last.calls)
                await self._seal(self._dispatcher.sealed() if self._dispatcher else cut)
                last = self._last()
            if isinstance(last, UserEntry | ToolBatchEntry) and last.turn == self.id:
                said = ending.text if ending.why in ("loop", "steps") else notes.UNANSWERED
                content = self._draft.parts() if self._draft.answer else (Text(text=said),)
                await self._append_cancelled(content)
        except StoreError as e:
            return Ending(why="failed", text=t("turn.store_failed", why=e))
        return ending

    def _last(self) -> Entry | None:
        last = self._live.transcript.last
        return last.value if last else None

    def _now(self) -> float:
        return self._parts.clock.now()

    def _added(self, saved: Persisted[Entry]) -> None:
        self._live.transcript.append(saved)
        self._say.added(saved)

    async def _ask_person(self, inquiry: Inquiry) -> tuple[str, str]:
        if not self._origin.person:
            return inquiry.default, ""
        id, seconds = f"question_{self._parts.ids.call()}", self._parts.limits.approval_seconds
        answer = await self._say.ask(self._live.questions, id, inquiry, seconds)
        return answer.choice, answer.rule


def _is_batch(entry: Entry) -> bool:
    return isinstance(entry, ToolBatchEntry)
