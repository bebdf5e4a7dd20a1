"""Which files this session knows whole, by content: an overwrite of anything else is refused."""

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

Knowledge = Literal["whole", "partial", "redacted", "never"]

UNKNOWN: Final[dict[Knowledge, str]] = {
    "partial": "you have seen only a part of it: read the rest with read_file first.",
    "redacted": "it holds secrets that you were not shown, which would be lost. Change only the "
    "parts that you know, with patch.",
    "never": "you have not read it: read it in full with read_file first.",
}
"""Why a file is not known whole, and what to do about it."""

UNCHANGED: Final = "Nothing has changed here since you read it earlier in this turn; see there."
"""What `read_file` says instead of text that the model has before it."""

FILES: Final = 1_000
RANGES: Final = 256


@dataclass(slots=True)
class _Known:
    """Lines seen of one version of a file; `ranges` are in order and do not touch."""

    version: bytes
    whole: bool = False
    masked: bool = False
    total: int = 0
    ranges: list[range] = field(default_factory=list)

    def add(self, lines: range) -> None:
        start, stop = lines.start, lines.stop
        apart: list[range] = []
        for known in self.ranges:
            if known.stop < start or stop < known.start:
                apart.append(known)
            else:
                start, stop = min(start, known.start), max(stop, known.stop)
        self.ranges = sorted([*apart, range(start, stop)], key=lambda r: r.start)[:RANGES]

    @property
    def covered(self) -> bool:
        return self.total == 0 or range(1, self.total + 1) in self.ranges


class SeenFiles:
    """What a model read, or wrote itself, by canonical path and sha256 of the file."""

    def __init__(self) -> None:
        self._known: OrderedDict[Path, _Known] = OrderedDict()

    def note(self, path: Path, sha256: bytes) -> None:
        """Remember that the model knows `path` to hold exactly the data with this hash."""
        self._keep(path, _Known(sha256, whole=True))

    def note_lines(
        self,
        path: Path,
        sha256: bytes | None,
        lines: range,
        *,
        total: int,
        cut: Collection[int],
        masked: bool,
    ) -> None:
        """Remember that the model was shown `lines` (numbers from 1) of `total`.

        Those in `cut` it saw only the beginning of; `masked` tells that secrets were hidden. A
        file without `sha256` is too large to be known by its pages.
        """
        if sha256 is None:
            if path not in self._known:
                self._keep(path, _Known(b"", total=max(total, 1)))
            return
        known = self._known.get(path)
        if known is None or known.version != sha256:
            known = _Known(sha256)
            self._keep(path, known)
        if known.whole:
            return
        known.total = total
        known.masked = known.masked or masked
        start = lines.start
        for number in sorted(cut):
            if start < number:
                known.add(range(start, number))
            start = number + 1
        if start < lines.stop:
            known.add(range(start, lines.stop))
        known.whole = known.covered and not known.masked

    def knows(self, path: Path, sha256: bytes) -> bool:
        """Does the model know that `path` holds exactly the data with this hash?"""
        known = self._known.get(path)
        return known is not None and known.whole and known.version == sha256

    def state(self, path: Path) -> Knowledge:
        """How much of `path`, as it was when last seen, the model knows."""
        known = self._known.get(path)
        if known is None:
            return "never"
        if known.whole:
            return "whole"
        return "redacted" if known.masked and known.covered else "partial"

    def _keep(self, path: Path, known: _Known) -> None:
        self._known[path] = known
        self._known.move_to_end(path)
        while len(self._known) > FILES:
            self._known.popitem(last=False)
