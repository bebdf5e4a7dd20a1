"""Keys typed while a turn runs wait for the next prompt, and do not show amid an answer."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import termios
except ImportError:  # Windows has no termios; there the keys show
    termios = None  # type: ignore[assignment]


@contextmanager
def silent_keys() -> Iterator[None]:
    """Switch the terminal's echo off, and back to what it was."""
    if termios is None or not sys.stdin.isatty():
        yield
        return
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    quiet = [*before]
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
