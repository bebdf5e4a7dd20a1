"""One kernel as Hermes holds it; `kernel_program` is its other side."""

import json
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import anyio
from anyio import CancelScope
from anyio.abc import TaskGroup

from hermes.core.errors import Bug, ToolError
from hermes.ports.terminal import Job, Sink

LATE: Final = 0.5
"""Seconds that output may take to arrive after a cell has ended."""

CHUNK: Final = 65_536

MESSAGE: Final = 64 << 20
"""Bytes that a message of the kernel may have."""

OnCall = Callable[[str, Mapping[str, Any]], Awaitable[str]]
"""A tool that the code calls, with its arguments: its result."""


@dataclass(frozen=True, slots=True)
class Cell:
    """How code ended: `error` in a line; `ended` says that the kernel went with it."""

    status: int
    error: str
    ended: bool


class _Output:
    """One stream of the kernel, up to the mark that ends a cell's part of it."""

    def __init__(self) -> None:
        self._sink: Sink | None = None
        self._mark = b""
        self._rest = b""
        self.over = anyio.Event()

    def begin(self, sink: Sink, mark: bytes) -> None:
        """From now on output goes to `sink`, until `mark` comes."""
        self._sink, self._mark, self._rest = sink, mark, b""
        self.over = anyio.Event()

    def add(self, data: bytes) -> None:
        """Take the next piece; what comes between two cells belongs to none and is dropped."""
        if self._sink is None:
            return
        text, found, _ = (self._rest + data).partition(self._mark)
        keep = 0 if found else min(len(self._mark) - 1, len(text))
        self._sink(text[: len(text) - keep])
        self._rest = text[len(text) - keep :]
        if found:
            self._sink = None
            self.over.set()

    def end(self) -> None:
        """There is no more."""
        if self._sink is not None:
            self._sink(self._rest)
            self._sink = None
        self.over.set()


class Kernel:
    """A running kernel; `tasks` is where its output is read. It is `busy` while it runs code."""

    def __init__(self, job: Job, tasks: TaskGroup) -> None:
        if job.channel is None or job.errors is None:
            raise Bug("a kernel needs a channel and its standard error")
        self._job = job
        self._channel = job.channel
        self._errors = job.errors
        self._heard = b""
        self._out, self._err = _Output(), _Output()
        self._scope = CancelScope()
        self._status: int | None = None
        self._gone = anyio.Event()
        self._fault = ""
        self.busy = False
        self.cells = 0
        self.used_at = 0.0
        tasks.start_soon(self._follow)
        tasks.start_soon(self._listen)

    @property
    def alive(self) -> bool:
        """Whether it can run code."""
        return not self._gone.is_set()

    async def run(
        self,
        code: str,
        *,
        tools: Mapping[str, tuple[str, ...]],
        out: Sink,
        err: Sink,
        on_call: OnCall,
    ) -> Cell:
        """Run `code` to its end. End the kernel if this is cancelled: the code would go on."""
        self.busy = True
        try:
            return await self._cell(code, tools, out, err, on_call)
        finally:
            self.busy = False

    async def _cell(
        self,
        code: str,
        tools: Mapping[str, tuple[str, ...]],
        out: Sink,
        err: Sink,
        on_call: OnCall,
    ) -> Cell:
        self.cells += 1
        mark = f"\0{secrets.token_hex(16)}\0"
        self._out.begin(out, mark.encode())
        self._err.begin(err, mark.encode())
        try:
            await self._send(
                {"run": code, "name": f"<cell {self.cells}>", "mark": mark, "tools": tools}
            )
            cell = await self._serve(on_call)
        except (OSError, EOFError, anyio.ClosedResourceError):
            cell = None
        if cell is None:
            await self._gone.wait()
            status = -1 if self._status is None else self._status
            return Cell(status, self._fault or f"The kernel ended with status {status}.", True)
        with anyio.move_on_after(LATE):
            await self._out.over.wait()
            await self._err.over.wait()
        if cell.ended:
            await self.end()
        return cell

    async def end(self) -> None:
        """End the kernel and all that it has started."""
        self._scope.cancel()
        with CancelScope(shield=True):
            await self._gone.wait()

    async def _serve(self, on_call: OnCall) -> Cell | None:
        while True:
            message = await self._receive()
            match message:
                case {"call": str(name), "arguments": dict(arguments)}:
                    await self._send({"result": await on_call(name, arguments)})
                case {"done": int(status), "error": str(error), "ended": bool(ended)}:
                    return Cell(status, error, ended)
                case _:
                    # The code has spoken for the kernel; what it says next means nothing.
                    self._fault = self._fault or "The code broke the kernel's way to Hermes."
                    await self.end()
                    return None

    async def _send(self, message: Mapping[str, Any]) -> None:
        left = memoryview(json.dumps(message).encode() + b"\n")
        while left:
            try:
                left = left[self._channel.send(left) :]
            except BlockingIOError:
                await anyio.wait_writable(self._channel)

    async def _receive(self) -> Any:
        pieces = [self._heard]
        size = len(self._heard)
        while b"\n" not in pieces[-1]:
            if size > MESSAGE:
                self._fault = f"A tool call of more than {MESSAGE} bytes was not made."
                return None
            await anyio.wait_readable(self._channel)
            piece = self._channel.recv(CHUNK)
            if not piece:
                raise EOFError
            pieces.append(piece)
            size += len(piece)
        line, _, self._heard = b"".join(pieces).partition(b"\n")
        try:
            return json.loads(line)
        except (ValueError, RecursionError):
            return None

    async def _follow(self) -> None:
        try:
            with self._scope:
                self._status = await self._job.stream(self._out.add)
        except (OSError, ToolError):
            pass
        finally:
            with CancelScope(shield=True):
                await self._job.end()
            self._out.end()
            self._err.end()
            self._gone.set()

    async def _listen(self) -> None:
        """Read standard error, or the kernel would have to wait."""
        with suppress(OSError, anyio.ClosedResourceError):
            while not self._gone.is_set():
                await anyio.wait_readable(self._errors)
                try:
                    data = os.read(self._errors, CHUNK)
                except BlockingIOError:
                    continue
                if not data:
                    return
                self._err.add(data)
