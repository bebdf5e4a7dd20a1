"""`read_file`: a page of a text file or document with line numbers.

Keys and numbers follow the reference's contract.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio

from hermes.core.errors import ToolError
from hermes.ports.files import SNIFF_BYTES, FileFault, Files, Page
from hermes.ports.tool import Arguments, SessionState, ToolContext, ToolOutput
from hermes.safety.paths import PathPolicy
from hermes.tools.files.documents import DOCUMENT_BYTES, EXTENSIONS, document_text
from hermes.tools.files.encoding import Encoding, sniff, visible
from hermes.tools.files.misses import Misses
from hermes.tools.files.notebooks import notebook_text
from hermes.tools.files.path_locks import PathLocks
from hermes.tools.files.place import locate
from hermes.tools.files.read_kinds import BINARY, IMAGES, extension, magic, refused_name
from hermes.tools.files.read_names import near
from hermes.tools.files.read_page import Limits, View, decoded, span, view
from hermes.tools.files.read_repeats import Repeats, Version
from hermes.tools.files.seen import UNCHANGED, SeenFiles
from hermes.tools.files.specs import READ_FILE

T = TypeVar("T")

WIDE_BYTES: Final = 10 << 20
"""The largest file of UTF-16 or UTF-32, whose lines are found only by decoding all of it."""

INLINE_BYTES: Final = 16 << 10
"""A page of ASCII up to this size costs less than the way to another thread and back."""

BIG_FILE: Final = 512_000
BIG_PAGE: Final = 200


class ReadFile:
    """See `specs.READ_FILE`. Sizes are characters; `redact` masks secrets after the page is cut."""

    spec = READ_FILE

    def __init__(
        self,
        files: Files,
        policy: PathPolicy,
        redact: Callable[[str], str],
        *,
        locks: PathLocks,
        max_lines: int,
        max_line: int,
        max_chars: int,
    ) -> None:
        self._files = files
        self._policy = policy
        self._redact = redact
        self._locks = locks
        self._limits = Limits(lines=max_lines, line=max_line, chars=max_chars)

    async def touches(self, arguments: Arguments, state: SessionState) -> tuple[str, ...]:
        return (str(await locate(self._files, arguments.get("path"), state.cwd)),)

    def summary(self, arguments: Arguments) -> str:
        return str(arguments.get("path"))

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        path = await locate(self._files, arguments.get("path"), context.state.cwd)
        reading = _Reading(
            files=self._files,
            policy=self._policy,
            redact=self._redact,
            limits=self._limits,
            context=context,
            raw=str(arguments.get("path")),
            offset=max(1, _whole(arguments.get("offset"), 1)),
            limit=min(
                max(1, _whole(arguments.get("limit"), self._limits.lines)), self._limits.lines
            ),
        )
        try:
            async with self._locks.reading(str(path)):
                keys = await reading.of(path)
            if keys.get("not_found"):
                keys = await self._variant(reading, path, keys)
        except FileFault as e:
            keys = {"error": f"{path} cannot be read: {e.reason}."}
        except ToolError as e:
            keys = {"error": str(e)}
        failed = "error" in keys or keys.get("success") is False
        return ToolOutput(
            content=json.dumps(keys, ensure_ascii=False), outcome="failed" if failed else "ok"
        )

    async def _variant(
        self, reading: "_Reading", path: Path, keys: dict[str, Any]
    ) -> dict[str, Any]:
        """The one file whose name is the same to a person's eye, or what is near."""
        found = await near(self._files, path)
        if found.same is None:
            if found.similar:
                keys["similar_files"] = found.similar
            return keys
        same = await locate(self._files, str(found.same), reading.context.state.cwd)
        async with self._locks.reading(str(same)):
            keys = await reading.of(same)
        if "content" in keys and not keys.get("not_found"):
            _hint(keys, f"Its name is really {found.same.name!a}: use {found.same}.")
        return keys


class _Reading:
    """One call, whatever file it turns out to be of."""

    def __init__(
        self,
        *,
        files: Files,
        policy: PathPolicy,
        redact: Callable[[str], str],
        limits: Limits,
        context: ToolContext,
        raw: str,
        offset: int,
        limit: int,
    ) -> None:
        self._files = files
        self._policy = policy
        self._redact = redact
        self._limits = limits
        self.context = context
        self._raw = raw
        self._offset = offset
        self._limit = limit
        self._repeats = context.state.of(Repeats)

    async def of(self, path: Path) -> dict[str, Any]:
        """The keys of the result; `not_found` if there is nothing at `path`."""
        if why := refused_name(self._raw, self.context.state.cwd, path):
            return {"error": f"{self._raw} was not read: it {why}."}
        if why := self._policy.unreadable(path):
            return {"error": f"{path} was not read: {why}."}
        kind = extension(path)
        try:
            if kind in EXTENSIONS or kind == "ipynb":
                found = await self._document(path, kind)
                if found is not None:
                    return found
            elif kind in BINARY:
                return await self._by_extension(path, kind)
            first, count = span(self._offset, self._limit)
            page = await self._files.page(
                str(path), first=first, lines=count, width=self._limits.width
            )
        except FileFault as e:
            return await self._fault(path, e)
        return await self._text(path, page, first)

    async def _fault(self, path: Path, fault: FileFault) -> dict[str, Any]:
        if fault.code in ("missing", "not_a_folder"):
            return _nothing(0) | {"error": f"{path} does not exist.", "not_found": True}
        if fault.code != "not_a_file":
            raise fault
        stat = await self._files.stat(str(path))
        if stat is not None and stat.kind == "folder":
            why = f"{path} is a folder, not a file. search_files with target files lists it."
            return _nothing(0) | {"error": why}
        kind = "no file" if stat is None else f"a {stat.kind}"
        return {"success": False, "note": f"{path} is {kind}; only files are read."}

    async def _by_extension(self, path: Path, kind: str) -> dict[str, Any]:
        stat = await self._files.stat(str(path))
        if stat is None:
            raise FileFault("missing", str(path), "does not exist")
        if stat.kind != "file":
            raise FileFault("not_a_file", str(path), "is not a file")
        what = "an image" if kind in IMAGES else "a binary file by its name"
        why = f"{path} is {what} ({stat.size} bytes); read_file reads text and documents."
        return {"error": why}

    async def _text(self, path: Path, page: Page, first: int) -> dict[str, Any]:
        if page.head.isascii() and b"\0" not in page.head:
            encoding = sniff(page.head, page.size <= SNIFF_BYTES)
        else:
            encoding = await anyio.to_thread.run_sync(
                sniff, page.head, page.size <= SNIFF_BYTES, abandon_on_cancel=True
            )
        if encoding is None:
            what = magic(page.head) or "binary file"
            why = f"{path} is not text: {what} of {page.size} bytes."
            return _nothing(page.size) | {"is_binary": True, "error": why}
        version: Version = page.sha256 or (page.stat.identity if page.stat.settled else None)
        if repeated := self._repeated(path, version):
            return repeated
        if encoding.wide:
            return await self._wide(path, encoding, version)
        empty = page.size == len(encoding.bom)
        found = await self._work(
            sum(map(len, page.lines)),
            lambda: self._view([] if empty else decoded(page.lines, encoding, first), first),
        )
        total = 0 if empty else page.total
        keys = self._keys(found, total, page.size)
        if encoding.codec != "utf-8":
            _hint(keys, f"Its encoding is {encoding.name}.")
        self._remember(path, found, total, page.sha256)
        return self._counted(path, version, keys)

    async def _wide(self, path: Path, encoding: Encoding, version: Version) -> dict[str, Any]:
        try:
            data, _ = await self._files.read(str(path), limit=WIDE_BYTES)
        except FileFault as e:
            if e.code != "too_large":
                raise
            raise ToolError(
                f"{path} is {encoding.name} and larger than {WIDE_BYTES >> 20} MiB, which is not "
                "read by pages. Convert it to UTF-8 with a command first."
            ) from e
        try:
            text = await self._work(len(data), lambda: visible(encoding.decode(data)))
        except UnicodeDecodeError as e:
            raise ToolError(f"{path} begins as {encoding.name} and is none: {e.reason}.") from e
        lines = _lines(text)
        found = await self._work(len(data), lambda: self._view(lines, 1))
        keys = self._keys(found, len(lines), len(data))
        _hint(keys, f"Its encoding is {encoding.name}.")
        self._remember(path, found, len(lines), hashlib.sha256(data).digest())
        return self._counted(path, version, keys)

    async def _document(self, path: Path, kind: str) -> dict[str, Any] | None:
        """The text of a document; None for a notebook that is none."""
        try:
            data, _ = await self._files.read(str(path), limit=DOCUMENT_BYTES)
        except FileFault as e:
            if e.code != "too_large":
                raise
            raise ToolError(
                f"{path} was not read: documents are read up to {DOCUMENT_BYTES >> 20} MiB."
            ) from e
        version = await self._work(len(data), lambda: hashlib.sha256(data).digest())
        if repeated := self._repeated(path, version):
            return repeated
        if kind == "ipynb":
            text = await self._work(len(data), lambda: notebook_text(data))
            if text is None:
                return None
        else:
            text = await document_text(str(path), data)
        lines = _lines(visible(text))
        found = await self._work(len(text), lambda: self._view(lines, 1))
        keys = self._keys(found, len(lines), len(data))
        for name in ("is_binary", "is_image", "not_found"):
            del keys[name]
        keys["extracted_document"] = True
        return self._counted(path, version, keys)

    def _view(self, lines: list[str], first: int) -> View:
        return view(
            lines,
            first=first,
            offset=self._offset,
            limit=self._limit,
            limits=self._limits,
            redact=self._redact,
        )

    async def _work(self, size: int, work: Callable[[], T]) -> T:
        """What `work` gives, in another thread if it is much."""
        if size <= INLINE_BYTES:
            return work()
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)

    def _keys(self, found: View, total: int, size: int) -> dict[str, Any]:
        last = found.lines.stop - 1
        more = bool(found.lines) and last < total
        keys: dict[str, Any] = _nothing(size)
        keys |= {"content": found.content, "total_lines": total, "truncated": more}
        if found.cut:
            keys["truncated_lines"] = True
        if found.full:
            keys |= {"truncated_by": "bytes", "next_offset": last + 1}
        if more:
            _hint(keys, f"{total - last} more lines: go on with offset {last + 1}.")
        elif total == 0:
            _hint(keys, "The file is empty.")
        elif not found.lines:
            _hint(keys, f"The file has only {total} lines.")
        notes: list[str] = []
        if more and size > BIG_FILE and self._limit > BIG_PAGE:
            notes.append("A big file: search_files finds the lines to read with offset and limit.")
        if found.conflicts:
            keys["conflict_blocks"] = found.conflicts
            notes.append("There are unresolved merge conflicts in these lines.")
        if notes:
            keys["_hint"] = " ".join(notes)
        return keys

    def _remember(self, path: Path, found: View, total: int, sha256: bytes | None) -> None:
        state = self.context.state
        state.of(Misses).clear(str(path))
        if found.lines or total == 0:
            state.of(SeenFiles).note_lines(
                path, sha256, found.lines, total=total, cut=found.cut, masked=found.masked
            )

    def _repeated(self, path: Path, version: Version) -> dict[str, Any] | None:
        """The answer to a read whose text the model has before it, or None."""
        if self.context.nested:
            return None
        asked = self._repeats.asked((path, self._offset, self._limit), self.context.turn, version)
        if asked == 1:
            return None
        if asked > 2:
            return self._refusal(path, asked)
        return {
            "status": "unchanged",
            "message": UNCHANGED,
            "path": self._raw,
            "dedup": True,
            "content_returned": False,
        }

    def _refusal(self, path: Path, times: int) -> dict[str, Any]:
        why = (
            f"You have asked {times} times for these lines of {path} in this turn, and they did "
            "not change. Use what you were shown; if it does not help, look somewhere else."
        )
        return {
            "error": why,
            "path": self._raw,
            "already_read": times,
            "guardrail_refusal": True,
        }

    def _counted(self, path: Path, version: Version, keys: dict[str, Any]) -> dict[str, Any]:
        """`keys`, unless the same lines came up too often in a row."""
        if self.context.nested:
            return keys
        key = (path, self._offset, self._limit)
        told = f"{keys['total_lines']} {keys['file_size']} {keys['content']}"
        times = self._repeats.shown(key, self.context.turn, version, told)
        if times > 3:
            return self._refusal(path, times)
        if times == 3:
            keys["_warning"] = "These lines are the same as the two times before."
        return keys


def _lines(text: str) -> list[str]:
    """`text` in lines as files are counted: the last newline begins none."""
    return text.removesuffix("\n").split("\n") if text else []


def _nothing(size: int) -> dict[str, Any]:
    return {
        "content": "",
        "total_lines": 0,
        "file_size": size,
        "truncated": False,
        "is_binary": False,
        "is_image": False,
        "not_found": False,
    }


def _hint(keys: dict[str, Any], text: str) -> None:
    keys["hint"] = f"{keys['hint']} {text}" if "hint" in keys else text


def _whole(value: object, default: int) -> int:
    try:
        return int(value) if isinstance(value, int | float | str) else default
    except (ValueError, OverflowError):
        return default
