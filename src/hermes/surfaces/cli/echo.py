"""Keys typed while a turn runs: they do not show amid an answer, and the next prompt gets them."""

import termios
from collections.abc import Iterator
from contextlib import contextmanager

from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.output import Output
from prompt_toolkit.utils import is_dumb_terminal


class TypedAhead:
    """The keys of one terminal between two prompts."""

    def __init__(self, source: Input, screen: Output) -> None:
        self._source = source
        self._screen = screen
        self._keys: list[KeyPress] = []

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Between prompts, show no key; Ctrl-C stays a signal, and Enter stays what it is."""
        fd = self._source.fileno()
        before = termios.tcgetattr(fd)
        quiet = termios.tcgetattr(fd)
        quiet[0] &= ~termios.ICRNL
        quiet[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
        quiet[6][termios.VMIN], quiet[6][termios.VTIME] = 1, 0
        termios.tcsetattr(fd, termios.TCSADRAIN, quiet)
        try:
            yield
        finally:
            termios.tcsetattr(fd, termios.TCSADRAIN, before)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Take every key in, and hand all of them to the next prompt at the end.

        They are read as they come: a terminal that nobody reads takes 4 KiB and then no more, not
        even a Ctrl-C.
        """
        self._bracket(on=True)
        try:
            with self._source.attach(self._take):
                yield
        finally:
            self._bracket(on=False)
        self._take()
        store_typeahead(self._source, self._keys)
        self._keys = []

    @contextmanager
    def aside(self) -> Iterator[None]:
        """For a question: what was typed before it came up is no answer to it."""
        self._take()
        yield
        self._keys += get_typeahead(self._source)

    def _take(self) -> None:
        self._keys += get_typeahead(self._source)
        while keys := self._source.read_keys():
            self._keys += keys

    def _bracket(self, *, on: bool) -> None:
        """A paste is one piece in these moments too, and its newlines send nothing."""
        if not is_dumb_terminal():
            (self._screen.enable_bracketed_paste if on else self._screen.disable_bracketed_paste)()
            self._screen.flush()
