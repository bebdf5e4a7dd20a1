"""What a running command prints, for people who watch: whole lines, redacted, a few times a second.

It is no record: of a flood only the newest lines are told.
"""

from collections.abc import Callable
from typing import Final

import anyio

from hermes.tools.terminal.output import readable

EVERY: Final = 0.1
"""Seconds between two tellings."""

NEWEST: Final = 4_000
"""Bytes of which the whole lines are told."""


class Progress:
    """Takes output by `add` and tells it while `run` runs."""

    def __init__(self, redact: Callable[[str], str], tell: Callable[[str], None]) -> None:
        self._redact = redact
        self._tell = tell
        self._newest = b""
        self._came = anyio.Event()

    def add(self, data: bytes) -> None:
        """Take the next piece."""
        self._newest = (self._newest + data[-NEWEST:])[-NEWEST:]
        self._came.set()

    async def run(self) -> None:
        """Tell until cancelled."""
        while True:
            await self._came.wait()
            self._came = anyio.Event()
            lines, newline, self._newest = self._newest.rpartition(b"\n")
            if newline:
                self._tell(self._redact(readable(lines)) + "\n")
            await anyio.sleep(EVERY)
