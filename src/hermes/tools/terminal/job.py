"""One command in the background, as it is remembered: its output, its end, what to tell of it."""

import re
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct, field

from hermes.core.ids import SessionId
from hermes.ports.terminal import Detached, Job
from hermes.tools.terminal.bulletins import LINES
from hermes.tools.terminal.output import legacy_codec, readable

KEPT_CHARS: Final = 200_000
"""Characters of output that are kept, the newest."""

WATCHED_LINE: Final = 10_000
"""Bytes of a line in which texts are looked for."""

WATCH_TIMES: Final = 8
"""After so many tellings a watch ends; the command's end is told then."""

Reason = Literal["", "exited", "killed", "lost"]
"""Why it has ended; `lost` means that nobody saw how."""


class Tail:
    """The newest output of a command, in bounded memory."""

    def __init__(self) -> None:
        self._data = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take the next piece."""
        self.total += len(data)
        self._data += data[-4 * KEPT_CHARS :]
        if len(self._data) > 8 * KEPT_CHARS:
            del self._data[: -4 * KEPT_CHARS]

    def text(self) -> str:
        """What is kept, as text."""
        data = bytes(self._data)
        return readable(data, legacy_codec(data[-20_000:])[0])[-KEPT_CHARS:]


class FileTail:
    """The same of a command that writes into a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def total(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def text(self) -> str:
        tail = Tail()
        try:
            with self._path.open("rb") as file:
                file.seek(max(self.total - 4 * KEPT_CHARS, 0))
                tail.add(file.read(4 * KEPT_CHARS))
        except OSError:
            return ""
        return tail.text()


class BackgroundJob(Struct, kw_only=True):
    """A command in the background. Times are seconds since the epoch.

    Exactly one of `process` and `detached` is set while it runs. `source` says who ended it, and
    `ender` who would have if it was ended now. `known` is set once the model has been told of the
    end, `posted` when that is on its way, and `waiters` are calls that are about to.
    """

    id: str
    session: SessionId
    command: str
    cwd: str
    started_at: float
    notify: bool = False
    watch: tuple[str, ...] = ()
    heartbeat: int = 0
    persist: bool = False
    terminal: bool = False
    pid: int = 0
    process: Job | None = None
    detached: Detached | None = None
    recovered: bool = False
    output: Tail | FileTail = field(default_factory=Tail)
    exit_code: int | None = None
    exited_at: float | None = None
    reason: Reason = ""
    source: str = ""
    ender: str = "hermes.end"
    known: bool = False
    posted: bool = False
    waiters: int = 0
    done: anyio.Event = field(default_factory=anyio.Event)

    @property
    def running(self) -> bool:
        return not self.reason

    def ended(self, code: int | None, reason: Reason, at: float, source: str = "") -> None:
        """Note the end; only the first one counts."""
        if self.reason:
            return
        self.exit_code, self.reason, self.exited_at, self.source = code, reason, at, source
        self.process = None
        self.done.set()

    def end_words(self) -> str:
        """How it ended, as the end of a sentence about it."""
        if self.reason == "lost":
            return "is gone, and nobody saw how it ended."
        if self.reason == "killed" and self.source != "process.kill":
            return "was ended because its session was closed."
        return f"has ended, exit code {self.exit_code}."

    def end_keys(self) -> dict[str, Any]:
        """The keys that say how it ended."""
        if self.running:
            return {}
        return {
            "exit_code": self.exit_code,
            "completion_reason": self.reason,
            "termination_source": self.source,
        }


class Watcher:
    """Finds lines that hold one of some texts; a line may come in pieces."""

    def __init__(self, texts: tuple[str, ...], found: Callable[[str], None]) -> None:
        self._pattern = re.compile(b"|".join(re.escape(text.encode()) for text in texts))
        self._found = found
        self._rest = b""

    def add(self, data: bytes) -> None:
        """Look at the next piece."""
        *lines, rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._look(line)
        self._rest = rest[-WATCHED_LINE:]

    def end(self) -> None:
        """Look at a last line without an end."""
        self._look(self._rest)
        self._rest = b""

    def _look(self, line: bytes) -> None:
        if self._pattern.search(line):
            self._found(readable(line).rstrip("\r"))


class Sightings:
    """The watched lines of one command, told together when they come thick; the newest of them if
    there are many. `post` tells them, every `pause` seconds at most: in the task group `tasks` if
    that has to wait."""

    def __init__(
        self,
        job: BackgroundJob,
        post: Callable[[BackgroundJob, str, str], None],
        tasks: TaskGroup,
        pause: float,
    ) -> None:
        self._job = job
        self._post = post
        self._tasks = tasks
        self._pause = pause
        self._lines: deque[str] = deque(maxlen=LINES)
        self._next = 0.0
        self._due = False
        self._left = WATCH_TIMES

    def add(self, line: str) -> None:
        """Take a line in which a watched text is."""
        if not self._left:
            return
        self._lines.append(line)
        if anyio.current_time() >= self._next:
            self.flush()
        elif not self._due:
            self._due = True
            self._tasks.start_soon(self._flush_later)

    def flush(self) -> None:
        """Tell what has not been told."""
        if not self._lines:
            return
        text = "\n".join(self._lines)
        self._lines.clear()
        self._left -= 1
        self._next = anyio.current_time() + self._pause
        more = "" if self._left else " (the last time: its end will be told)"
        self._job.notify = self._job.notify or not self._left
        self._post(self._job, f"printed what you watch for{more}:", text)

    async def _flush_later(self) -> None:
        await anyio.sleep_until(self._next)
        self._due = False
        self.flush()
