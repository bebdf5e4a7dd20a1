"""The engine in Python: what ripgrep would find, where there is none."""

import bisect
import codecs
import re
from typing import Final, NamedTuple

import anyio.to_process

from hermes.ports.files import FileFault, Files
from hermes.tools.files.search_found import EARLY, Binary, Found, Row, Wish, held, late_binary
from hermes.tools.files.search_names import Root, Scope, listing

READ_BYTES: Final = 10 << 20
BATCH_BYTES: Final = 1 << 20


class _Source(NamedTuple):
    path: str
    data: bytes
    denied: bool


class _Answer(NamedTuple):
    rows: list[Row]
    binary: bool
    early: bool


async def search(files: Files, root: Root, at: str, wish: Wish, scope: Scope, found: Found) -> None:
    """Add to `found` what is in the file `root`, or in the folder, below `at`.

    A pattern that takes for ever is ended with the task.
    """
    regex = wish.regex.compiled(fold=wish.fold)
    paths = {"": 0}
    if root.folder:
        names = await listing(files, root, scope, times=True)
        paths = names.files
        for note in names.notes:
            found.note(note)
        found.complete = found.complete and names.complete
    batch: list[_Source] = []
    for below in sorted(paths):
        take = scope.takes(root, below)
        path, real = root.inside(below)
        if take == "no":
            continue
        try:
            data, _ = await files.read(real, limit=READ_BYTES)
        except FileFault as e:
            found.note(f"not searched: {path}: {e.reason}")
            continue
        batch.append(_Source(path, data, take == "denied"))
        if sum(len(source.data) for source in batch) > BATCH_BYTES:
            await _flush(batch, regex, wish, root, found)
            batch = []
    await _flush(batch, regex, wish, root, found)


async def _flush(
    batch: list[_Source], regex: re.Pattern[str], wish: Wish, root: Root, found: Found
) -> None:
    if not batch:
        return
    # In a process of its own: `re` cannot be stopped, and would hold all of Hermes up.
    answers = await anyio.to_process.run_sync(_searched, batch, regex, wish, cancellable=True)
    for source, answer in zip(batch, answers, strict=True):
        if answer.binary:
            if not root.folder:
                raise Binary(root.path)
            if answer.early and not source.denied and not wish.counting:
                found.note(late_binary(source.path))
            continue
        for row in answer.rows:
            if source.denied:
                found.denied += row.hit
            else:
                found.add(row)


def _searched(batch: list[_Source], regex: re.Pattern[str], wish: Wish) -> list[_Answer]:
    return [_one(source, regex, wish) for source in batch]


def _one(source: _Source, regex: re.Pattern[str], wish: Wish) -> _Answer:
    text = _decoded(source.data)
    nul = text.find("\0")
    if nul < 0:
        return _Answer(_rows(source.path, text, regex, wish), False, False)
    # ripgrep stops at a NUL, but has found what is in the part before.
    early = source.data[:EARLY]
    hits: list[Row] = []
    if b"\0" not in early and not wish.regex.spans:
        hits = _rows(source.path, _decoded(early[: early.rfind(b"\n") + 1]), regex, wish)
    return _Answer([], True, bool(hits))


def _decoded(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")


def _rows(path: str, text: str, regex: re.Pattern[str], wish: Wish) -> list[Row]:
    lines = text.removesuffix("\n").split("\n") if text else []
    hits: dict[int, int] = {}
    covered: set[int] = set()
    if wish.regex.spans:
        hits, covered = _spans(text, lines, regex)
    else:
        for n, line in enumerate(lines):
            subject = line if wish.regex.returns else line.removesuffix("\r")
            if (match := regex.search(subject)) is not None:
                hits[n] = match.start()
    near = {m for n in hits.keys() | covered for m in range(n - wish.context, n + wish.context + 1)}
    shown = sorted((near & set(range(len(lines)))) | hits.keys() | covered)
    return [held(path, n + 1, lines[n], hits.get(n)) for n in shown]


def _spans(text: str, lines: list[str], regex: re.Pattern[str]) -> tuple[dict[int, int], set[int]]:
    """The lines on which hits begin, with the place in each; and all that hits cover."""
    begins = [0]
    for line in lines[:-1]:
        begins.append(begins[-1] + len(line) + 1)
    hits: dict[int, int] = {}
    covered: set[int] = set()
    for match in regex.finditer(text):
        if match.start() == len(text) and (not text or text.endswith("\n")):
            continue
        first = bisect.bisect_right(begins, match.start()) - 1
        last = bisect.bisect_right(begins, max(match.end() - 1, match.start())) - 1
        hits.setdefault(first, match.start() - begins[first])
        covered.update(range(first + 1, last + 1))
    return hits, covered
