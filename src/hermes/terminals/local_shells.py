"""The shells of one session, on this machine."""

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
from anyio import CancelScope

from hermes.core.errors import ToolError
from hermes.ports.terminal import Sink
from hermes.system.i18n import t
from hermes.system.process import Reaper
from hermes.terminals.local_jail import Jail, NoJail
from hermes.terminals.shell import Ended, Shell
from hermes.terminals.shell_script import NOTHING, State, adoption

PROFILE_SECONDS: Final = 10
"""How long a person's profile may take; the shell is started without it then."""

START_SECONDS: Final = 10
"""How long a shell without a profile may take to start; less if its command may take less."""


class Shells:
    """What lasts from one command of a session to the next, under one keeper, in one sandbox.

    One shell is kept to wait for a command: there are more while commands run side by side. With
    `login` the first one reads the person's profile, and then the `files`. `folder` is private.
    `known` is what was told to have come to be outside of the sandbox's cover, `untold` what the
    next command's result is to say.
    """

    def __init__(
        self,
        *,
        folder: Path,
        jail: Jail,
        env: dict[str, str],
        bash: str,
        login: bool = False,
        files: tuple[str, ...] = (),
        state: State = NOTHING,
    ) -> None:
        self.folder = folder
        self.jail = jail
        self.env = env
        self.bash = bash
        self.state = state
        self.known: set[str] = set()
        self.untold: list[str] = []
        self.reaper = Reaper(jail=jail)
        self._login = login
        self._files = files
        self._idle: list[Shell] = []
        self._busy: set[Shell] = set()
        self._count = 0

    async def run(
        self,
        command: str,
        place: str,
        sink: Sink,
        timeout: float,
    ) -> Ended:
        shell = await self.begin(place, min(timeout, START_SECONDS))
        self._idle.remove(shell)
        self._busy.add(shell)
        try:
            shell.adopt(self.state)
            ended = await shell.run(os.fsencode(command), place, sink, timeout)
        finally:
            self._busy.discard(shell)
            await self._settle(shell)
        if ended.state is not None:
            self.state = ended.state
        return ended

    async def run_outside(
        self, command: str, place: str, sink: Sink, timeout: float, folder: Path
    ) -> Ended:
        """Run one command without the sandbox, in a shell of its own that ends with it."""
        bare = Shells(folder=folder, jail=NoJail(), env=self.env, bash=self.bash, state=self.state)
        try:
            ended = await bare.run(command, place, sink, timeout)
        finally:
            with CancelScope(shield=True):
                await bare.close()
        if ended.state is not None:
            self.state = ended.state
        return ended

    async def close(self) -> None:
        """End all that a session has running, and remove its files."""
        async with anyio.create_task_group() as group:
            for each in self._idle:
                group.start_soon(each.close)
            for each in self._busy:
                group.start_soon(each.end)
        self._idle.clear()
        await self.reaper.aclose()
        await anyio.to_thread.run_sync(shutil.rmtree, self.folder, True)

    async def _settle(self, shell: Shell) -> None:
        """Keep a shell that is not running a command any more, one at most."""
        if shell.alive and not self._idle:
            self._idle.append(shell)
            return
        with CancelScope(shield=True):
            # What its command left running has to outlive it.
            await (shell.retire() if shell.alive else shell.close())

    async def begin(self, place: str, patience: float = START_SECONDS) -> Shell:
        """An idle shell, in the state of the session; the first one gives the session its state.

        One that does not answer within `patience` seconds is ended, and ToolError raised.
        """
        if self._idle:
            if self._idle[-1].whole:
                return self._idle[-1]
            # A command has removed its files.
            with CancelScope(shield=True):
                await self._idle.pop().retire()
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        first = self.state is NOTHING
        shell: Shell | None = None
        if first and (self._login or self._files):
            shell = await self._profiled(place)
            if shell is None:
                self.untold.append(t("terminal.no_profile", seconds=PROFILE_SECONDS))
        if shell is None:
            shell = self._shell(place, login=False, files=())
        try:
            with anyio.fail_after(patience):
                await shell.ready()
            if first:
                await self._learn(shell, place)
        except BaseException as e:
            with CancelScope(shield=True):
                await shell.close()
            if isinstance(e, TimeoutError):
                raise ToolError(t("terminal.shell_silent", seconds=f"{patience:g}")) from e
            raise
        self._idle.append(shell)
        return shell

    async def _learn(self, shell: Shell, place: str) -> None:
        """Have the state that a new shell is in be the session's."""
        ended = await shell.run(b"", place, _drop, PROFILE_SECONDS)
        if ended.state is None:
            raise ToolError(t("terminal.no_state"))
        if self.state is NOTHING:  # Else a command beside this one was faster.
            self.state = ended.state

    async def _profiled(self, place: str) -> Shell | None:
        """A shell that has read the person's profile, or None if that did not end well."""
        shell = self._shell(place, login=self._login, files=self._files)
        try:
            with anyio.fail_after(PROFILE_SECONDS):
                await shell.ready()
        except BaseException as e:
            with CancelScope(shield=True):
                await shell.close()
            if isinstance(e, (TimeoutError, ToolError)):
                return None
            raise
        return shell

    def _shell(self, place: str, *, login: bool, files: tuple[str, ...]) -> Shell:
        return Shell.start(
            self.reaper,
            self.bash,
            folder=self.folder,
            name=self._name(),
            cwd=place,
            env=self.env,
            login=login,
            files=files,
        )

    def job_files(self, command: bytes) -> tuple[Path, Path]:
        """Files with the state of the session and with a command, for one job."""
        name = self._name()
        state, run = (self.folder / f"{part}-{name}" for part in ("state", "job"))
        try:
            for file, data in ((state, adoption(self.state, NOTHING)), (run, command + b"\0")):
                fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(fd, "wb") as out:
                    out.write(data)
        except BaseException:
            remove((state, run))
            raise
        return state, run

    def _name(self) -> str:
        self._count += 1
        return str(self._count)


def remove(files: Iterable[Path]) -> None:
    """Remove files that may be gone already."""
    for file in files:
        with suppress(OSError):
            file.unlink(missing_ok=True)


def _drop(_: bytes) -> None:
    return
