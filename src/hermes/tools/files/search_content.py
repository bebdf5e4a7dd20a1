"""Lines that match, from ripgrep; where there is none, or it lacks what is needed, from Python."""

import base64
import os
from dataclasses import dataclass, field
from typing import Final

import anyio
import msgspec

from hermes.ports.files import Files, Output
from hermes.tools.files import search_python
from hermes.tools.files.search_found import EARLY, Binary, Found, Row, Wish, held, late_binary
from hermes.tools.files.search_names import Root, Scope, complaints, filters, records, start
from hermes.tools.files.search_regex import BadPattern

PATHS: Final = 500
"""How many files ripgrep is given by name at once."""


class _Text(msgspec.Struct):
    text: str | None = None
    bytes: str | None = None

    def plain(self) -> str:
        if self.text is not None:
            return self.text
        return base64.b64decode(self.bytes or "").decode("utf-8", "surrogateescape")


class _Span(msgspec.Struct):
    start: int
    end: int


class _Data(msgspec.Struct):
    path: _Text | None = None
    lines: _Text | None = None
    line_number: int | None = None
    absolute_offset: int = 0
    binary_offset: int | None = None
    submatches: list[_Span] = []


class _Message(msgspec.Struct):
    type: str
    data: _Data


_decode = msgspec.json.Decoder(_Message).decode


async def search(
    files: Files, roots: list[Root], wish: Wish, scope: Scope, deadline: float
) -> Found:
    """What is in the files or below the folders `roots`.

    Past `deadline` it ends, and `complete` is false. Raises BadPattern, and Binary if there is one
    root, which is no text.
    """
    found = Found()
    with anyio.move_on_at(deadline) as inside:
        for root in roots:
            try:
                await _below(files, root, wish, scope, found)
            except Binary as e:
                if len(roots) == 1:
                    raise
                found.note(e.message)
    if inside.cancelled_caught:
        found.complete = False
    return found


async def _below(files: Files, root: Root, wish: Wish, scope: Scope, found: Found) -> None:
    at = await start(files, root, scope)
    if at is None:
        return
    # For a file that was named, numbers alone do not tell whether it is binary.
    counting = wish.counting and root.folder and not wish.regex.spans
    arguments = [*_arguments(wish, counting), *filters(scope), f"--regexp={wish.regex.rust}", "--"]
    reader = _Reader(root, wish, scope, found)
    before = found.counts.total() + found.denied
    async with files.ripgrep([*arguments, root.inside(at)[0]]) as output:
        able = output is not None and await (
            reader.numbers(output) if counting else reader.lines(output)
        )
    if not able:
        await search_python.search(files, root, at, wish, scope, found)
    elif root.folder and wish.regex.spans:
        await _drop_binary(files, root, found)
    elif not root.folder:
        unsure = wish.regex.spans or before == found.counts.total() + found.denied
        if unsure and await _with_nul(files, [root.path]):
            raise Binary(root.path)


def _arguments(wish: Wish, counting: bool) -> list[str]:
    arguments = ["--count", "--null", "--with-filename"] if counting else ["--json", "--no-mmap"]
    if not wish.regex.returns:
        arguments.append("--crlf")
    if wish.regex.looks:
        arguments.append("--pcre2")
    if wish.fold:
        arguments.append("--ignore-case")
    if wish.regex.spans:
        # Over lines it would look for a NUL in some places only; see `_drop_binary`.
        arguments += ["--multiline", "--text"]
    if wish.context and not counting:
        arguments.append(f"--context={wish.context}")
    return arguments


async def _drop_binary(files: Files, root: Root, found: Found) -> None:
    """Take out what was found over lines in binary files below `root`."""
    paths = [path for path in found.counts if path.startswith(root.path)]
    for at in range(0, len(paths), PATHS):
        binary = await _with_nul(files, paths[at : at + PATHS])
        found.rows = [row for row in found.rows if row.path not in binary]
        for path in binary:
            del found.counts[path]


async def _with_nul(files: Files, paths: list[str]) -> set[str]:
    """Those of `paths` that have a NUL byte in them."""
    arguments = ["--no-config", "--text", "--files-with-matches", "--null", r"--regexp=\x00"]
    async with files.ripgrep([*arguments, "--", *paths]) as output:
        if output is None:
            return set()
        return {os.fsdecode(name) async for name in records(output)}


@dataclass(slots=True)
class _Reader:
    """Takes what ripgrep says about one root; its files come one after the other."""

    root: Root
    wish: Wish
    scope: Scope
    found: Found
    path: str = ""
    take: str = "no"
    rows: list[Row] = field(default_factory=list)
    early: bool = False
    beyond: bool = False
    uncounted: int = 0

    async def numbers(self, output: Output) -> bool:
        """Paths and their counts; False if this ripgrep lacks what the pattern needs."""
        rest = b""
        while piece := await output.receive():
            *lines, rest = (rest + piece).split(b"\n")
            joined = b""
            for line in lines:
                # A name may hold newlines, a number none.
                joined += line
                name, ended, number = joined.partition(b"\0")
                if not ended:
                    joined += b"\n"
                    continue
                joined = b""
                self._count(os.fsdecode(name), int(number))
            rest = joined + rest
        return await self._ended(output)

    def _count(self, path: str, number: int) -> None:
        self.path = path
        self.take = self.scope.takes(self.root, self.root.below(path))
        self._add(number)

    def _add(self, number: int) -> None:
        """Count hits in the file whose rows are not wanted."""
        if self.take == "yes":
            self.found.counts[self.path] += number
        elif self.take == "denied":
            self.found.denied += number

    async def lines(self, output: Output) -> bool:
        """Lines, as JSON; False if this ripgrep lacks what the pattern needs."""
        async for line in records(output, b"\n"):
            if line.startswith(b'{"type":"begin"'):
                self._begin(_decode(line).data)
            elif self.take == "no" or line.startswith(b'{"type":"summary"'):
                continue
            elif self.beyond and not line.startswith(b'{"type":"end"'):
                # Its rows would not be kept, so a number is enough.
                self.uncounted += line.startswith(b'{"type":"match"')
            elif line.startswith(b'{"type":"end"'):
                self._end(_decode(line).data)
            else:
                self._lines(_decode(line))
        return await self._ended(output)

    def _begin(self, data: _Data) -> None:
        self.path = data.path.plain() if data.path else self.root.path
        below = self.root.below(self.path) if self.root.folder else ""
        self.take = self.scope.takes(self.root, below)
        self.rows = []
        self.early = False
        self.uncounted = 0
        single = self.root.folder and not self.wish.regex.spans
        self.beyond = single and self.found.past(self.path)

    def _end(self, data: _Data) -> None:
        if data.binary_offset is not None:
            if not self.root.folder:
                raise Binary(self.path)
            if self.early and self.take == "yes" and data.binary_offset >= EARLY:
                self.found.note(late_binary(self.path))
            return
        if self.uncounted:
            self._add(self.uncounted)
        for row in self.rows:
            if self.take == "denied":
                self.found.denied += row.hit
            else:
                self.found.add(row)

    def _lines(self, message: _Message) -> None:
        data = message.data
        raw = data.lines.plain() if data.lines else ""
        first = data.line_number or 1
        hit = message.type == "match"
        self.early |= hit and data.absolute_offset + _size(raw) <= EARLY
        texts = raw.removesuffix("\n").split("\n")
        if not hit:
            self.rows += [held(self.path, first + n, text, None) for n, text in enumerate(texts)]
            return
        starts = _starts(raw, texts, data.submatches)
        rows = [held(self.path, first + n, text, starts.get(n)) for n, text in enumerate(texts)]
        self.rows += rows

    async def _ended(self, output: Output) -> bool:
        code, said = await output.end()
        if code != 2:
            return True
        if "PCRE2 is not available" in said:
            return False
        wrong = ("regex parse error", "PCRE2: error", "the literal", "exceeds size limit")
        if any(each in said for each in wrong):
            raise BadPattern(said.strip().split("\n")[-1].removeprefix("rg: "))
        for each in complaints(said):
            self.found.note(each)
        return True


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def _starts(raw: str, texts: list[str], spans: list[_Span]) -> dict[int, int]:
    """The lines on which hits begin, each with the place in it, in characters."""
    if len(texts) == 1:
        return {0: _characters(raw, spans[0].start) if spans else 0}
    found: dict[int, int] = {}
    n, begin = 0, 0
    sizes = [_size(text) + 1 for text in texts]
    for span in spans:
        while n + 1 < len(texts) and span.start >= begin + sizes[n]:
            begin += sizes[n]
            n += 1
        if n not in found:
            found[n] = _characters(texts[n], span.start - begin)
    return found or {0: 0}


def _characters(text: str, size: int) -> int:
    """How many characters of `text` its first `size` bytes are."""
    if text.isascii():
        return size
    return len(text.encode("utf-8", "surrogateescape")[:size].decode("utf-8", "surrogateescape"))
