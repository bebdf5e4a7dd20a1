"""The local back end: the shells and jobs of sessions, on this machine.

Each session has a keeper of its own, which runs in the session's sandbox if there is one, a serving
shell, and jobs. Nothing a command starts can wait for a person: standard input is empty, there is
no terminal, no pager and no editor.
"""

import os
import shutil
import socket
import termios
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import anyio
from anyio import CancelScope

from hermes.core.clock import Clock
from hermes.core.errors import ToolError
from hermes.core.ids import SessionId
from hermes.ports.terminal import CommandResult, Detached, Input, Job, Sink
from hermes.system.i18n import t
from hermes.system.process import Reaper
from hermes.terminals import detached
from hermes.terminals.capture import Capture
from hermes.terminals.environment import FIXED, MARKERS
from hermes.terminals.local_job import LocalJob
from hermes.terminals.shell import Ended, Shell
from hermes.terminals.shell_script import BESIDE, LASTING, NOTHING, PROGRAM, State, adoption, quoted

KEPT_DAYS: Final = 7
"""How long spill files stay, and what dead processes left."""

TIMED_OUT: Final = 124

PROFILE_SECONDS: Final = 10
"""How long a person's profile may take; the shell is started without it then."""

ROWS, COLUMNS = 30, 120
"""The size of a job's terminal."""


class Jail(Protocol):
    """The sandbox of a session; `terminals.sandbox` makes them."""

    @property
    def env(self) -> Mapping[str, str]:
        """What the environment of everything inside has in addition."""
        ...

    def argv(self, program: Sequence[str]) -> Sequence[str]:
        """What to run in place of `program`."""
        ...

    def hint(self, output: bytes, exit_code: int) -> str | None:
        """A sentence on what of a failure may be the sandbox's doing."""
        ...


class NoJail:
    """No boundary at all."""

    env: Mapping[str, str] = {}

    def argv(self, program: Sequence[str]) -> Sequence[str]:
        return program

    def hint(self, output: bytes, exit_code: int) -> str | None:
        return None


async def no_jail(_: Path) -> Jail:
    """Make none."""
    return NoJail()


@dataclass(slots=True)
class _Session:
    """What lasts from one command of a session to the next. `idle` are shells that wait for a
    command: more than one only after commands ran side by side."""

    folder: Path
    jail: Jail
    env: dict[str, str]
    reaper: Reaper
    state: State = NOTHING
    idle: list[Shell] = field(default_factory=list)
    busy: set[Shell] = field(default_factory=set)
    jobs: set[LocalJob] = field(default_factory=set)
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return str(self.count)


class LocalTerminal:
    """Implements `ports.terminal.TerminalBackend` on this machine.

    `env` is the environment of the first command, see `child_environment`. `state_dir` and
    `spill_dir` are made when needed, readable by the user alone. `jails` makes the sandbox of a
    session that begins in a folder. With `login`, the person's profile is read when a session
    begins, and then the `files`.
    """

    def __init__(
        self,
        *,
        env: Mapping[str, str],
        state_dir: Path,
        spill_dir: Path,
        clock: Clock,
        jails: Callable[[Path], Awaitable[Jail]] = no_jail,
        login: bool = False,
        files: tuple[str, ...] = (),
    ) -> None:
        self._env = dict(env)
        self._state_dir = state_dir
        self._spill_dir = spill_dir
        self._clock = clock
        self._jails = jails
        self._login = login
        self._files = files
        self._sessions: dict[SessionId, _Session] = {}
        self._bash = ""
        self._count = 0

    async def run(
        self,
        session: SessionId,
        command: str,
        *,
        cwd: str,
        timeout: float,
        limit: int,
        fall_back: bool = True,
        sink: Sink | None = None,
    ) -> CommandResult:
        """See `TerminalBackend.run`; also raises ToolError if no command can be started at all."""
        _refuse_nul(command)
        capture = Capture(limit, self._open_spill)

        def take(data: bytes) -> None:
            capture.add(data)
            if sink is not None:
                sink(data)

        place, moved = self._place(cwd, fall_back=fall_back)
        try:
            with _as_tool_error():
                home, notes = await self._session(session, place)
                ended = await self._run(home, command, place, take, timeout, notes)
        except BaseException:
            capture.discard()
            raise
        head, tail = capture.close()
        cut = ended.status is None
        status = TIMED_OUT if ended.status is None else ended.status
        if status and not cut and (hint := home.jail.hint(head + tail, status)):
            notes.append(hint)
        return CommandResult(
            output_head=head,
            output_tail=tail,
            total=capture.total,
            exit_code=status,
            cwd=os.fsdecode(ended.state.cwd) if ended.state else None,
            timed_out=cut,
            moved_to=place if moved else None,
            spill=str(capture.path) if capture.path else None,
            notes=tuple(notes),
        )

    async def start(
        self, session: SessionId, command: str, *, cwd: str, stdin: Input = "pipe"
    ) -> Job:
        """See `TerminalBackend.start`."""
        _refuse_nul(command)
        place, _ = self._place(cwd, fall_back=False)
        with _as_tool_error():
            home, _ = await self._session(session, place)
            await self._begin(home, place, [])
            state, run = self._job_files(home, os.fsencode(command))
            text = BESIDE.format(state=quoted(str(state)), run=quoted(str(run)))
            job = self._job(home, [self._bash, "-c", text, "bash"], place, stdin, (state, run))
        return await self._started(home, job)

    async def program(
        self, session: SessionId, arguments: Sequence[str], *, cwd: str, env: Mapping[str, str]
    ) -> Job:
        """See `TerminalBackend.program`."""
        place, _ = self._place(cwd, fall_back=False)
        with _as_tool_error():
            home, _ = await self._session(session, place)
            await self._begin(home, place, [])
            state, run = self._job_files(home, b"")
            text = PROGRAM.format(state=quoted(str(state)))
            words = [*(f"{name}={value}" for name, value in env.items()), *arguments]
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            with theirs:
                tree = home.reaper.start(
                    [self._bash, "-c", text, "bash", *words],
                    cwd=place,
                    env=home.env,
                    fds={0: theirs.fileno()},
                )
        return await self._started(home, LocalJob(tree, (state, run), channel=ours))

    async def detach(
        self, session: SessionId, command: str, *, cwd: str, output: Path, status: Path
    ) -> Detached:
        """See `TerminalBackend.detach`."""
        _refuse_nul(command)
        place, _ = self._place(cwd, fall_back=False)
        with _as_tool_error():
            home, _ = await self._session(session, place)
            await self._begin(home, place, [])
            state, run = self._job_files(home, os.fsencode(command))
            with status.open("wb") as told:
                text = LASTING.format(
                    state=quoted(str(state)), run=quoted(str(run)), status=told.fileno()
                )
                return detached.start(
                    home.jail.argv([self._bash, "-c", text, "bash"]),
                    cwd=place,
                    env=home.env,
                    output=output,
                    fds=(told.fileno(),),
                )

    def running(self, program: Detached) -> bool:
        """See `TerminalBackend.running`."""
        return detached.running(program)

    async def end_detached(self, program: Detached) -> None:
        """See `TerminalBackend.end_detached`."""
        await detached.end(program)

    async def forget(self, session: SessionId) -> None:
        """See `TerminalBackend.forget`."""
        home = self._sessions.pop(session, None)
        if home is None:
            return
        with CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for each in (*home.idle, *home.busy):
                    group.start_soon(each.close)
                for job in home.jobs:
                    group.start_soon(job.end)
            await home.reaper.aclose()
            await anyio.to_thread.run_sync(shutil.rmtree, home.folder, True)

    async def aclose(self) -> None:
        """Forget every session."""
        with CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for session in tuple(self._sessions):
                    group.start_soon(self.forget, session)

    async def _run(
        self,
        home: _Session,
        command: str,
        place: str,
        sink: Sink,
        timeout: float,
        notes: list[str],
    ) -> Ended:
        shell = await self._begin(home, place, notes)
        home.idle.remove(shell)
        home.busy.add(shell)
        try:
            shell.adopt(home.state)
            ended = await shell.run(os.fsencode(command), place, sink, timeout)
        finally:
            home.busy.discard(shell)
            await self._settle(home, shell)
        if ended.state is not None:
            home.state = ended.state
        return ended

    async def _settle(self, home: _Session, shell: Shell) -> None:
        """Keep a shell that is not running a command any more, one at most."""
        if shell.alive and not home.idle:
            home.idle.append(shell)
            return
        with CancelScope(shield=True):
            await shell.close()

    async def _begin(self, home: _Session, place: str, notes: list[str]) -> Shell:
        """An idle shell, in the state of the session; the first one gives the session its state."""
        if home.idle:
            return home.idle[-1]
        first = home.state is NOTHING
        shell: Shell | None = None
        if first and (self._login or self._files):
            shell = await self._profiled(home, place)
            if shell is None:
                notes.append(t("terminal.no_profile", seconds=PROFILE_SECONDS))
        if shell is None:
            shell = self._shell(home, place, login=False, files=())
            await shell.ready()
        if first:
            ended = await shell.run(b"", place, _drop, PROFILE_SECONDS)
            if ended.state is None:
                await shell.close()
                raise ToolError(t("terminal.no_state"))
            home.state = ended.state
        home.idle.append(shell)
        return shell

    async def _profiled(self, home: _Session, place: str) -> Shell | None:
        """A shell that has read the person's profile, or None if that did not end well."""
        shell = self._shell(home, place, login=self._login, files=self._files)
        try:
            with anyio.fail_after(PROFILE_SECONDS):
                await shell.ready()
        except (TimeoutError, ToolError):
            await shell.close()
            return None
        except BaseException:
            await shell.close()
            raise
        return shell

    def _shell(self, home: _Session, place: str, *, login: bool, files: tuple[str, ...]) -> Shell:
        return Shell.start(
            home.reaper,
            self._bash,
            folder=home.folder,
            name=home.name(),
            cwd=place,
            env=home.env,
            login=login,
            files=files,
        )

    async def _session(self, session: SessionId, place: str) -> tuple[_Session, list[str]]:
        """The session's home, made when it is first asked for, with what there is to say then."""
        self._prepare()
        home = self._sessions.get(session)
        if home is not None:
            return home, []
        jail = await self._jails(Path(place))
        self._count += 1
        folder = self._state_dir / f"{os.getpid()}-{self._count}"
        folder.mkdir(mode=0o700)
        env = {**self._env, **FIXED, **MARKERS, "HERMES_SESSION_ID": session, **jail.env}
        home = _Session(folder=folder, jail=jail, env=env, reaper=Reaper(jail=jail))
        self._sessions[session] = home
        return home, []

    def _job_files(self, home: _Session, command: bytes) -> tuple[Path, Path]:
        """Files with the state of the session and with a command, for one job."""
        name = home.name()
        state, run = (home.folder / f"{part}-{name}" for part in ("state", "job"))
        for file, data in ((state, adoption(home.state, NOTHING)), (run, command + b"\0")):
            fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "wb") as out:
                out.write(data)
        return state, run

    def _job(
        self, home: _Session, words: list[str], place: str, stdin: Input, files: tuple[Path, Path]
    ) -> LocalJob:
        if stdin == "tty":
            master, slave = os.openpty()
            termios.tcsetwinsize(slave, (ROWS, COLUMNS))
            source = os.dup(master)
            env = {"TERM": "xterm-256color"} | home.env
            tree = home.reaper.start_on_terminal(
                words, cwd=place, env=env, master=master, slave=slave
            )
        elif stdin == "pipe":
            theirs, source = os.pipe()
            try:
                tree = home.reaper.start(words, cwd=place, env=home.env, fds={0: theirs})
            finally:
                os.close(theirs)
        else:
            source = -1
            tree = home.reaper.start(words, cwd=place, env=home.env)
        if source >= 0:
            os.set_blocking(source, False)
        return LocalJob(tree, files, source=source, terminal=stdin == "tty")

    async def _started(self, home: _Session, job: LocalJob) -> LocalJob:
        home.jobs.add(job)
        try:
            await job.started()
        except BaseException:
            with CancelScope(shield=True):
                await job.end()
            raise
        return job

    def _place(self, cwd: str, *, fall_back: bool) -> tuple[str, bool]:
        """An existing folder for `cwd`, and whether it is another one."""
        if cwd == "~" or cwd.startswith("~/"):
            cwd = self._env.get("HOME", "/") + cwd[1:]
        if Path(cwd).is_dir():
            return cwd, False
        if not fall_back:
            raise ToolError(t("terminal.no_folder", path=cwd), hint=t("terminal.no_folder_hint"))
        above = Path(cwd)
        while not above.is_dir() and above != above.parent:
            above = above.parent
        return str(above), True

    def _prepare(self) -> None:
        """Before the first command: find bash, make the folders, remove old files."""
        if self._bash:
            return
        path = self._env.get("PATH", os.defpath)
        for place in path.split(os.pathsep):
            bash = f"{place}/bash"
            if place.startswith("/") and os.access(bash, os.X_OK):
                break
        else:
            raise ToolError(t("terminal.no_bash", path=path), hint=t("terminal.no_bash_hint"))
        oldest = self._clock.now() - KEPT_DAYS * 86_400
        for folder in (self._state_dir, self._spill_dir):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for file in folder.iterdir():
                if file.stat().st_mtime >= oldest:
                    continue
                if file.is_dir():
                    shutil.rmtree(file, ignore_errors=True)
                else:
                    file.unlink(missing_ok=True)
        self._bash = bash

    def _open_spill(self) -> tuple[int, Path]:
        while True:
            self._count += 1
            path = self._spill_dir / f"out-{os.getpid()}-{self._count}.log"
            try:
                return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), path
            except FileExistsError:
                continue


@contextmanager
def _as_tool_error() -> Iterator[None]:
    try:
        yield
    except OSError as e:
        reason = e.strerror or str(e)
        raise ToolError(t("terminal.not_started", reason=reason)) from e


def _refuse_nul(command: str) -> None:
    if "\0" in command:
        raise ToolError(t("terminal.nul"), hint=t("terminal.nul_hint"))


def _drop(_: bytes) -> None:
    return
