"""Output of any length in bounded memory: its head, its tail, and the whole of it in a file."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

CONTINUATIONS: Final = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""

OpenSpill = Callable[[], tuple[int, Path]]

HEAD_SHARE: Final = 0.4
"""Part of the limit that the head takes."""


class Capture:
    """Takes output piece by piece; up to `limit` bytes it is kept whole and no file is made.

    `open_spill` makes the file for longer output, which takes the first `room` bytes, and returns
    its descriptor and path. If it raises OSError, or the disk fills up later, there is no file, and
    `path` is None.
    """

    def __init__(self, limit: int, open_spill: OpenSpill, room: int) -> None:
        self._limit = limit
        self._head_size = int(limit * HEAD_SHARE)
        self._tail_size = limit - self._head_size
        self._open_spill = open_spill
        self._head = bytearray()
        self._tail = bytearray()
        self._fd = -1
        self._room = room
        self.total = 0
        self.characters = 0
        self.path: Path | None = None

    def add(self, data: bytes) -> None:
        """Take the next piece."""
        whole = self.total <= self._limit
        self.total += len(data)
        self.characters += len(data if data.isascii() else data.translate(None, CONTINUATIONS))
        if whole:
            self._head += data
            if self.total > self._limit:
                self._overflow()
            return
        self._spill(data)
        if len(data) >= self._tail_size:
            self._tail[:] = data[-self._tail_size :]
        else:
            self._tail += data
            self._trim(4 * self._tail_size)

    def close(self) -> tuple[bytes, bytes]:
        """The head and the tail; the tail is empty if the head is all there was."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._trim(self._tail_size)
        return bytes(self._head), bytes(self._tail)

    def discard(self) -> None:
        """Forget the output, the file too."""
        self.close()
        self._drop_spill()

    def _trim(self, size: int) -> None:
        if len(self._tail) > size:
            del self._tail[: len(self._tail) - self._tail_size]

    def _overflow(self) -> None:
        try:
            self._fd, self.path = self._open_spill()
        except OSError:
            self._fd = -1
        self._spill(bytes(self._head))
        self._tail = self._head[self._head_size :]
        del self._head[self._head_size :]
        self._trim(self._tail_size)

    def _spill(self, data: bytes) -> None:
        if self._fd < 0:
            return
        left = memoryview(data)[: self._room]
        self._room -= len(left)
        try:
            # Into the page cache, at memory speed: not worth a thread.
            while left:
                left = left[os.write(self._fd, left) :]
        except OSError:
            os.close(self._fd)
            self._fd = -1
            self._drop_spill()

    def _drop_spill(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)
            self.path = None
