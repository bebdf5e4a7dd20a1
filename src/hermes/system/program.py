"""A short-lived program whose answer is read as it comes; for commands there is `process`."""

import os
import selectors
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import IO, Final, final

import anyio

CHUNK: Final = 1 << 20
SAID: Final = 10_000


@final
class Program:
    """A running program; made by `running`."""

    def __init__(self, process: subprocess.Popen[bytes], stdout: IO[bytes], said: IO[bytes]):
        self._process = process
        self._said = said
        self._text = b""
        self._events = selectors.DefaultSelector()
        self._events.register(stdout, selectors.EVENT_READ)
        self._events.register(said, selectors.EVENT_READ)

    async def receive(self) -> bytes:
        """The next piece of its stdout; empty at its end."""
        while True:
            await anyio.wait_readable(self._events.fileno())
            for key, _ in self._events.select(0):
                if key.fileobj is self._said:
                    # A full pipe would keep the program from going on.
                    self._listen()
                else:
                    return os.read(key.fd, CHUNK)

    async def end(self) -> tuple[int, str]:
        """Its exit code (negative for a signal), and the first SAID bytes of its stderr."""
        code = await anyio.to_thread.run_sync(self._process.wait, abandon_on_cancel=True)
        self._listen()
        return code, self._text.decode("utf-8", "replace")

    def close(self) -> None:
        """Stop listening."""
        self._events.close()

    def _listen(self) -> None:
        with suppress(BlockingIOError):
            while piece := os.read(self._said.fileno(), CHUNK):
                self._text += piece[: SAID - len(self._text)]
            if self._said in self._events.get_map():
                self._events.unregister(self._said)


@asynccontextmanager
async def running(
    arguments: Sequence[str],
    *,
    cwd: str = "/",
    env: Mapping[str, str],
    stdin: int = subprocess.DEVNULL,
) -> AsyncIterator[Program]:
    """Start `arguments`, with the descriptor `stdin` to read from; its process group is killed
    when this is left.

    Raises OSError if it cannot be started.
    """
    process = subprocess.Popen(  # noqa: ASYNC220  starting is quick; its output is what is awaited
        [os.fsencode(argument) for argument in arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=dict(env),
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout as stdout, process.stderr as said:
        os.set_blocking(stdout.fileno(), False)
        os.set_blocking(said.fileno(), False)
        program = Program(process, stdout, said)
        try:
            yield program
        finally:
            program.close()
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
