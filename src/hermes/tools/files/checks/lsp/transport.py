"""A language server as a process: framed messages over two pipes, and the end of its whole tree.

The server is started by the keeper of child processes like every command. That gives a command no
standard input, so a shell hooks the server to two named pipes in a private folder; what it says on
standard error comes through the keeper and is kept for the reason of its end.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import anyio
from anyio.lowlevel import checkpoint

from hermes.core.errors import ToolError
from hermes.system.process import Reaper

CHUNK: Final = 65_536
HEADER_BYTES: Final = 4_096
MESSAGE_BYTES: Final = 16 << 20
"""A longer message ends the server, as does more than this that it does not read."""

LAST_WORDS: Final = 2_000
"""Bytes of its standard error that are kept."""

SCRIPT: Final = 'i=$1 o=$2; shift 2; exec "$@" <"$i" >"$o"'

_LENGTH: Final = re.compile(rb"^content-length:\s*(\d{1,12})\s*$", re.IGNORECASE | re.MULTILINE)


class BrokenServer(Exception):
    """The server does not keep to the protocol; the message says how."""


class Transport:
    """The pipes to one server. `write` never waits; `run` moves the bytes until the end."""

    def __init__(
        self, reaper: Reaper, command: Sequence[str], *, cwd: str, env: Mapping[str, str]
    ) -> None:
        """Start `command` (an absolute path first) in `cwd`; raises OSError if that fails."""
        self._unsent = bytearray()
        self._more = anyio.Event()
        self._words = bytearray()
        self._folder = tempfile.mkdtemp(prefix="hermes-lsp-")
        self._fds: list[int] = []
        try:
            pipes = [str(Path(self._folder, name)) for name in ("in", "out")]
            for pipe in pipes:
                os.mkfifo(pipe, 0o600)
                # For both ways, so that neither open nor the first read depends on the other side.
                # That a server has ended is told by the keeper, not by the end of a pipe.
                self._fds.append(os.open(pipe, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
            shell = ["/bin/sh", "-c", SCRIPT, "sh", *pipes, *command]
            self._tree = reaper.start(shell, cwd=cwd, env=env)
        except BaseException:
            self._close()
            raise

    def write(self, data: bytes) -> None:
        """Send `data` when the server takes it."""
        self._unsent += data
        self._more.set()

    def close(self) -> None:
        """Nothing: the end of `run` closes all."""

    async def run(self, receive: Callable[[bytes], None]) -> str:
        """Pass each message's body to `receive` until the server ends; why it did, in words.

        Cancelling ends the server and all it started.
        """
        reason = ""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._read, receive)
                group.start_soon(self._write)
                status = await self._tree.stream(self._hear)
                reason = f"it ended with status {status}"
                group.cancel_scope.cancel()
        except* BrokenServer as broken:
            reason = str(broken.exceptions[0])
        except* (OSError, ToolError) as failed:
            reason = str(failed.exceptions[0])
        finally:
            await self._tree.end()
            self._close()
        words = self._words.decode("utf-8", "replace").strip()
        return f"{reason}: {words.splitlines()[-1][:300]}" if words else reason

    def _hear(self, data: bytes) -> None:
        self._words += data
        del self._words[:-LAST_WORDS]

    async def _read(self, receive: Callable[[bytes], None]) -> None:
        buffer = bytearray()
        while True:
            await anyio.wait_readable(self._fds[1])
            try:
                buffer += os.read(self._fds[1], CHUNK)
            except BlockingIOError:
                continue
            while (body := _take(buffer)) is not None:
                receive(body)
                await checkpoint()

    async def _write(self) -> None:
        while True:
            await self._more.wait()
            self._more = anyio.Event()
            while self._unsent:
                if len(self._unsent) > MESSAGE_BYTES:
                    raise BrokenServer("it does not read what it is sent")
                await anyio.wait_writable(self._fds[0])
                try:
                    sent = os.write(self._fds[0], self._unsent[:CHUNK])
                except BlockingIOError:
                    continue
                del self._unsent[:sent]

    def _close(self) -> None:
        for fd in self._fds:
            os.close(fd)
        self._fds.clear()
        shutil.rmtree(self._folder, ignore_errors=True)


def _take(buffer: bytearray) -> bytes | None:
    """The next whole body, taken out of `buffer`; None if there is none yet."""
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        if len(buffer) > HEADER_BYTES:
            raise BrokenServer("it sent something that is not the protocol")
        return None
    length = _LENGTH.search(buffer[:end].replace(b"\r", b""))
    if length is None:
        raise BrokenServer("it sent a message without its length")
    size = int(length[1])
    if size > MESSAGE_BYTES:
        raise BrokenServer(f"it sent a message of {size:,} bytes")
    start = end + 4
    if len(buffer) < start + size:
        return None
    body = bytes(buffer[start : start + size])
    del buffer[: start + size]
    return body
