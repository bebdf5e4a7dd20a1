"""One run of a hook: a payload in, what it printed out, and nothing of it left behind."""

import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final, Literal, Protocol, final

import anyio

from hermes.core.errors import ToolError
from hermes.safety.hooks.configured import Hook
from hermes.system.process import Jail, ProcessTree, Reaper

STDOUT_BYTES: Final = 1 << 20
"""An answer is a small JSON object; one that is longer is no answer."""

STDERR_BYTES: Final = 1 << 16
"""How much of the standard error is kept; the rest is read and dropped."""

LAST_WORDS: Final = 0.2
"""Seconds for the standard error to end once every process has."""

Fault = Literal["not_found", "not_executable", "not_started", "timeout", "too_long", "lost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What became of a run; `exit_code` is None if `fault` says why there is none."""

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    seconds: float
    fault: Fault | None = None
    detail: str = ""


class HookJail(Jail, Protocol):
    """A boundary, and what the environment inside gets, None for what it loses."""

    @property
    def env(self) -> Mapping[str, str | None]: ...


@final
class HookRunner:
    """Runs hooks with `env` as all of their environment.

    `base` is where the owner's relative program names start from: the folder that a session works
    in may be a stranger's. `jail` makes the sandbox for a folder, None runs without one. Hooks have
    a sandbox of their own, where no command of a model's can reach one that judges it.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        base: Path,
        jail: Callable[[Path], Awaitable[HookJail]] | None = None,
    ) -> None:
        self._env = env
        self._base = base
        self._jail = jail
        self._places: dict[str, tuple[Reaper, dict[str, str]]] = {}

    async def aclose(self) -> None:
        """End whatever still runs."""
        while self._places:
            _, (reaper, _) = self._places.popitem()
            await reaper.aclose()

    async def _place(self, root: str, cwd: str) -> tuple[Reaper, dict[str, str]]:
        """The keeper for hooks of a project, or of the owner for "", and their environment.

        Raises ToolError if they have to be in a sandbox and none works.
        """
        if root not in self._places:
            jail = await self._jail(Path(root or cwd)) if self._jail is not None else None
            given = {**self._env, **(jail.env if jail is not None else {})}
            env = {name: value for name, value in given.items() if value is not None}
            self._places[root] = Reaper(jail=jail), env
        return self._places[root]

    def program(self, hook: Hook) -> Path | None:
        """The file that `hook` would run, executable or not; None if there is none."""
        name = hook.argv[0]
        if "/" in name:
            path = Path(hook.root or self._base, name)
            return path if path.is_file() else None
        folders = map(Path, self._env.get("PATH", "").split(os.pathsep))
        found = (folder / name for folder in folders if folder.is_absolute())
        return next((p for p in found if p.is_file() and os.access(p, os.X_OK)), None)

    async def run(self, hook: Hook, payload: bytes, *, cwd: str) -> Ran:
        """Run `hook` to its end or for `hook.timeout` seconds, with `payload` as its input.

        When this returns or is cancelled, no process of it is left.
        """
        program = self.program(hook)
        if program is None:
            return _failed("not_found", hook.argv[0])
        if not os.access(program, os.X_OK):
            return _failed("not_executable", str(program))
        where = next(f for f in (hook.root or cwd, str(self._base), "/") if os.access(f, os.X_OK))
        try:
            reaper, env = await self._place(hook.root, where)
        except ToolError as e:
            return _failed("not_started", str(e))
        errors, write_end = os.pipe()
        try:
            with TemporaryFile() as source:
                source.write(payload)
                source.seek(0)
                tree = reaper.start(
                    [str(program), *hook.argv[1:]],
                    cwd=where,
                    env={**env, "PWD": where},
                    fds={0: source.fileno(), 2: write_end},
                )
            os.close(write_end)
            write_end = -1
            return await _followed(tree, errors, hook.timeout)
        except OSError as e:
            return _failed("not_started", e.strerror or str(e))
        finally:
            os.close(errors)
            if write_end >= 0:
                os.close(write_end)


class _Kept:
    """The first `limit` bytes of a stream; `over` is cancelled when there is more."""

    def __init__(self, limit: int, over: anyio.CancelScope | None = None) -> None:
        self.data = bytearray()
        self._limit = limit
        self._over = over
        self.cut = False

    def take(self, piece: bytes) -> None:
        room = self._limit - len(self.data)
        self.data += piece[:room]
        if len(piece) > room:
            self.cut = True
            if self._over is not None:
                self._over.cancel()


async def _followed(tree: ProcessTree, errors: int, timeout: float) -> Ran:
    start = time.monotonic()
    exit_code: int | None = None
    fault: Fault | None = None
    detail = ""
    err = _Kept(STDERR_BYTES)
    async with anyio.create_task_group() as group:
        group.start_soon(_collect, errors, err)
        scope = anyio.CancelScope(deadline=anyio.current_time() + timeout)
        out = _Kept(STDOUT_BYTES, scope)
        try:
            with scope:
                exit_code = await tree.stream(out.take)
        except ToolError:
            fault = "lost"
        except OSError as e:
            fault, detail = "not_started", e.strerror or str(e)
        finally:
            await tree.end(out.take)
        group.cancel_scope.deadline = anyio.current_time() + LAST_WORDS
    if out.cut:
        fault = "too_long"
    elif exit_code is None and fault is None:
        fault = "timeout"
    return Ran(
        exit_code=None if fault else exit_code,
        stdout=bytes(out.data),
        stderr=bytes(err.data),
        seconds=time.monotonic() - start,
        fault=fault,
        detail=detail,
    )


async def _collect(fd: int, kept: _Kept) -> None:
    os.set_blocking(fd, False)
    while True:
        await anyio.wait_readable(fd)
        try:
            piece = os.read(fd, 65_536)
        except BlockingIOError:
            continue
        if not piece:
            return
        kept.take(piece)


def _failed(fault: Fault, detail: str) -> Ran:
    return Ran(exit_code=None, stdout=b"", stderr=b"", seconds=0.0, fault=fault, detail=detail)
