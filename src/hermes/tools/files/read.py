"""`read_file`: a page of a text file with line numbers.

Keys and numbers follow the reference's contract: `n|line`, 2,000 lines a page, 2,000 characters a
line, 100,000 characters in all.
"""

import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.from_thread import check_cancelled

from hermes.core.transcript import ToolSchema
from hermes.ports.tool import Arguments, SessionState, ToolContext, ToolOutput, ToolSpec
from hermes.safety.paths import PathPolicy
from hermes.tools.files.place import locate
from hermes.tools.files.seen import SeenFiles

BLOCK: Final = 1 << 20
SNIFF: Final = 8192
BOM: Final = b"\xef\xbb\xbf"
LINE_CUT: Final = "... [truncated]"
BASELINE_BYTES: Final = 8 << 20

SCHEMA = ToolSchema(
    name="read_file",
    description=(
        "Read a text file, as numbered lines `n|text`. Long files come in pages: pass `offset` "
        "(first line, from 1) and `limit`."
    ),
    parameters=json.dumps(
        {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "offset": {"type": "integer", "minimum": 1, "default": 1},
                "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "default": 2000},
            },
            "required": ["path"],
        },
        separators=(",", ":"),
    ),
)


@dataclass(slots=True)
class Page:
    """Lines `first` to `first + len(lines) - 1` of a file of `total` lines."""

    lines: list[bytes]
    total: int
    size: int


class ReadFile:
    """See `SCHEMA`. Sizes are characters; `redact` masks secrets after the page is cut."""

    spec = ToolSpec(schema=SCHEMA, toolset="file", effects="reads")

    def __init__(
        self,
        policy: PathPolicy,
        redact: Callable[[str], str],
        *,
        max_lines: int,
        max_line: int,
        max_chars: int,
    ) -> None:
        self._policy = policy
        self._redact = redact
        self._max_lines = max_lines
        self._max_line = max_line
        self._max_chars = max_chars

    def touches(self, arguments: Arguments, state: SessionState) -> tuple[str, ...]:
        return (str(locate(arguments.get("path"), state.cwd, self._policy.user)),)

    def summary(self, arguments: Arguments) -> str:
        return str(arguments.get("path"))

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        path = locate(arguments.get("path"), context.state.cwd, self._policy.user)
        offset = max(1, _whole(arguments.get("offset"), 1))
        limit = min(max(1, _whole(arguments.get("limit"), self._max_lines)), self._max_lines)
        seen = context.state.of(SeenFiles)
        keys = await anyio.to_thread.run_sync(self._read, path, offset, limit, seen)
        failed = "error" in keys or keys.get("success") is False
        return ToolOutput(
            content=json.dumps(keys, ensure_ascii=False), outcome="failed" if failed else "ok"
        )

    def _read(self, path: Path, offset: int, limit: int, seen: SeenFiles) -> dict[str, Any]:
        if why := self._policy.unreadable(path):
            return {"error": f"{path} was not read: {why}."}
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return _missing(path)
        except OSError as e:
            return {"error": f"{path} cannot be read: {e.strerror}."}
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            os.close(fd)
            if stat.S_ISDIR(mode):
                return {"error": f"{path} is a folder, not a file."}
            return {"success": False, "note": f"{path} is a device, pipe or socket; not read."}
        with open(fd, "rb", buffering=0) as file:  # noqa: PTH123  a descriptor, not a path
            head = file.read(SNIFF)
            if _binary(head):
                size = os.fstat(fd).st_size
                return {
                    "is_binary": True,
                    "file_size": size,
                    "error": f"{path} is a binary file of {size} bytes.",
                }
            # A character of UTF-8 has at most four bytes; of a longer line no more is ever shown.
            page = _page(file.read, head, offset, limit, 4 * self._max_line + 4)
        keys, faithful = self._keys(page, offset)
        if faithful and page.total == len(page.lines) and page.size <= BASELINE_BYTES:
            seen.note(path, b"".join(page.lines))
        return keys

    def _keys(self, page: Page, offset: int) -> tuple[dict[str, Any], bool]:
        """The result, and whether it shows these lines just as they are in the file."""
        rows: list[str] = []
        used, clamped = 0, False
        for number, raw in enumerate(page.lines, offset):
            line = raw.removesuffix(b"\n")
            text = (line.removeprefix(BOM) if number == 1 else line).decode("utf-8", "replace")
            if len(text) > self._max_line:
                text, clamped = text[: self._max_line] + LINE_CUT, True
            row = f"{number}|{text}"
            if used + len(row) + 1 > self._max_chars and rows:
                break
            rows.append(row)
            used += len(row) + 1
        shown_to = offset + len(rows) - 1
        plain = "\n".join(rows)
        content = self._redact(plain)
        keys: dict[str, Any] = {
            "content": content,
            "total_lines": page.total,
            "file_size": page.size,
            "truncated": page.total > shown_to and bool(rows),
            "is_binary": False,
            "is_image": False,
            "not_found": False,
        }
        if clamped:
            keys["truncated_lines"] = True
        if len(rows) < len(page.lines):
            keys |= {"truncated_by": "bytes", "next_offset": shown_to + 1}
        if keys["truncated"]:
            keys["hint"] = f"{page.total - shown_to} more lines: go on with offset {shown_to + 1}."
        elif page.total == 0:
            keys["hint"] = "The file is empty."
        elif not rows:
            keys["hint"] = f"The file has only {page.total} lines."
        return keys, content == plain and not clamped and len(rows) == len(page.lines)


def _page(read: Callable[[int], bytes], head: bytes, offset: int, limit: int, widest: int) -> Page:
    """Cut lines `offset` to `offset + limit - 1` out of a stream, counting all of them.

    Of each line `widest` bytes are kept. Runs in a worker thread, and ends when its task does.
    """
    lines: list[bytes] = []
    total = size = 0
    rest = b""
    block = head
    while block:
        size += len(block)
        check_cancelled()
        whole, newline, tail = block.rpartition(b"\n")
        if not newline:
            rest += block[: max(0, widest - len(rest))]
        else:
            count = whole.count(b"\n") + 1
            if total + count >= offset and len(lines) < limit:
                start = max(0, offset - 1 - total)
                parts = (rest + whole).split(b"\n")[start : start + limit - len(lines)]
                lines += [part[:widest] + b"\n" for part in parts]
            total += count
            rest = tail[:widest]
        block = read(BLOCK)
    if rest:
        total += 1
        if total >= offset and len(lines) < limit:
            lines.append(rest)
    return Page(lines=lines, total=total, size=size)


def _binary(head: bytes) -> bool:
    if b"\0" in head:
        return True
    try:
        head.decode()
    except UnicodeDecodeError as e:
        # The sample may end inside a character; that is no sign of a binary file.
        return not (len(head) == SNIFF and e.start >= len(head) - 3)
    return False


def _whole(value: object, default: int) -> int:
    try:
        return int(value) if isinstance(value, int | float | str) else default
    except (ValueError, OverflowError):
        return default


def _missing(path: Path) -> dict[str, Any]:
    wanted = path.name.lower()
    stem = path.stem.lower()
    try:
        names = sorted(entry.name for entry in os.scandir(path.parent))
    except OSError:
        names = []
    near = [n for n in names if n.lower() == wanted or n.lower().startswith(stem)][:5]
    return {
        "error": f"{path} does not exist.",
        "not_found": True,
        "similar_files": [str(path.parent / n) for n in near],
    }
