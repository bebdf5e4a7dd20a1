"""The local back end: the shells and jobs of sessions, on this machine.

Each session has a keeper of its own, which runs in the session's sandbox if there is one, a serving
shell, and jobs. Nothing a command starts can wait for a person: standard input is empty, there is
no terminal, no pager and no editor.
"""

import os
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import anyio
from anyio import CancelScope

from hermes.core.clock import Clock
from hermes.core.errors import ToolError
from hermes.core.ids import SessionId
from hermes.ports.terminal import (
    SPILL_BYTES,
    CommandResult,
    Detached,
    Input,
    Job,
    NoFolder,
    Sink,
)
from hermes.system.capture import Capture
from hermes.system.i18n import t
from hermes.terminals import detached
from hermes.terminals.environment import FIXED, MARKERS
from hermes.terminals.local_jail import Jail, no_jail
from hermes.terminals.local_job import start_detached, start_job, start_program
from hermes.terminals.local_shells import Shells

KEPT_DAYS: Final = 7
"""How long spill files stay, and what dead processes left."""

TIMED_OUT: Final = 124


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
        self._sessions: dict[SessionId, Shells] = {}
        self._opening = anyio.Lock()
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
        outside: bool = False,
    ) -> CommandResult:
        """See `TerminalBackend.run`; also raises ToolError if no command can be started at all."""
        _refuse_nul(command)
        capture = Capture(limit, self._open_spill, SPILL_BYTES)

        def take(data: bytes) -> None:
            capture.add(data)
            if sink is not None:
                sink(data)

        place, moved = self._place(cwd, fall_back=fall_back)
        try:
            with _as_tool_error():
                shells = await self._session(session, place)
                if outside:
                    ended = await shells.run_outside(
                        command, place, take, timeout, self._new_folder()
                    )
                else:
                    ended = await shells.run(command, place, take, timeout)
        except BaseException:
            capture.discard()
            raise
        # Only now: of a command that failed nobody would have read them.
        notes, shells.untold = shells.untold, []
        head, tail = capture.close()
        cut = ended.status is None
        status = TIMED_OUT if ended.status is None else ended.status
        judged = status and not cut and not outside
        refused = shells.jail.hint(head + tail, status) if judged else None
        if came := sorted(set(shells.jail.appeared()) - shells.known):
            shells.known.update(came)
            notes.append(t("terminal.appeared", paths=", ".join(came)))
        return CommandResult(
            output_head=head,
            output_tail=tail,
            total=capture.total,
            characters=capture.characters,
            exit_code=status,
            cwd=os.fsdecode(ended.state.cwd) if ended.state else None,
            timed_out=cut,
            moved_to=place if moved else None,
            spill=str(capture.path) if capture.path else None,
            refused=refused,
            notes=tuple(notes),
        )

    async def expect(self, session: SessionId, cwd: str) -> None:
        """Have a sandbox and its keeper start for a session that will want to run something in
        `cwd`, while whoever asks for it does other things. What goes wrong is told then."""
        with suppress(OSError, ToolError):
            if session not in self._sessions:
                place, _ = self._place(cwd, fall_back=True)
                (await self._session(session, place)).reaper.warm()

    async def start(
        self, session: SessionId, command: str, *, cwd: str, stdin: Input = "pipe"
    ) -> Job:
        """See `TerminalBackend.start`."""
        _refuse_nul(command)
        with _as_tool_error():
            place, shells = await self._ready(session, cwd)
            return await start_job(shells, command, place, stdin)

    async def program(
        self, session: SessionId, arguments: Sequence[str], *, cwd: str, env: Mapping[str, str]
    ) -> Job:
        """See `TerminalBackend.program`."""
        with _as_tool_error():
            place, shells = await self._ready(session, cwd)
            return await start_program(shells, arguments, place, env)

    async def detach(
        self, session: SessionId, command: str, *, cwd: str, output: Path, status: Path
    ) -> Detached:
        """See `TerminalBackend.detach`."""
        _refuse_nul(command)
        with _as_tool_error():
            place, shells = await self._ready(session, cwd)
            return start_detached(shells, command, place, output=output, status=status)

    def running(self, program: Detached) -> bool:
        """See `TerminalBackend.running`."""
        return detached.running(program)

    async def end_detached(self, program: Detached) -> None:
        """See `TerminalBackend.end_detached`."""
        await detached.end(program)

    async def forget(self, session: SessionId) -> None:
        """See `TerminalBackend.forget`; whoever follows a job has to stop before."""
        shells = self._sessions.pop(session, None)
        if shells is not None:
            with CancelScope(shield=True):
                await shells.close()

    async def aclose(self) -> None:
        """Forget every session."""
        with CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for session in tuple(self._sessions):
                    group.start_soon(self.forget, session)

    async def _session(self, session: SessionId, place: str) -> Shells:
        """The session's shells, made when first asked for."""
        self._prepare()
        async with self._opening:
            if (known := self._sessions.get(session)) is not None:
                return known
            jail = await self._jails(Path(place))
            given = {**self._env, **FIXED, **MARKERS, "HERMES_SESSION_ID": session, **jail.env}
            shells = self._sessions[session] = Shells(
                folder=self._new_folder(),
                jail=jail,
                env={name: value for name, value in given.items() if value is not None},
                bash=self._bash,
                login=self._login,
                files=self._files,
            )
            shells.untold += [jail.warning] if jail.warning else []
            return shells

    async def _ready(self, session: SessionId, cwd: str) -> tuple[str, Shells]:
        """The folder for something beside the conversation, and the session's shells with a
        state. Raises NoFolder."""
        place, _ = self._place(cwd, fall_back=False)
        shells = await self._session(session, place)
        await shells.begin(place)
        return place, shells

    def _new_folder(self) -> Path:
        while True:
            self._count += 1
            folder = self._state_dir / f"{os.getpid()}-{self._count}"
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:  # Of an earlier process with the same number, which was killed.
                continue
            return folder

    def _place(self, cwd: str, *, fall_back: bool) -> tuple[str, bool]:
        """An existing folder for `cwd`, and whether it is another one."""
        if cwd == "~" or cwd.startswith("~/"):
            cwd = self._env.get("HOME", "/") + cwd[1:]
        if _is_folder(Path(cwd)):
            return cwd, False
        if not fall_back:
            raise NoFolder(t("terminal.no_folder", path=cwd), hint=t("terminal.no_folder_hint"))
        above = Path(cwd)
        while not _is_folder(above) and above != above.parent:
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
                with suppress(FileNotFoundError):  # Another Hermes may be doing the same.
                    _remove_older(file, oldest)
        self._bash = bash

    def _open_spill(self) -> tuple[int, Path]:
        while True:
            self._count += 1
            path = self._spill_dir / f"out-{os.getpid()}-{self._count}.log"
            try:
                return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), path
            except FileExistsError:
                continue


def _remove_older(file: Path, oldest: float) -> None:
    if file.stat().st_mtime >= oldest:
        return
    if file.is_dir():
        shutil.rmtree(file, ignore_errors=True)
    else:
        file.unlink(missing_ok=True)


def _is_folder(path: Path) -> bool:
    """Whether it is a folder; one that cannot be looked at, or has an impossible name, is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


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
