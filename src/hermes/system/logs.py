"""The log files of a home: `agent.log` from the level asked for, `errors.log` from WARNING up.

One record is one line: time in UTC, level, what it belongs to, logger, message. Every line passes
the redactor. A full disk loses records, never a turn. Several processes may write one file: each
line is one append, and a rotation happens under a lock.
"""

import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import final

from hermes.system.config.sections import LoggingSection
from hermes.system.paths import Home

Redact = Callable[[str], str]

AGENT_LOG = "agent.log"
ERRORS_LOG = "errors.log"

_bound: ContextVar[Mapping[str, str]] = ContextVar("hermes_log_bound", default={})  # noqa: B039
_ESCAPED = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_ESCAPED |= {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}
_ESCAPED |= {code: f"\\u{code:04x}" for code in (0x2028, 0x2029, *range(0x202A, 0x202F))}


@contextlib.contextmanager
def bind(**values: str) -> Iterator[None]:
    """Mark every record made inside (by this task and those it starts) with `values`: `session`,
    `turn`, `call`."""
    token = _bound.set({**_bound.get(), **values})
    try:
        yield
    finally:
        _bound.reset(token)


@final
class LogFile(logging.Handler):
    """A file that is opened at the first record and renamed away when it has grown too large.

    `backups` old files are kept: `.1` is the newest. `lost` counts records that were not written.
    """

    def __init__(self, path: Path, *, level: int, size: int, backups: int, redact: Redact) -> None:
        super().__init__(level)
        self.path = path
        self.lost = 0
        self._size = size
        self._backups = backups
        self._redact = redact
        self._fd: int | None = None

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self._line(record)
            self._write(line.encode("utf-8", "backslashreplace"))
        except Exception:  # boundary: a log must never fail what it reports on
            self.lost += 1

    def close(self) -> None:
        with self.lock or contextlib.nullcontext():
            self._shut()
        super().close()

    def _line(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if record.exc_info:
            message += "\n" + logging.Formatter().formatException(record.exc_info)
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        bound = "".join(f" {name}={value}" for name, value in _bound.get().items())
        head = f"{seconds}.{int(record.msecs):03d}Z {record.levelname}{bound} {record.name}:"
        return self._redact(f"{head} {message}").translate(_ESCAPED) + "\n"

    def _write(self, line: bytes) -> None:
        fd = self._open()
        if os.fstat(fd).st_size + len(line) > self._size and os.fstat(fd).st_size:
            fd = self._rotate()
        while line:
            line = line[os.write(fd, line) :]

    def _open(self) -> int:
        if self._fd is not None:
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(self.path.stat(), os.fstat(self._fd)):
                    return self._fd
            self._shut()  # another process has rotated it, or somebody removed it
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._fd = os.open(self.path, flags, 0o600)
        return self._fd

    def _rotate(self) -> int:
        """Rename the files along and open a new one, unless another process does it just now."""
        lock = os.open(
            self.path.with_name(f".{self.path.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600
        )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(self._open()).st_size >= self._size // 2:
                for i in range(self._backups - 1, 0, -1):
                    with contextlib.suppress(FileNotFoundError):
                        self._old(i).replace(self._old(i + 1))
                if self._backups:
                    self.path.replace(self._old(1))
                else:
                    self.path.unlink()
        except BlockingIOError:
            pass  # the other one is about to finish; this line may go to the old file
        finally:
            os.close(lock)
        return self._open()

    def _old(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def _shut(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


@final
class Logs:
    """The open log files; `close` takes them off the loggers again."""

    def __init__(self, files: tuple[LogFile, ...], level: int) -> None:
        self._files = files
        self._root = logging.getLogger()
        self._ours = logging.getLogger("hermes")
        self._previous = self._ours.level
        self._ours.setLevel(level)
        for file in files:
            self._root.addHandler(file)

    @property
    def lost(self) -> int:
        """Records that could not be written: a full disk, a redactor that failed."""
        return sum(file.lost for file in self._files)

    def close(self) -> None:
        for file in self._files:
            self._root.removeHandler(file)
            file.close()
        self._ours.setLevel(self._previous)


def open_logs(home: Home, settings: LoggingSection, redact: Redact) -> Logs:
    """Send what `hermes` logs, and the warnings of all others, to the files of `home`.

    Opens no file before the first record.
    """
    level = logging.getLevelNamesMapping()[settings.level]

    def file(name: str, lowest: int) -> LogFile:
        return LogFile(
            home.logs / name,
            level=lowest,
            size=settings.max_size_mb << 20,
            backups=settings.backup_count,
            redact=redact,
        )

    errors = file(ERRORS_LOG, max(level, logging.WARNING))
    return Logs((file(AGENT_LOG, level), errors), level)
