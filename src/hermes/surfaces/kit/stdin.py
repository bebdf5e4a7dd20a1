"""Standard input without a blocked thread, so that Ctrl-C works while a line is awaited."""

import os
import sys
from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel

_CHUNK = 1 << 16


async def input_lines() -> AsyncIterator[bytes]:
    """The lines of standard input as they come, without their line feed; a last one may lack it."""
    if sys.stdin is None:
        return
    number = sys.stdin.fileno()
    kept = bytearray()
    while chunk := await _read(number):
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield bytes(kept) + line
            kept.clear()
        kept += rest
    if kept:
        yield bytes(kept)


async def _read(number: int) -> bytes:
    try:
        await anyio.wait_readable(number)
    except PermissionError:
        # The kernel offers no waiting for a regular file or /dev/null: they never block.
        await anyio.lowlevel.checkpoint()
    return os.read(number, _CHUNK)
