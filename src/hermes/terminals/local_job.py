"""A program of a session that runs beside the conversation, on this machine."""

import errno
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import final

import anyio

from hermes.core.errors import ToolError
from hermes.ports.terminal import Sink
from hermes.system.i18n import t
from hermes.system.process import ProcessTree

END_OF_TEXT = b"\x04"
"""Ctrl-D: what a terminal takes for the end of the input."""


@final
class LocalJob:
    """Implements `ports.terminal.Job`; `files` are removed when it has ended."""

    def __init__(
        self,
        tree: ProcessTree,
        files: Sequence[Path] = (),
        *,
        source: int = -1,
        terminal: bool = False,
        channel: socket.socket | None = None,
    ) -> None:
        self._tree = tree
        self._files = files
        self._source = source
        self._terminal = terminal
        self.channel = channel

    @property
    def pid(self) -> int:
        return self._tree.pid

    async def started(self) -> None:
        """Wait until it runs; raises ToolError if it cannot be started."""
        try:
            await self._tree.started()
        except OSError as e:
            await self.end()
            raise ToolError(t("terminal.not_started", reason=e.strerror or str(e))) from e

    async def stream(self, sink: Sink) -> int:
        status = await self._tree.stream(sink)
        self._release()
        self._tree.leave()
        return status

    async def write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                if self._source < 0:
                    raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
                left = left[os.write(self._source, left) :]
            except BlockingIOError:
                await anyio.wait_writable(self._source)
            except OSError as e:
                raise ToolError(t("terminal.no_input"), hint=t("terminal.no_input_hint")) from e

    async def close_input(self) -> None:
        if self._terminal:
            await self.write(END_OF_TEXT)
        else:
            self._close_source()

    async def end(self) -> None:
        await self._tree.end()
        self._release()

    def _release(self) -> None:
        self._close_source()
        if self.channel is not None:
            self.channel.close()
        for file in self._files:
            with suppress(OSError):
                file.unlink(missing_ok=True)

    def _close_source(self) -> None:
        if self._source >= 0:
            os.close(self._source)
            self._source = -1
