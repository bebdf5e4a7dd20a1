"""The local back end: bash on this machine, one fresh shell for each command.

Nothing a command starts can wait for a person: standard input is empty, there is no terminal, no
pager and no editor. There is no boundary either: a command may do what the user may do.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
from anyio import CancelScope

from hermes.core.clock import Clock
from hermes.core.errors import ToolError
from hermes.core.ids import SessionId
from hermes.ports.terminal import CommandResult
from hermes.system.i18n import t
from hermes.system.process import ProcessTree, Reaper
from hermes.terminals.capture import Capture
from hermes.terminals.shell_state import script, take_dump

# fmt: off
ALLOWED: Final = frozenset((
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR",
    "TMP", "TEMP", "HERMES_HOME", "HERMES_PROFILE", "VIRTUAL_ENV", "SSH_AUTH_SOCK",
    "MANPATH", "INFOPATH", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "PYENV_ROOT", "NVM_DIR",
    "CARGO_HOME", "RUSTUP_HOME", "GOPATH", "GOROOT", "JAVA_HOME", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
    "PIP_CERT", "GIT_SSL_CAINFO", "NO_PROXY", "no_proxy", "DBUS_SESSION_BUS_ADDRESS",
))
ALLOWED_PREFIXES: Final = ("LC_", "XDG_", "CONDA_")
PROXIES: Final = frozenset(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY"))
SECRET_WORDS: Final = (
    "KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "CREDS", "AUTH", "DSN", "WEBHOOK",
    "BEARER", "COOKIE",
)
# fmt: on

FIXED: Final = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
}
"""What keeps a command from waiting for a person; a command may set them otherwise."""

MARKERS: Final = {"AI_AGENT": "hermes-agent", "HERMES_AGENT": "true"}

ARGUMENT_BYTES: Final = 100_000
"""The longest command passed as an argument; Linux refuses one from 128 KiB on."""

KEPT_DAYS: Final = 7
"""How long state and spill files of dead processes stay."""

TIMED_OUT: Final = 124


def child_environment(environ: Mapping[str, str], passthrough: Iterable[str]) -> dict[str, str]:
    """The part of `environ` that commands may see: an allow list, and the names passed through.

    Proxies are left out if their address holds credentials, and so is any allowed name that looks
    like a secret's. `passthrough` is a person's explicit wish and wins.
    """
    wanted = frozenset(passthrough)

    def allowed(name: str, value: str) -> bool:
        if name in wanted or name == "SSH_AUTH_SOCK":
            return True
        if name.upper() in PROXIES:
            return "@" not in value
        if any(word in name.upper() for word in SECRET_WORDS):
            return False
        return name in ALLOWED or name.startswith(ALLOWED_PREFIXES)

    return {name: value for name, value in environ.items() if allowed(name, value)}


@dataclass(slots=True)
class _Shell:
    """What lasts from one command of a session to the next.

    `old` are states that were replaced: another command may still be about to read one. When none
    runs, one is kept for the next dump to be written over, since to make and remove files costs
    more than the rest of a short command (1.4 ms to remove one on ext4).
    """

    state: Path | None = None
    old: list[Path] = field(default_factory=list)
    running: int = 0
    left: list[ProcessTree] = field(default_factory=list)


class LocalTerminal:
    """Implements `ports.terminal.TerminalBackend` on this machine.

    `env` is the environment of the first command, see `child_environment`. `state_dir` and
    `spill_dir` are made when needed, readable by the user alone.
    """

    def __init__(
        self,
        *,
        env: Mapping[str, str],
        state_dir: Path,
        spill_dir: Path,
        reaper: Reaper,
        clock: Clock,
    ) -> None:
        self._env = dict(env)
        self._state_dir = state_dir
        self._spill_dir = spill_dir
        self._reaper = reaper
        self._clock = clock
        self._shells: dict[SessionId, _Shell] = {}
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
    ) -> CommandResult:
        """See `TerminalBackend.run`; also raises ToolError if no command can be started at all."""
        if "\0" in command:
            raise ToolError(t("terminal.nul"), hint=t("terminal.nul_hint"))
        self._prepare()
        place, moved = self._place(cwd, fall_back=fall_back)
        shell = self._shells.setdefault(session, _Shell())
        shell.left = [tree for tree in shell.left if not tree.gone()]
        if shell.state and not shell.state.exists():
            shell.state = None
        capture = Capture(limit, self._open_spill)
        with ExitStack() as undo:
            try:
                dump = self._dump_file(shell)
                shell.running += 1
                undo.callback(self._settle, shell, dump)
                undo.callback(capture.discard)
                with self._source(command) as source:
                    text = script(command, dump=dump, state=shell.state, source=source)
                    tree = self._start(session, shell, text, place)
                    status = await self._watch(tree, shell, capture, timeout)
            except OSError as e:
                reason = e.strerror or str(e)
                raise ToolError(t("terminal.not_started", reason=reason)) from e
            undo.pop_all()
        head, tail = capture.close()
        return CommandResult(
            output_head=head,
            output_tail=tail,
            total=capture.total,
            exit_code=TIMED_OUT if status is None else status,
            cwd=self._adopt(shell, dump),
            timed_out=status is None,
            moved_to=place if moved else None,
            spill=str(capture.path) if capture.path else None,
        )

    async def forget(self, session: SessionId) -> None:
        """See `TerminalBackend.forget`."""
        shell = self._shells.pop(session, None)
        if shell is None:
            return
        for file in filter(None, (shell.state, *shell.old)):
            file.unlink(missing_ok=True)
        with CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for tree in shell.left:
                    group.start_soon(tree.end)

    async def aclose(self) -> None:
        """Forget every session."""
        with CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for session in tuple(self._shells):
                    group.start_soon(self.forget, session)

    def _start(self, session: SessionId, shell: _Shell, text: str, cwd: str) -> ProcessTree:
        # A state holds every exported variable, so that a variable that was unset stays so.
        env = ({} if shell.state else self._env | FIXED) | MARKERS
        env |= {"HERMES_SESSION_ID": session, "PWD": cwd}
        # The last argument is the name by which bash speaks of itself.
        return self._reaper.start([self._bash, "-c", text, "bash"], cwd=cwd, env=env)

    async def _watch(
        self, tree: ProcessTree, shell: _Shell, capture: Capture, timeout: float
    ) -> int | None:
        """The exit status of the shell, or None if its time ran out and it was ended."""
        status: int | None = None
        try:
            with anyio.move_on_after(timeout):
                status = await tree.stream(capture.add)
        except BaseException:
            await tree.end()
            raise
        if status is None:
            await tree.end(capture.add)
        elif tree.leave():
            shell.left.append(tree)
        return status

    def _dump_file(self, shell: _Shell) -> Path:
        if shell.running == 0 and shell.old:
            return shell.old.pop()
        return self._private_file(self._state_dir, "state", "sh")

    def _adopt(self, shell: _Shell, dump: Path) -> str | None:
        """Make `dump` the state; the folder where the shell ended, if it said so."""
        cwd = take_dump(dump)
        if cwd is None:
            self._settle(shell, dump)
            return None
        if shell.state:
            shell.old.append(shell.state)
        shell.state = dump
        self._settle(shell)
        return cwd

    def _settle(self, shell: _Shell, dump: Path | None = None) -> None:
        """One command less is running; `dump` is of no use."""
        shell.running -= 1
        if dump:
            dump.unlink(missing_ok=True)
        if shell.running == 0:
            for file in shell.old[1:]:
                file.unlink(missing_ok=True)
            del shell.old[1:]

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
                if file.is_file() and file.stat().st_mtime < oldest:
                    file.unlink(missing_ok=True)
        self._bash = bash

    def _private_file(self, folder: Path, kind: str, suffix: str) -> Path:
        """A new empty file that only the user can read."""
        while True:
            self._count += 1
            path = folder / f"{kind}-{os.getpid()}-{self._count}.{suffix}"
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            except FileExistsError:
                continue
            return path

    def _open_spill(self) -> tuple[int, Path]:
        path = self._private_file(self._spill_dir, "out", "log")
        return os.open(path, os.O_WRONLY), path

    @contextmanager
    def _source(self, command: str) -> Iterator[Path | None]:
        """A file with `command` for as long as it runs, if that is too long for an argument."""
        if len(command) * 4 < ARGUMENT_BYTES or len(os.fsencode(command)) < ARGUMENT_BYTES:
            yield None
            return
        path = self._private_file(self._state_dir, "command", "sh")
        try:
            path.write_bytes(os.fsencode(command))
            yield path
        finally:
            path.unlink(missing_ok=True)
