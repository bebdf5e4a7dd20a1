"""The one path by which tools change files: located, allowed, captured, committed, remembered."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import anyio

from hermes.core.errors import ToolError
from hermes.ports.checkpoint import ChangeOrigin, Checkpoints
from hermes.ports.files import Change, Committed, Files, FileStat, Move, Remove
from hermes.ports.tool import ToolContext
from hermes.safety.paths import PathPolicy
from hermes.tools.files.edits import Region
from hermes.tools.files.encoding import Encoding, sniff
from hermes.tools.files.path_locks import PathLocks
from hermes.tools.files.seen import SeenFiles

T = TypeVar("T")

Redact = Callable[[str], str]

EDIT_BYTES: Final = 64 << 20
"""The largest file that is edited as text."""

INLINE: Final = 20_000
"""Characters that are worked on at once; more of them, and other tasks would wait."""

SNIFFED: Final = 64 << 10
NOTED_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """A text file as it is now."""

    path: str
    data: bytes
    text: str
    encoding: Encoding
    stat: FileStat
    sha256: bytes


class Workspace:
    """Files as the changing tools see them. One for each Hermes: `locks` are shared."""

    def __init__(
        self,
        files: Files,
        policy: PathPolicy,
        *,
        locks: PathLocks,
        checkpoints: Checkpoints | None,
    ) -> None:
        self.files = files
        self.policy = policy
        self.locks = locks
        self._checkpoints = checkpoints

    async def text(self, path: str) -> TextFile:
        """The file to edit, whose text may be shown; raises ToolError if it may not be read, is
        no text or too large, and FileFault."""
        if why := self.policy.unreadable(Path(path)):
            raise ToolError(f"{path} was not read: {why}.")
        return await self.unshown(path)

    async def unshown(self, path: str) -> TextFile:
        """The file to replace whole, nothing of which will be shown; raises as `text`."""
        data, stat = await self.files.read(path, limit=EDIT_BYTES)
        return await apart(partial(_text_file, path, data, stat), len(data))

    async def commit(self, context: ToolContext, tool: str, changes: Sequence[Change]) -> Committed:
        """Make `changes`, all or none, so that they can be undone.

        Raises ToolError for a path that may not be changed, or that the call did not name when it
        was allowed; FileFault for what went wrong. Nothing is changed then.
        """
        paths = [path for change in changes for path in touched(change)]
        for path in paths:
            if why := self.policy.unwritable(Path(path)):
                raise ToolError(f"{path} was not written: {why}.")
            if path not in context.touches:
                raise ToolError(
                    f"{path} is not what was allowed: a link on the way there has changed since. "
                    "Nothing was changed; try again."
                )
        origin = ChangeOrigin(
            session=context.session, turn=context.turn, tool=tool, cwd=context.state.cwd
        )
        if self._checkpoints is not None:
            await self._checkpoints.before(origin, paths)
        made = await self.files.commit(changes)
        if self._checkpoints is not None:
            # It is done, and must be known to be, even if the turn is stopped now.
            deadline = anyio.current_time() + NOTED_SECONDS
            with anyio.CancelScope(shield=True, deadline=deadline):
                await self._checkpoints.after(origin, await self._left(changes, made))
        return made

    async def _left(self, changes: Sequence[Change], made: Committed) -> dict[str, bytes | None]:
        """sha256 of what stands at each path now, None for nothing; a file that is too large to be
        hashed is left out."""
        left: dict[str, bytes | None] = {**made.written}
        for change in changes:
            match change:
                case Remove():
                    left[change.path] = None
                case Move():
                    left[change.source] = None
                    page = await self.files.page(change.target, first=1, lines=0, width=0)
                    if page.sha256 is not None:
                        left[change.target] = page.sha256
        return left


def _text_file(path: str, data: bytes, stat: FileStat) -> TextFile:
    encoding = sniff(data[:SNIFFED], whole=len(data) <= SNIFFED)
    if encoding is None:
        raise ToolError(f"{path} is a binary file; it cannot be edited as text.")
    return TextFile(
        path=path,
        data=data,
        text=encoding.decode(data),
        encoding=encoding,
        stat=stat,
        sha256=hashlib.sha256(data).digest(),
    )


async def apart(work: Callable[[], T], size: int) -> T:
    """`work` on `size` characters; in a thread unless that would cost more than the work."""
    if size <= INLINE:
        return work()
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def touched(change: Change) -> tuple[str, ...]:
    """The paths that `change` changes."""
    return (change.source, change.target) if isinstance(change, Move) else (change.path,)


def outside(raw: object, path: str, cwd: str) -> str | None:
    """What to say of a relative path that leads out of the working folder."""
    if not isinstance(raw, str) or raw.startswith(("/", "~")) or Path(path).is_relative_to(cwd):
        return None
    return f"{raw} is outside the working folder: it stands for {path}."


def refuse_surrogates(text: str) -> None:
    """Raises ToolError if `text`, written by a model, has half a character in it."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as e:
        line = text.count("\n", 0, e.start) + 1
        raise ToolError(f"line {line} has half a character (U+{ord(text[e.start]):04X}).") from e


def encoded(encoding: Encoding, text: str) -> bytes:
    """The bytes of a file with `text`; raises ToolError for a character that it cannot hold."""
    try:
        return encoding.encode(text)
    except UnicodeEncodeError as e:
        line = text.count("\n", 0, e.start) + 1
        raise ToolError(
            f"line {line} has the character U+{ord(text[e.start]):04X}, which {encoding.name}, "
            "the encoding of this file, does not have. Use other characters, or convert the file "
            "to UTF-8 with a command first."
        ) from e


def staleness(seen: SeenFiles, file: TextFile) -> str | None:
    """What to say of an edit of a file that is not known as it is now."""
    path = Path(file.path)
    state = seen.state(path)
    if state == "whole" and not seen.knows(path, file.sha256):
        return f"{path} was changed by somebody else since you last read it."
    if state == "partial":
        return f"You have seen only a part of {path}."
    return None


def with_regions(message: str, regions: Sequence[Region]) -> str:
    """`message` with the lines that it points at."""
    parts = [message]
    for region in regions:
        rows = [f"{n}|{row}" for n, row in enumerate(region.text.split("\n"), region.line)]
        parts.append(f"line {region.line} ({region.difference}):\n" + "\n".join(rows))
    return "\n".join(parts)
