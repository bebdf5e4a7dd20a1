"""One command in the background, as it is remembered: its output, its end, what to tell of it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import anyio

from hermes.core.ids import SessionId
from hermes.ports.terminal import Detached, Job
from hermes.tools.terminal.output import legacy_codec, readable

KEPT_CHARS: Final = 200_000
"""Characters of output that are kept, the newest."""

WATCHED_LINE: Final = 10_000
"""Bytes of a line in which texts are looked for."""

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


@dataclass(slots=True, kw_only=True)
class BackgroundJob:
    """A command in the background. Times are seconds since the epoch.

    Exactly one of `process` and `detached` is set while it runs. `source` says who ended it.
    `known` is set once the model has been told of the end, `waiters` are calls that are about to.
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
    known: bool = False
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
