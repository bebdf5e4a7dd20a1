"""The commands in the background: started here, followed until they end, remembered after that."""

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import anyio
from anyio import CancelScope
from anyio.abc import TaskGroup

from hermes.core.clock import Clock
from hermes.core.errors import ToolError
from hermes.core.ids import SessionId
from hermes.ports.terminal import Detached, Input, Job, TerminalBackend
from hermes.ports.tool import ToolContext
from hermes.tools.terminal.arguments import Wanted
from hermes.tools.terminal.bulletins import Bulletin, Bulletins, Tell, shortened
from hermes.tools.terminal.job import BackgroundJob, FileTail, Sightings, Tail, Watcher
from hermes.tools.terminal.output import Redact
from hermes.tools.terminal.receipts import Receipts

log = logging.getLogger("hermes.tools")

RUNNING: Final = 64
"""Commands that may run at a time, of all sessions."""

REMEMBERED: Final = 64
REMEMBERED_SECONDS: Final = 1_800
"""How many ended commands are kept with all their output, and for how long after their end."""

LOOK: Final = 1.0
"""Seconds between two looks at a command that outlives Hermes."""

WATCH_PAUSE: Final = 15.0
"""Seconds between two tellings of what a command's watched lines are."""

GONE_WITHIN: Final = 2.0
"""Seconds to wait for a command that is ended."""

TERMINATED: Final = -15

ENDS_FIRST: Final = frozenset(("oneshot",))
"""Surfaces whose sessions end with their answer, so that nothing can be told later."""


class Jobs:
    """All background commands of this process. Its work is done in the task group `tasks`; when
    that is cancelled, everything ends that was not started to outlive Hermes."""

    def __init__(
        self,
        *,
        backend: TerminalBackend,
        receipts: Receipts,
        redact: Redact,
        tell: Tell,
        clock: Clock,
        tasks: TaskGroup,
        watch_pause: float = WATCH_PAUSE,
    ) -> None:
        self._backend = backend
        self._receipts = receipts
        self._redact = redact
        self._bulletins = Bulletins(tell, tasks)
        self._clock = clock
        self._tasks = tasks
        self._watch_pause = watch_pause
        self._jobs: dict[str, BackgroundJob] = {}
        self._scopes: dict[str, CancelScope] = {}
        self._recovered: set[SessionId] = set()
        self._saving = anyio.Lock()

    async def spawn(self, wanted: Wanted, context: ToolContext, cwd: str) -> dict[str, Any]:
        """Start a command; the keys of the contract's answer. Raises ToolError."""
        running = [job for job in self._jobs.values() if job.running]
        if len(running) >= RUNNING:
            raise ToolError(
                f"{RUNNING} background commands are running, which is the limit; nothing was "
                "started. Kill one with process(action='kill')."
            )
        deaf = context.origin.surface in ENDS_FIRST
        job = BackgroundJob(
            id=f"proc_{secrets.token_hex(6)}",
            session=context.session,
            command=wanted.command,
            cwd=cwd,
            started_at=self._clock.now(),
            notify=not deaf and (wanted.notify or bool(wanted.heartbeat)),
            watch=() if deaf or wanted.notify or wanted.persist else wanted.watch,
            heartbeat=0 if deaf else wanted.heartbeat,
            persist=wanted.persist,
            terminal=wanted.terminal and not wanted.persist,
        )
        keys = await self._start(job)
        return keys | _told(wanted, job, deaf=deaf)

    async def _start(self, job: BackgroundJob) -> dict[str, Any]:
        self._prune()
        if job.persist:
            self._receipts.prepare()
            job.output = FileTail(self._receipts.output(job.id))
            job.detached = await self._backend.detach(
                job.session,
                job.command,
                cwd=job.cwd,
                output=self._receipts.output(job.id),
                status=self._receipts.status(job.id),
            )
            job.pid = job.detached.pid
            self._add(job)
        else:
            stdin: Input = "tty" if job.terminal else "pipe"
            process = await self._backend.start(job.session, job.command, cwd=job.cwd, stdin=stdin)
            job.process, job.pid = process, process.pid
            self._add(job, process)
        try:
            unsaved = await self._save(job)
        except BaseException:
            # The call is cut off here, and its id with it.
            with CancelScope(shield=True):
                await self.kill(job)
            raise
        warning = f"Its record was not saved ({unsaved}): a later Hermes will not find it."
        return ({"warning": warning} if unsaved and job.persist else {}) | {
            "output": "Background process started",
            "session_id": job.id,
            "pid": job.pid,
            "exit_code": 0,
            "error": None,
        }

    async def of(self, session: SessionId) -> list[BackgroundJob]:
        """The commands of one session, those of an earlier Hermes too, in the order of their
        start."""
        await self.recover(session)
        return [job for job in self._jobs.values() if job.session == session]

    async def find(self, session: SessionId, id: str) -> BackgroundJob | None:
        """The session's command whose id is `id` or alone begins with it."""
        jobs = await self.of(session)
        exact = [job for job in jobs if job.id == id]
        found = exact or [job for job in jobs if job.id.startswith(id)]
        return found[0] if len(found) == 1 else None

    async def kill(self, job: BackgroundJob) -> bool:
        """End a command and all that came of it; whether it is gone."""
        job.ender = "process.kill"
        if (scope := self._scopes.get(job.id)) is not None:
            scope.cancel()
        with self._answering(job):
            if job.detached is not None and job.running:
                await self._kill_detached(job, job.detached)
            await self.wait(job, GONE_WITHIN)
        return not job.running

    async def _kill_detached(self, job: BackgroundJob, program: Detached) -> None:
        try:
            await self._backend.end_detached(program)
        finally:
            if self._backend.running(program):
                self._follow_on(job)
            else:
                job.ended(TERMINATED, "killed", self._clock.now(), job.ender)
                await self._close(job)

    async def wait(self, job: BackgroundJob, seconds: float) -> None:
        """Wait at most `seconds` for its end, which whoever calls this is to tell."""
        with self._answering(job):
            with anyio.move_on_after(seconds):
                await job.done.wait()
            if not job.running:
                await self._know(job)

    @contextmanager
    def _answering(self, job: BackgroundJob) -> Iterator[None]:
        """A call is about to tell the end; if it is cut off just then, that is told otherwise."""
        job.waiters += 1
        try:
            yield
        finally:
            job.waiters -= 1
            self._tell_end(job)

    async def forget(self, session: SessionId) -> None:
        """End the commands of a session that closes, but for those that outlive it."""
        mine = [job for job in self._jobs.values() if job.session == session]
        for job in mine:
            job.ender = "session.close"
            if scope := self._scopes.get(job.id):
                scope.cancel()
        with CancelScope(shield=True), anyio.move_on_after(GONE_WITHIN):
            for job in mine:
                if job.process is not None:
                    await job.done.wait()
        for job in mine:
            self._jobs.pop(job.id, None)
        self._recovered.discard(session)

    async def recover(self, session: SessionId) -> None:
        """Find out, once, what became of the commands that an earlier Hermes started."""
        if session in self._recovered:
            return
        self._recovered.add(session)
        for job in list(self._receipts.of(session)):
            if job.id in self._jobs:
                continue
            if not job.running:
                self._jobs[job.id] = job
                self._tell_end(job)
            elif job.detached is not None:
                self._add(job)
                await self._look(job)
            else:
                job.ended(None, "lost", self._clock.now(), "hermes.end")
                self._jobs[job.id] = job
                await self._close(job)

    def _add(self, job: BackgroundJob, process: Job | None = None) -> None:
        self._jobs[job.id] = job
        self._follow_on(job, process)
        if job.heartbeat:
            self._tasks.start_soon(self._beat, job)

    def _follow_on(self, job: BackgroundJob, process: Job | None = None) -> None:
        scope = self._scopes[job.id] = CancelScope()
        if process is not None:
            self._tasks.start_soon(self._follow, job, process, scope)
        else:
            self._tasks.start_soon(self._follow_detached, job, scope)

    async def _follow(self, job: BackgroundJob, process: Job, scope: CancelScope) -> None:
        sightings = Sightings(job, self._post, self._tasks, self._watch_pause)
        watcher = Watcher(job.watch, sightings.add) if job.watch else None
        output = job.output
        assert isinstance(output, Tail)

        def take(data: bytes) -> None:
            output.add(data)
            if watcher is not None:
                watcher.add(data)

        try:
            with scope:
                code = await process.stream(take)
                if watcher is not None:
                    watcher.end()
                job.ended(code, "exited", self._clock.now())
        except (OSError, ToolError):
            job.ended(None, "lost", self._clock.now(), "keeper")
        finally:
            if job.running:
                with CancelScope(shield=True):
                    await process.end()
                job.ended(TERMINATED, "killed", self._clock.now(), job.ender)
            sightings.flush()
            await self._close(job)

    async def _follow_detached(self, job: BackgroundJob, scope: CancelScope) -> None:
        with scope:
            while job.running:
                await anyio.sleep(LOOK)
                await self._look(job)

    async def _look(self, job: BackgroundJob) -> None:
        """See whether a command that outlives Hermes has ended."""
        if job.detached is None or not job.running or self._backend.running(job.detached):
            return
        try:
            code = int(self._receipts.status(job.id).read_text(encoding="ascii"))
        except (OSError, ValueError):
            job.ended(None, "lost", self._clock.now(), "unknown")
        else:
            job.ended(code, "exited", self._clock.now())
        await self._close(job)

    async def _beat(self, job: BackgroundJob) -> None:
        """Tell of new output from time to time."""
        seen = 0
        while job.running:
            with anyio.move_on_after(job.heartbeat):
                await job.done.wait()
                return
            if job.output.total > seen:
                seen = job.output.total
                self._post(job, "is running; its newest output:", job.output.text())

    async def _close(self, job: BackgroundJob) -> None:
        """Save the end, and tell it if that was asked for and is not known yet."""
        self._scopes.pop(job.id, None)
        self._tell_end(job)
        with CancelScope(shield=True):
            await self._save(job)
            try:
                await anyio.to_thread.run_sync(self._receipts.prune, self._clock.now())
            except OSError as e:
                log.warning("old records of background commands were not removed: %s", e)

    async def _save(self, job: BackgroundJob) -> str:
        """Write its receipt; why that failed, or empty."""
        try:
            # In order, or an older state could come last.
            async with self._saving:
                await anyio.to_thread.run_sync(self._receipts.write, job)
        except OSError as e:
            log.warning("the record of %s was not written: %s", job.id, e)
            return e.strerror or str(e)
        return ""

    async def _know(self, job: BackgroundJob) -> None:
        """The model has been told of the end, or is about to be."""
        if job.known:
            return
        job.known = True
        if job.notify:
            with CancelScope(shield=True):
                await self._save(job)

    def _tell_end(self, job: BackgroundJob) -> None:
        """Tell the end if that was asked for, and nobody knows it or is about to tell it."""
        if not job.notify or job.running or job.known or job.posted or job.waiters:
            return
        job.posted = True
        bulletin = Bulletin(
            text=self._words(job, job.end_words(), job.output.text()),
            known=lambda: job.known,
            told=partial(self._know, job),
        )
        self._bulletins.post(job.session, bulletin)

    def _post(self, job: BackgroundJob, what: str, output: str) -> None:
        self._bulletins.post(job.session, Bulletin(text=self._words(job, what, output)))

    def _words(self, job: BackgroundJob, what: str, output: str) -> str:
        text = shortened(self._redact(output, job.command))
        command = self._redact(job.command, job.command)[:200]
        head = f"[Background process {job.id} {what}\nCommand: {command}"
        return f"{head}\n{text}]" if text else f"{head}]"

    def _prune(self) -> None:
        """Forget what ended long ago, and the oldest of too many; their receipts stay."""
        ended = [job for job in self._jobs.values() if job.exited_at is not None]
        ended.sort(key=lambda job: job.exited_at or 0, reverse=True)
        oldest = self._clock.now() - REMEMBERED_SECONDS
        for number, job in enumerate(ended):
            if number >= REMEMBERED or (job.exited_at or 0) < oldest:
                del self._jobs[job.id]


def _told(wanted: Wanted, job: BackgroundJob, *, deaf: bool) -> dict[str, Any]:
    """The optional keys of the answer; `deaf` sessions end with their answer."""
    keys: dict[str, Any] = {}
    if wanted.promoted:
        keys["promoted_from_foreground"] = (
            f"A timeout of {wanted.timeout:g} s is over what a command is waited for."
        )
    if wanted.terminal and not job.terminal:
        keys["pty_note"] = "What outlives Hermes has no terminal; it runs without one."
    if job.persist:
        keys["persist_on_release"] = True
    if deaf and (wanted.notify or wanted.watch or wanted.heartbeat):
        keys["notify_unsupported"] = (
            "This session ends with its answer: nothing can be told later. Use "
            "process(action='wait')."
        )
    if job.notify:
        keys["notify_on_complete"] = True
    if job.heartbeat:
        keys["heartbeat_seconds"] = job.heartbeat
    if job.watch:
        keys["watch_patterns"] = list(job.watch)
    elif wanted.watch:
        keys["watch_patterns_ignored"] = list(wanted.watch)
    if not (deaf or job.notify or job.watch):
        keys["hint"] = (
            "Its end is not told: ask with process(action='poll' or 'wait'), or pass "
            "notify=true next time."
        )
    return keys
