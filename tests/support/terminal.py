"""A real terminal around the installed `hermes` command: a pty, and a screen that shows it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import pexpect
import pyte

from program import HERMES, Program

PATIENCE = 15.0
"""Seconds to wait for what takes a fraction of one."""

CTRL_C, CTRL_D, CTRL_J, TAB, UP = "\x03", "\x04", "\n", "\t", "\x1b[A"


class Screen(pyte.HistoryScreen):
    """Keeps what scrolls off, and answers where the cursor is, as every terminal does."""

    def __init__(self, columns: int, rows: int, reply: Callable[[str], object]) -> None:
        super().__init__(columns, rows, history=5000, ratio=0.5)
        self._reply = reply

    def write_process_input(self, data: str) -> None:
        self._reply(data)


class Terminal:
    """A program on a terminal of `columns` x `rows`; a context manager that ends it."""

    def __init__(
        self, program: Program, *arguments: str, columns: int = 80, rows: int = 24
    ) -> None:
        self.raw = b""
        self._child = pexpect.spawn(
            str(HERMES),
            list(arguments),
            env={"TERM": "xterm-256color", **program.environment()},
            cwd=str(program.cwd),
            dimensions=(rows, columns),
            echo=True,
        )
        self._child.delaybeforesend = None
        self._screen = Screen(columns, rows, self._child.send)
        self._stream = pyte.ByteStream(self._screen)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            error.add_note(f"the screen was:\n{self.text}")
        self._child.close(force=True)

    @property
    def pid(self) -> int:
        return int(self._child.pid)

    @property
    def lines(self) -> list[str]:
        """All lines from the start, those that have scrolled off too, without the empty end."""
        gone = [self._line(row) for row in self._screen.history.top]
        lines = [line.rstrip() for line in (*gone, *self._screen.display)]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def _line(self, row: dict[int, pyte.screens.Char]) -> str:
        return "".join(row[column].data for column in range(self._screen.columns))

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)

    def block(self, first: str) -> list[str]:
        """The lines from `first` up to the last one, which is the prompt."""
        lines = self.lines
        return lines[lines.index(first) : -1]

    def type(self, keys: str | bytes) -> None:
        """Press `keys`; Enter is `\\r`."""
        self._child.send(keys)

    def say(self, line: str) -> None:
        """Type `line` and Enter."""
        self.type(line + "\r")

    def paste(self, text: str) -> None:
        """Paste `text` as terminals do: bracketed, with carriage returns for newlines."""
        self.type("\x1b[200~" + text.replace("\n", "\r") + "\x1b[201~")

    def until(self, holds: Callable[[], bool] | str) -> None:
        """Read until `holds`, or until the text shows; raises AssertionError after PATIENCE."""
        if isinstance(holds, str):
            wanted = holds
            holds = lambda: wanted in self.text  # noqa: E731  a name for the common case
        end = time.monotonic() + PATIENCE
        while not holds():
            left = end - time.monotonic()
            assert left > 0, f"not within {PATIENCE} s"
            self._read(left)

    def prompt(self, count: int = 1) -> None:
        """Wait until the last line is the empty prompt, and `count` prompts have come in all."""
        self.until(
            lambda: (
                bool(self.lines)
                and self.lines[-1] == ">"
                and sum(line.startswith(">") for line in self.lines) >= count
            )
        )

    def status(self) -> int:
        """Read to the end of the program; its exit status."""
        end = time.monotonic() + PATIENCE
        while self._read(end - time.monotonic()):
            pass
        self._child.wait()
        assert self._child.exitstatus is not None, f"ended by signal {self._child.signalstatus}"
        return int(self._child.exitstatus)

    def _read(self, seconds: float) -> bool:
        try:
            data = self._child.read_nonblocking(65536, timeout=max(seconds, 0))
        except pexpect.EOF:
            return False
        except pexpect.TIMEOUT:
            raise AssertionError("the terminal stayed silent") from None
        self.raw += data
        self._stream.feed(data)
        return True


@contextmanager
def chat(
    program: Program, *arguments: str, columns: int = 80, rows: int = 24
) -> Iterator[Terminal]:
    """A line chat that shows its first prompt."""
    with Terminal(program, "chat", *arguments, columns=columns, rows=rows) as terminal:
        terminal.prompt()
        yield terminal
