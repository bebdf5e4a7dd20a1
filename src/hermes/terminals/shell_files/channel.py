"""A script in a shell somewhere: started once for each operation, its answer read as it comes."""

import os
import shlex
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import IO, Final, cast, final, get_args

import anyio

from hermes.ports.files import FaultCode, FileFault
from hermes.system.program import Program, running

Shell = Callable[[str], Sequence[str]]
"""The command line that runs a script in a shell: `lambda s: ("bash", "-c", s)`, or for a machine
that splits its arguments again `lambda s: ("ssh", host, "exec sh -c " + shlex.quote(s))`. Standard
input and output must pass through as they are."""

NAME_BYTES: Final = 255
PATH_BYTES: Final = 4095
"""The longest name and path that Linux takes, limits.h."""

LINE_BYTES: Final = 4096

CODES: Final = frozenset(get_args(FaultCode))

REASONS: Final[Mapping[str, str]] = {
    "missing": "no such file or directory",
    "exists": "is there already",
    "not_a_file": "is not a regular file",
    "not_a_folder": "not a directory",
    "denied": "permission denied",
    "full": "no space left",
    "bad_path": "is a link that leads back to itself",
    "changed": "was changed by somebody else in the meantime",
    "too_large": "is larger than what was asked for",
}


def checked(path: str) -> str:
    """`path` itself; raises FileFault `bad_path` if no machine can have a file of that name."""
    if "\0" in path:
        raise FileFault("bad_path", path, "the path contains a NUL character")
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError:
        raise FileFault("bad_path", path, "the path is no text of bytes") from None
    if len(raw) > PATH_BYTES or max(map(len, raw.split(b"/"))) > NAME_BYTES:
        raise FileFault("bad_path", path, "file name too long")
    return path


def settings(**values: str | int) -> str:
    """Shell variables, quoted so that any bytes are data."""
    return "".join(f"{name}={shlex.quote(str(value))}\n" for name, value in values.items())


@final
class Answer:
    """What a script writes on standard output. A wait of more than `patience` seconds for its
    next bytes raises FileFault `unreachable`, and so does an end before its time."""

    def __init__(self, program: Program, path: str, patience: float) -> None:
        self._program = program
        self._path = path
        self._patience = patience
        self._held = b""

    async def piece(self) -> bytes:
        """The next bytes, however many; empty at the end."""
        if self._held:
            held, self._held = self._held, b""
            return held
        with anyio.move_on_after(self._patience):
            return await self._program.receive()
        raise FileFault("unreachable", self._path, f"no answer for {self._patience:g} seconds")

    async def exactly(self, size: int) -> bytes:
        """The next `size` bytes."""
        parts: list[bytes] = []
        while size > 0:
            piece = await self.piece()
            if not piece:
                raise await self.broken()
            parts.append(piece[:size])
            self._held = piece[size:]
            size -= len(parts[-1])
        return b"".join(parts)

    async def line(self, width: int = LINE_BYTES) -> bytes:
        """The next line without its newline, cut to `width` bytes; only those are kept."""
        kept = b""
        while True:
            piece = await self.piece()
            if not piece:
                raise await self.broken()
            end = piece.find(b"\n")
            if end >= 0:
                self._held = piece[end + 1 :]
                return (kept + piece[: min(end, width)])[:width]
            kept = (kept + piece[:width])[:width]

    async def rest(self, limit: int) -> bytes:
        """All that is left; raises `too_large` beyond `limit` bytes."""
        parts: list[bytes] = []
        size = 0
        while piece := await self.piece():
            size += len(piece)
            if size > limit:
                raise FileFault("too_large", self._path, "is larger than what was asked for")
            parts.append(piece)
        return b"".join(parts)

    async def heading(self) -> bytes:
        """The first line of an answer that is no fault; a fault is raised."""
        line = await self.line()
        if line.startswith(b"F "):
            raise self.fault(line, await self.rest(1 << 20))
        return line

    def fault(self, line: bytes, more: bytes = b"", path: str | None = None) -> FileFault:
        """The fault that a script names as `F code reason`, the reason of several lines maybe."""
        _, code, *words = (line + b" " + more).split()
        name = code.decode("ascii", "replace")
        said = " ".join(word.decode("utf-8", "replace") for word in words)
        known = cast("FaultCode", name if name in CODES else "other")
        return FileFault(known, path or self._path, said or REASONS.get(name, name))

    async def broken(self) -> FileFault:
        """The fault of a script that ended before it had answered."""
        with anyio.move_on_after(self._patience):
            code, said = await self._program.end()
            words = " ".join(said.split())[-500:] or f"the shell ended with code {code}"
            return FileFault("unreachable", self._path, words)
        return FileFault("unreachable", self._path, "the shell does not end")


@final
class Channel:
    """Starts scripts in `shell`; `env` is the environment of the program that it starts here."""

    def __init__(self, shell: Shell, *, env: Mapping[str, str], patience: float) -> None:
        self._shell = shell
        # bash runs BASH_ENV first, and its words would depend on the language.
        kept = {name: value for name, value in env.items() if name not in ("BASH_ENV", "ENV")}
        self._env = {**kept, "LC_ALL": "C"}
        self._patience = patience

    @asynccontextmanager
    async def ask(
        self, script: str, path: str, *, stdin: Sequence[bytes] = ()
    ) -> AsyncIterator[tuple[Answer, Program]]:
        """Run `script`; what it answers is about `path`. Leaving kills it and all it started.

        `stdin` lies ready in a file before it starts, so that the end of Hermes cuts nothing off.
        """
        with tempfile.TemporaryFile(buffering=0) as source:
            if stdin:
                await anyio.to_thread.run_sync(_fill, source, stdin)
            async with AsyncExitStack() as stack:
                starting = running(self._shell(script), env=self._env, stdin=source.fileno())
                try:
                    program = await stack.enter_async_context(starting)
                except OSError as e:
                    raise FileFault("unreachable", path, (e.strerror or str(e)).lower()) from e
                yield Answer(program, path, self._patience), program


def _fill(source: IO[bytes], parts: Sequence[bytes]) -> None:
    for part in parts:
        left = memoryview(part)
        while left:
            left = left[source.write(left) :]
    source.seek(0)
