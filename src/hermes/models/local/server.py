"""Keeps the embedded model's process: one for each home and model, started when it is needed.

The process (`child`) belongs to the Hermes that started it and dies with it. Other Hermes processes
of the same home find its port and token in a state file and use it too; when it is gone, the next
one that needs it starts its own.
"""

import fcntl
import hashlib
import os
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import anyio
import msgspec
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from hermes.core.errors import Bug, HermesError, ModelError, StreamDropped, UserError
from hermes.system.files import write_atomic
from hermes.system.i18n import t
from hermes.system.locks import FileLock

if TYPE_CHECKING:  # the module loads ctypes, which only the child needs
    from hermes.models.local.child import Options

_START_DEADLINE: Final = 60.0
_LOCK_DEADLINE: Final = _START_DEADLINE + 10
_HEALTH_DEADLINE: Final = 10.0
_END_DEADLINE: Final = 1.0
_HOLD_DEADLINE: Final = 5.0
_POLL: Final = 0.01
_MAX_CRASHES: Final = 3
_MAX_ANSWER: Final = 65_536
_MAX_LOG: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the model answers: an OpenAI-compatible base URL, and the key for it."""

    base_url: str
    token: str

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url!r})"


class _State(msgspec.Struct, frozen=True):
    """What the owner of a process tells the others. `alias` is a secret as well: a stranger on a
    port that was left free does not know which model name to show."""

    port: int
    pid: int
    token: str
    alias: str

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(base_url=f"http://127.0.0.1:{self.port}/v1", token=self.token)


class _Answer(msgspec.Struct, frozen=True):
    """The child's one line: `child.Ready` or `child.Failure`."""

    port: int = 0
    pid: int = 0
    error: str = ""
    detail: str = ""


class LocalServer:
    """The embedded model of one home, as one Hermes process sees it.

    `state_dir` holds the lock, state and use files; `log` takes what the native code prints.
    `context` is in tokens. `threads` defaults to one less than the CPUs. An unused process ends
    after `idle_seconds`. `python` is the interpreter to run it with.
    """

    def __init__(
        self,
        model: Path,
        *,
        state_dir: Path,
        log: Path,
        context: int = 8192,
        threads: int | None = None,
        idle_seconds: float = 600.0,
        python: str = sys.executable,
    ) -> None:
        self._model = model
        self._state_dir = state_dir
        self._log = log
        self._context = context
        self._threads = threads or _threads()
        self._idle = idle_seconds
        self._python = python
        self._turnstile = anyio.Lock()
        self._process: Process | None = None
        self._state: _State | None = None
        self._served = ""
        self._crashes = 0

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Endpoint]:
        """The endpoint, with the promise that its process does not end for idleness meanwhile.

        Raises what `ready` raises. Leaving without an exception forgets earlier crashes.
        """
        hold = await self._hold(self._key())
        try:
            yield await self.ready()
            self._crashes = 0
        finally:
            os.utime(hold)
            os.close(hold)

    async def ready(self) -> Endpoint:
        """The endpoint of a process that answers right now, started if there is none.

        Takes about a millisecond when it runs already. Raises UserError (no engine, no model file),
        ModelError (it cannot be loaded, is too slow to start, or has crashed three times in a row).
        """
        async with self._turnstile:
            key = self._key()
            if key != self._served:
                await self._end()
            if self._state is None or not await _answers(self._state):
                await self._bury()
                async with FileLock(self._path(key, "lock")).held_for(_LOCK_DEADLINE):
                    self._state = await self._find_or_start(key)
                self._served = key
            self.touch()
            return self._state.endpoint

    def touch(self) -> None:
        """Say that the model is in use: it will not end for another `idle_seconds`."""
        if self._served:
            self._path(self._served, "use").touch()

    async def answers(self) -> bool:
        """Whether the process in use still answers."""
        return self._state is not None and await _answers(self._state)

    def ended_in_use(self) -> StreamDropped:
        """What to say of a process that ended while it replied."""
        return StreamDropped(t("localmodel.ended"), hint=self._see_log())

    @property
    def owned(self) -> bool:
        """Whether the process in use is a child of this one."""
        return self._process is not None

    async def aclose(self) -> None:
        """End the process if it is ours; one that another Hermes started is left alone."""
        async with self._turnstile:
            await self._end()

    async def _end(self) -> None:
        self._state = None
        if self._process is not None:
            await _kill(self._process)
            self._process = None

    def _path(self, key: str, suffix: str) -> Path:
        return self._state_dir / f"local-{key}.{suffix}"

    def _key(self) -> str:
        """Names what is served; another size, date or context of the file is another model."""
        try:
            model = self._model.resolve(strict=True)
            facts = model.stat()
        except OSError as e:
            raise UserError(
                t("localmodel.no_model", path=self._model), hint=t("localmodel.no_model_hint")
            ) from e
        self._state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        text = f"{model}\0{facts.st_size}\0{facts.st_mtime_ns}\0{self._context}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    async def _hold(self, key: str) -> int:
        """A shared lock on the use file; only a process that is about to end holds it alone."""
        hold = os.open(self._path(key, "use"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            with anyio.fail_after(_HOLD_DEADLINE):
                while True:
                    try:
                        fcntl.flock(hold, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    except BlockingIOError:
                        await anyio.sleep(_POLL)
                    else:
                        return hold
        except TimeoutError as e:
            os.close(hold)
            raise self._too_slow(_HOLD_DEADLINE) from e
        except BaseException:
            os.close(hold)
            raise

    async def _bury(self) -> None:
        """Take leave of a process of ours that is gone or does not answer any more."""
        self._state = None
        process, self._process = self._process, None
        if process is None:
            return
        with anyio.move_on_after(_END_DEADLINE):
            await process.wait()
        await _kill(process)
        if process.returncode != 0:  # 0: it was idle
            self._count_crash()

    def _count_crash(self) -> None:
        self._crashes += 1
        if self._crashes >= _MAX_CRASHES:
            count, self._crashes = self._crashes, 0
            raise ModelError(t("localmodel.crashed", count=count), hint=self._see_log())

    async def _find_or_start(self, key: str) -> _State:
        path = self._path(key, "json")
        try:
            state = msgspec.json.decode(path.read_bytes(), type=_State)
        except (OSError, msgspec.DecodeError):  # then nobody is there
            pass
        else:
            if await _answers(state):
                return state
        state = await self._start(key)
        write_atomic(path, msgspec.json.encode(state), mode=0o600)
        return state

    async def _start(self, key: str) -> _State:
        """Start the process and wait until it answers; crashes on the way are counted."""
        use_file = self._path(key, "use")
        use_file.touch(mode=0o600)
        options: Options = {
            "model": str(self._model.absolute()),
            "alias": f"{self._model.stem}@{secrets.token_hex(8)}",
            "context": self._context,
            "threads": self._threads,
            "token": secrets.token_urlsafe(32),
            "parent": os.getpid(),
            "use_file": str(use_file.absolute()),
            "idle": self._idle,
        }
        while True:
            with self._open_log() as log:
                process = await anyio.open_process(
                    [self._python, "-P", "-m", "hermes.models.local.child"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=self._state_dir,
                    start_new_session=True,  # Ctrl-C in our terminal is not meant for it
                )
            try:
                with anyio.fail_after(_START_DEADLINE):
                    answer = await _first_line(process, msgspec.json.encode(options) + b"\n")
            except TimeoutError as e:
                await _kill(process)
                raise self._too_slow(_START_DEADLINE) from e
            except BaseException:
                await _kill(process)
                raise
            if answer is not None and not answer.error:
                self._process = process
                return _State(
                    port=answer.port,
                    pid=answer.pid,
                    token=options["token"],
                    alias=options["alias"],
                )
            await _kill(process)
            if answer is not None:
                raise self._failure(answer)
            self._count_crash()

    def _open_log(self) -> IO[bytes]:
        """The log, begun anew when it has grown past 1 MiB."""
        self._log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        log = os.fdopen(os.open(self._log, flags, 0o600), "ab")
        if log.tell() > _MAX_LOG:
            log.truncate(0)
        return log

    def _see_log(self) -> str:
        return t("localmodel.see_log", log=self._log)

    def _too_slow(self, seconds: float) -> ModelError:
        return ModelError(t("localmodel.start_slow", seconds=round(seconds)), hint=self._see_log())

    def _failure(self, answer: _Answer) -> HermesError:
        match answer.error:
            case "missing":
                return UserError(t("localmodel.no_engine"), hint=t("localmodel.no_engine_hint"))
            case "unusable":
                lacks_gomp = "libgomp" in answer.detail
                hint = (
                    "localmodel.no_gomp_hint" if lacks_gomp else "localmodel.engine_unusable_hint"
                )
                return UserError(
                    t("localmodel.engine_unusable", reason=answer.detail), hint=t(hint)
                )
            case _:
                return ModelError(
                    t("localmodel.load_failed", path=self._model), hint=self._see_log()
                )


def _threads() -> int:
    """The engine's threads wait for each other by spinning: as soon as one has to share its CPU
    all of them crawl (2 threads on 2 busy CPUs: over 10 times slower than 1). So one is left free.
    """
    cpus = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, cpus - 1)


async def _first_line(process: Process, options: bytes) -> _Answer | None:
    """Hand over `options` and take the child's line; None if it ended without a word."""
    if process.stdin is None or process.stdout is None:
        raise Bug("the child was opened with pipes")
    try:
        await process.stdin.send(options)
        line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", _MAX_ANSWER)
        return msgspec.json.decode(line, type=_Answer)
    except (anyio.BrokenResourceError, anyio.IncompleteRead):
        return None


async def _kill(process: Process) -> None:
    """End the process now: it has nothing to save, and loading cannot be interrupted otherwise."""
    with anyio.CancelScope(shield=True):
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
        await process.aclose()


async def _answers(state: _State) -> bool:
    """Whether the very process that `state` tells of answers."""
    request = (
        f"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:{state.port}\r\n"
        f"Authorization: Bearer {state.token}\r\nConnection: close\r\n\r\n"
    )
    answer = b""
    try:
        with anyio.fail_after(_HEALTH_DEADLINE):
            async with await anyio.connect_tcp("127.0.0.1", state.port) as stream:
                await stream.send(request.encode())
                while len(answer) < _MAX_ANSWER:
                    answer += await stream.receive()
    except anyio.EndOfStream:
        pass
    except (OSError, anyio.BrokenResourceError):
        return False
    return answer.split(b"\r\n", 1)[0].endswith(b" 200 OK") and state.alias.encode() in answer
