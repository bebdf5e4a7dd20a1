"""Lines that match: from ripgrep's machine output, else from an engine in Python.

Both give every hit below a folder, in any order; who calls them sorts and counts.
"""

import base64
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import anyio
import anyio.to_process
import msgspec

from hermes.core.errors import ToolError
from hermes.ports.files import FileFault, Files, Output
from hermes.tools.files.encoding import sniff, visible
from hermes.tools.files.globs import Glob
from hermes.tools.files.search_names import listing

KEPT: Final = 50_000
"""Hits that are kept; the rest is counted."""

READ_BYTES: Final = 10 << 20
SNIFFED: Final = 64 << 10
COMPLAINTS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What to look for. `literal` takes the pattern as text, `all_` includes hidden and ignored
    files, `glob` limits the files by their path below the root."""

    pattern: str
    glob: Glob | None = None
    context: int = 0
    literal: bool = False
    fold: bool = False
    all_: bool = False

    @property
    def multiline(self) -> bool:
        return "\n" in self.pattern or re.search(r"(?<!\\)(?:\\\\)*\\n", self.pattern) is not None

    @property
    def hidden(self) -> bool:
        return self.all_ or (self.glob is not None and self.glob.hidden)


@dataclass(frozen=True, slots=True, order=True)
class Row:
    """A line that matches, or (`hit` is false) one beside it; `at` is where in it the hit is."""

    path: str
    line: int
    text: str = field(compare=False)
    hit: bool = field(compare=False)
    at: int = field(compare=False, default=0)


@dataclass(slots=True)
class Found:
    """`counts` has all hits by path; `rows` those that were kept."""

    rows: list[Row] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    complete: bool = True

    def add(self, row: Row) -> None:
        if row.hit:
            self.counts[row.path] += 1
        if len(self.rows) < KEPT:
            self.rows.append(row)


class BadPattern(ToolError):
    """The pattern is no regular expression of this engine."""


class _Text(msgspec.Struct):
    text: str | None = None
    bytes: str | None = None

    def plain(self) -> str:
        if self.text is not None:
            return self.text
        return base64.b64decode(self.bytes or "").decode("utf-8", "surrogateescape")


class _Span(msgspec.Struct):
    start: int


class _Data(msgspec.Struct):
    path: _Text | None = None
    lines: _Text | None = None
    line_number: int | None = None
    submatches: list[_Span] = []


class _Message(msgspec.Struct):
    type: str
    data: _Data


_decode = msgspec.json.Decoder(_Message).decode


async def search(files: Files, root: str, wish: Wish, found: Found, deadline: float) -> None:
    """Add to `found` what is in the file or below the folder `root`; raises BadPattern.

    Past `deadline` it ends, and `found.complete` is false.
    """
    with anyio.move_on_at(deadline) as scope:
        async with files.ripgrep(_arguments(wish, root)) as output:
            able = output is not None and await _read(output, root, wish, found)
        if not able:
            await _python(files, root, wish, found)
    if scope.cancelled_caught:
        found.complete = False


def _arguments(wish: Wish, root: str) -> list[str]:
    arguments = ["--json", "--no-config", "--crlf"]
    if wish.literal:
        arguments.append("--fixed-strings")
    elif _needs_pcre(wish.pattern):
        arguments.append("--pcre2")
    if wish.fold:
        arguments.append("--ignore-case")
    if wish.hidden:
        arguments += ["--hidden", "--glob=!.git"]
    if wish.all_:
        arguments.append("--no-ignore")
    if wish.multiline and not wish.literal:
        arguments.append("--multiline")
    if wish.context:
        arguments.append(f"--context={wish.context}")
    return [*arguments, f"--regexp={wish.pattern}", "--", root]


def _needs_pcre(pattern: str) -> bool:
    return re.search(r"\(\?<?[=!]|\\[1-9]", pattern) is not None


async def _read(output: Output, root: str, wish: Wish, found: Found) -> bool:
    """False if this ripgrep was built without what the pattern needs."""
    rest = b""
    while piece := await output.receive():
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith((b'{"type":"match"', b'{"type":"context"')):
                _note(_decode(line), root, wish, found)
    code, said = await output.end()
    if code != 2:
        return True
    if "PCRE2 is not available" in said:
        return False
    if "regex parse error" in said or "PCRE2" in said or "the literal" in said:
        raise BadPattern(said.strip().split("\n")[-1])
    complaints = [line.removeprefix("rg: ") for line in said.split("\n") if line][:COMPLAINTS]
    found.notes += [f"not searched: {visible(c)}" for c in complaints]
    return True


def _note(message: _Message, root: str, wish: Wish, found: Found) -> None:
    data = message.data
    path = data.path.plain() if data.path else root
    below = path.removeprefix(root.rstrip("/") + "/")
    if wish.glob is not None and path != root and not wish.glob.match(below):
        return
    text = data.lines.plain() if data.lines else ""
    hit = message.type == "match"
    first = data.line_number or 1
    # Offsets are in bytes; for the window that is shown, near is good enough.
    start = data.submatches[0].start if data.submatches else 0
    for n, line in enumerate(text.removesuffix("\n").split("\n")):
        counted = hit and n == 0
        row = Row(path, first + n, line.removesuffix("\r"), hit, start if counted else 0)
        if counted or not hit:
            found.add(row)
        elif len(found.rows) < KEPT:
            found.rows.append(row)


async def _python(files: Files, root: str, wish: Wish, found: Found) -> None:
    """The same without ripgrep. A pattern that takes for ever is ended at the deadline."""
    regex = _compiled(wish)
    stat = await files.stat(root)
    if stat is not None and stat.kind == "folder":
        names = await listing(files, root, wish.glob, all_=wish.all_)
        found.notes += names.notes
        found.complete = found.complete and names.complete
        paths = [
            (f"{root.rstrip('/')}/{path}", entry.size)
            for path, entry in names.entries
            if entry.kind == "file" and (wish.glob is None or wish.glob.match(path))
        ]
    else:
        paths = [(root, 0)]
    for path, size in paths:
        if size > READ_BYTES:
            found.notes.append(f"not searched, over 10 MB: {path}")
            continue
        try:
            data, _ = await files.read(path, limit=READ_BYTES)
        except FileFault as e:
            found.notes.append(f"not searched: {e}")
            continue
        if b"\0" in data[:SNIFFED] and sniff(data[:SNIFFED], whole=False) is None:
            continue
        # In a process of its own: `re` cannot be stopped, and would hold all of Hermes up.
        rows = await anyio.to_process.run_sync(
            _rows, path, _decoded(data), regex, wish, cancellable=True
        )
        for row in rows:
            found.add(row)


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8", "surrogateescape")


def _compiled(wish: Wish) -> re.Pattern[str]:
    pattern = re.escape(wish.pattern) if wish.literal else wish.pattern
    flags = re.MULTILINE | (re.IGNORECASE if wish.fold else 0)
    if not wish.literal and re.search(r"\\[pPz]|\[\[:", pattern):
        raise ToolError(
            f"{pattern!r} needs ripgrep, which is not installed here. Use classes like [a-z]."
        )
    try:
        return re.compile(pattern, flags)
    except re.error as e:
        raise BadPattern(str(e)) from e


def _rows(path: str, text: str, regex: re.Pattern[str], wish: Wish) -> list[Row]:
    lines = text.removesuffix("\n").split("\n") if text else []
    bare = [line.removesuffix("\r") for line in lines]
    hits: dict[int, int] = {}
    extra: set[int] = set()
    if wish.multiline and not wish.literal:
        joined = "\n".join(bare)
        for match in regex.finditer(joined):
            first = joined.count("\n", 0, match.start())
            hits.setdefault(first, match.start() - (joined.rfind("\n", 0, match.start()) + 1))
            extra.update(range(first + 1, joined.count("\n", 0, max(match.end() - 1, 0)) + 1))
    else:
        for n, line in enumerate(bare):
            if (found := regex.search(line)) is not None:
                hits[n] = found.start()
    near = {m for n in hits for m in range(n - wish.context, n + wish.context + 1)} - hits.keys()
    rows = [Row(path, n + 1, bare[n], True, at) for n, at in hits.items()]
    shown = [n for n in near if 0 <= n < len(bare) and n not in extra]
    rows += [Row(path, n + 1, bare[n], False) for n in shown]
    return [*rows, *(Row(path, n + 1, bare[n], False) for n in extra - hits.keys())]


async def probes(
    files: Files,
    roots: list[str],
    wish: Wish,
    deadline: float,
    readable: Callable[[str], bool],
) -> str | None:
    """What would have been found otherwise, if nothing was; only in files that are `readable`."""
    said = []
    variants = [
        ("with another case", replace(wish, fold=True, context=0)),
        ("in hidden or ignored files", replace(wish, all_=True, context=0)),
    ]
    if not wish.literal and re.search(r"[.*+?()\[\]{}|\\^$]", wish.pattern):
        variants.append(("if the pattern is taken as plain text", replace(wish, literal=True)))
    for what, variant in variants:
        found = Found()
        try:
            for root in roots:
                await search(files, root, variant, found, deadline)
        except ToolError:
            continue
        if total := sum(count for path, count in found.counts.items() if readable(path)):
            said.append(f"{total} {what}")
    return f"Nothing matches, but there are {', '.join(said)}." if said else None
