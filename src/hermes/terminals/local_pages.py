"""Pages of files of any size: where each line begins is counted once per version of a file."""

import hashlib
import os
from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from anyio.from_thread import check_cancelled

from hermes.core.clock import Clock
from hermes.ports.files import DIGEST_BYTES, SNIFF_BYTES, FileFault, Page
from hermes.terminals.local_stat import fault, file_stat, identity, open_regular

BLOCK: Final = 256 << 10
REMEMBERED: Final = 64
"""Files whose lines stay counted; a 100 MB file takes 400 numbers."""

PSEUDO_BYTES: Final = 64 << 20
"""How much of a file that says it is empty (as those of /proc do) is read at most."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The line count of one version of a file: `before[n]` newlines stand before block `n`; the
    last number is that of all newlines."""

    before: tuple[int, ...]
    size: int
    ended: bool
    sha256: bytes | None

    @property
    def total(self) -> int:
        return self.before[-1] + (0 if self.ended else 1)


class Pages:
    """Cuts pages; remembers the line counts of files that have not changed since."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[tuple[int, ...], Lines] = OrderedDict()

    def page(self, path: str, *, first: int, lines: int, width: int) -> Page:
        """See `ports.files.Files.page`; blocks on the disk, and ends when its task is cancelled."""
        fd = open_regular(path)
        try:
            before = os.fstat(fd)
            key = identity(before)
            source = _Descriptor(fd, before.st_size) if before.st_size else _pseudo(fd, path)
            counted = self._known.get(key) if before.st_size else None
            if counted is None:
                counted = _count(source)
            cut = _cut(source, counted, first, lines, width)
            head = source.at(0, SNIFF_BYTES)
            stat = file_stat(before, self._clock)
            if counted.size < before.st_size or os.fstat(fd).st_size < before.st_size:
                raise FileFault("changed", path, "was cut shorter while it was read")
            if stat.settled and before.st_size and identity(os.fstat(fd)) == key:
                self._remember(key, counted)
        except OSError as e:
            raise fault(path, e) from e
        finally:
            os.close(fd)
        return Page(
            lines=cut,
            total=counted.total,
            size=counted.size,
            head=head,
            ended=counted.ended,
            sha256=counted.sha256,
            stat=stat,
        )

    def _remember(self, key: tuple[int, ...], counted: Lines) -> None:
        self._known[key] = counted
        self._known.move_to_end(key)
        while len(self._known) > REMEMBERED:
            # Another worker thread may have been here first.
            self._known.pop(next(iter(self._known)), None)


class _Descriptor:
    """An open file's first `size` bytes: what is appended while it is read belongs to the next
    version."""

    def __init__(self, fd: int, size: int) -> None:
        self._fd = fd
        self.size = size

    def at(self, offset: int, size: int) -> bytes:
        return os.pread(self._fd, max(0, min(size, self.size - offset)), offset)


class _Memory:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def at(self, offset: int, size: int) -> bytes:
        return self._data[offset : offset + size]


_Source = _Descriptor | _Memory


def _pseudo(fd: int, path: str) -> _Memory:
    blocks: list[bytes] = []
    size = 0
    while block := os.read(fd, BLOCK):
        blocks.append(block)
        size += len(block)
        check_cancelled()
        if size > PSEUDO_BYTES:
            raise FileFault("too_large", path, "has no end that could be found")
    return _Memory(b"".join(blocks))


def _count(source: _Source) -> Lines:
    counts: list[int] = []
    last = b"\n"
    size = 0
    digest = hashlib.sha256() if source.size <= DIGEST_BYTES else None
    while block := source.at(size, BLOCK):
        counts.append(block.count(b"\n"))
        last = block[-1:]
        size += len(block)
        if digest is not None:
            digest.update(block)
        check_cancelled()
    return Lines(
        before=tuple(accumulate(counts, initial=0)),
        size=size,
        ended=last == b"\n",
        sha256=None if digest is None else digest.digest(),
    )


def _cut(source: _Source, counted: Lines, first: int, lines: int, width: int) -> tuple[bytes, ...]:
    """The lines asked for. Memory holds one block and `lines` times `width` bytes."""
    count = min(lines, counted.total - first + 1)
    if count <= 0:
        return ()
    offset = _start(source, counted, first)
    cut: list[bytes] = []
    rest = b""
    while len(cut) < count:
        block = source.at(offset, BLOCK)
        if not block:
            cut.append(rest)
            break
        offset += len(block)
        check_cancelled()
        *whole, tail = block.split(b"\n")
        if whole:
            whole[0] = (rest + whole[0])[:width]
            cut += [line[:width] for line in whole[: count - len(cut)]]
            rest = b""
        rest = (rest + tail[:width])[:width]
        if len(cut) == count - 1 and len(rest) == width:
            # The last line that is wanted is as wide as it may be: its end need not be found.
            cut.append(rest)
    return tuple(cut)


def _start(source: _Source, counted: Lines, line: int) -> int:
    """Where `line` begins: after as many newlines as there are lines before it."""
    if line == 1:
        return 0
    newlines = line - 1
    block = bisect_left(counted.before, newlines) - 1
    data = source.at(block * BLOCK, BLOCK)
    at = -1
    for _ in range(newlines - counted.before[block]):
        at = data.find(b"\n", at + 1)
    return block * BLOCK + at + 1
