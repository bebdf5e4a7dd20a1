"""The commands in the background: started here, followed until they end, remembered after that."""

import secrets
from contextlib import suppress
from typing import Any, Final

import anyio
from anyio import CancelScope
from anyio.abc import TaskGroup

from hermes.core.clock import Clock
from hermes.core.errors import ToolError
from hermes.core.ids import SessionId
from hermes.ports.terminal import Input, Job, TerminalBackend
from hermes.ports.tool import ToolContext
from hermes.tools.terminal.arguments import Wanted
from hermes.tools.terminal.bulletins import Bulletins, Tell, shortened
from hermes.tools.terminal.job import BackgroundJob, FileTail, Tail, Watcher
from hermes.tools.terminal.output import Redact
from hermes.tools.terminal.receipts import Receipts

RUNNING: Final = 64
"""Commands that may run at a time, of all sessions."""

REMEMBERED: Final = 64
REMEMBERED_SECONDS: Final = 1_800
"""How many ended commands are kept with all their output, and for how long after their end."""

LOOK: Final = 1.0
"""Seconds between two looks at a command that outlives Hermes."""

WATCH_PAUSE: Final = 15.0
"""Seconds between two tellings of what a command's watched lines are."""

WATCH_TIMES: Final = 8
"""After so many tellings a watch ends; the command's end is told then."""

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
    ) -> None:
        self._backend = backend
        self._receipts = receipts
        self._redact = redact
        self._bulletins = Bulletins(tell, tasks)
        self._clock = clock
        self._tasks = tasks
        self._jobs: dict[str, BackgroundJob] = {}
        self._scopes: dict[str, CancelScope] = {}
        self._recovered: set[SessionId] = set()

    async def spawn(self, wanted: Wanted, context: ToolContext, cwd: str) -> dict[str, Any]:
        """Start a command; the keys of the contract's answer. Raises ToolError."""
        running = [job for job in self._jobs.values() if job.running]
        if len(running) >= RUNNING:
            raise ToolError(
                f"{RUNNING} background commands are running, which is the limit; nothing was "
                "started. Kill one with process(action='kill')."
            )
        job = BackgroundJob(
            id=f"proc_{secrets.token_hex(6)}",
            session=context.session,
            command=wanted.command,
            cwd=cwd,
            started_at=self._clock.now(),
            notify=wanted.notify or bool(wanted.heartbeat),
            watch=() if wanted.notify or wanted.persist else wanted.watch,
            heartbeat=wanted.heartbeat,
            persist=wanted.persist,
            terminal=wanted.terminal and not wanted.persist,
        )
        keys = await self._start(job)
        return keys | self._told(wanted, job, context)

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
        with suppress(OSError):
            await anyio.to_thread.run_sync(self._receipts.write, job)
        return {
            "output": "Background process started",
            "session_id": job.id,
            "pid": job.pid,
            "exit_code": 0,
            "error": None,
        }

    def _told(self, wanted: Wanted, job: BackgroundJob, context: ToolContext) -> dict[str, Any]:
        """The optional keys of the answer."""
        keys: dict[str, Any] = {}
        if wanted.promoted:
            keys["promoted_from_foreground"] = (
                f"A timeout of {wanted.timeout:g} s is over what a command is waited for."
            )
        if wanted.terminal and not job.terminal:
            keys["pty_note"] = "What outlives Hermes has no terminal; it runs without one."
        if job.persist:
            keys["persist_on_release"] = True
        if (job.notify or job.watch) and context.origin.surface in ENDS_FIRST:
            job.notify, job.watch, job.heartbeat = False, (), 0
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
        if not (job.notify or job.watch):
            keys["hint"] = (
                "Its end is not told: ask with process(action='poll' or 'wait'), or pass "
                "notify=true next time."
            )
        return keys

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
        if job.detached is not None:
            await self._backend.end_detached(job.detached)
            if self._backend.running(job.detached):
                return False
            job.ended(TERMINATED, "killed", self._clock.now(), "process.kill")
        elif (scope := self._scopes.get(job.id)) is not None:
            scope.cancel()
        job.known = True
        with anyio.move_on_after(2):
            await job.done.wait()
        return not job.running

    async def forget(self, session: SessionId) -> None:
        """End the commands of a session that closes, but for those that outlive it."""
        mine = [job for job in self._jobs.values() if job.session == session]
        for job in mine:
            if scope := self._scopes.get(job.id):
                scope.cancel()
        with CancelScope(shield=True), anyio.move_on_after(2):
            for job in mine:
                if job.process is not None:
                    await job.done.wait()
        for job in mine:
            del self._jobs[job.id]
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
            elif job.detached is not None:
                self._add(job)
                await self._look(job)
            else:
                job.ended(None, "lost", self._clock.now(), "hermes.end")
                self._jobs[job.id] = job
                await self._close(job)

    def _add(self, job: BackgroundJob, process: Job | None = None) -> None:
        self._jobs[job.id] = job
        scope = self._scopes[job.id] = CancelScope()
        if process is not None:
            self._tasks.start_soon(self._follow, job, process, scope)
        else:
            self._tasks.start_soon(self._follow_detached, job, scope)
        if job.heartbeat:
            self._tasks.start_soon(self._beat, job)

    async def _follow(self, job: BackgroundJob, process: Job, scope: CancelScope) -> None:
        sightings = _Sightings(job, self._post)
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
                job.ended(TERMINATED, "killed", self._clock.now(), "process.kill")
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
        with CancelScope(shield=True):
            if job.notify and not job.known and not job.waiters:
                code = "unknown" if job.exit_code is None else job.exit_code
                self._post(job, f"has ended, exit code {code}.", job.output.text())
                job.known = True
            with suppress(OSError):
                await anyio.to_thread.run_sync(self._receipts.write, job)
                await anyio.to_thread.run_sync(self._receipts.prune, self._clock.now())

    def _post(self, job: BackgroundJob, what: str, output: str) -> None:
        text = shortened(self._redact(output, job.command))
        command = self._redact(job.command, job.command)[:200]
        head = f"[Background process {job.id} {what}\nCommand: {command}"
        self._bulletins.post(job.session, f"{head}\n{text}]" if text else f"{head}]")

    def _prune(self) -> None:
        """Forget what ended long ago, and the oldest of too many; their receipts stay."""
        ended = [job for job in self._jobs.values() if job.exited_at is not None]
        ended.sort(key=lambda job: job.exited_at or 0, reverse=True)
        oldest = self._clock.now() - REMEMBERED_SECONDS
        for number, job in enumerate(ended):
            if number >= REMEMBERED or (job.exited_at or 0) < oldest:
                del self._jobs[job.id]


class _Sightings:
    """The watched lines of one command, told together when they come thick."""

    def __init__(self, job: BackgroundJob, post: Any) -> None:
        self._job = job
        self._post = post
        self._lines: list[str] = []
        self._next = 0.0
        self._left = WATCH_TIMES

    def add(self, line: str) -> None:
        """Take a line in which a watched text is."""
        if self._left:
            self._lines.append(line)
            if anyio.current_time() >= self._next:
                self.flush()

    def flush(self) -> None:
        """Tell what has not been told."""
        if not self._lines:
            return
        lines, self._lines = self._lines, []
        self._left -= 1
        self._next = anyio.current_time() + WATCH_PAUSE
        more = "" if self._left else " (the last time: its end will be told)"
        self._job.notify = self._job.notify or not self._left
        self._post(self._job, f"printed what you watch for{more}:", "\n".join(lines))
