"""Watching paths that a sandbox could not cover, because they were not there when it was made."""

# ruff: noqa: PTH112, PTH116, PTH120
# Paths are strings: hundreds are looked at, and pathlib takes ten times as long.

import os
import time
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct, field

from hermes.terminals.sandbox.plan import leads_to

TICK: Final = 0.05
"""Seconds in which a folder may change twice without its time of change telling; the kernel's clock
for files has ticks of 10 ms at most."""


class _Folder(Struct):
    """A folder, and the paths whose nearest existing folder it is. `seen` is what it was when they
    were looked at; `changed` is when that was not what it had been before, 0.0 once that is so long
    ago that another change would tell."""

    paths: list[str] = field(default_factory=list)
    seen: tuple[int, int, int] | None = None
    changed: float = 0.0


class Late:
    """Paths, and for each what `leads_to` said of it when the sandbox was made."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths
        self._came: set[str] = set()
        self._folders: dict[str, _Folder] = {}
        self._sort(paths)

    def appeared(self) -> tuple[str, ...]:
        """Those that have come to be, or lead elsewhere now. A few microseconds for each folder."""
        now = time.monotonic()
        for name in tuple(self._folders):
            self._look(name, now)
        return tuple(sorted(self._came))

    def _look(self, name: str, now: float) -> None:
        folder = self._folders[name]
        try:
            at = os.stat(name)
            seen = (at.st_dev, at.st_ino, at.st_ctime_ns)
        except OSError:
            seen = None
        if seen is None or seen != folder.seen:
            folder.seen, folder.changed = seen, now
        elif not folder.changed:
            return  # Nothing came into it.
        elif now - folder.changed > TICK:
            folder.changed = 0.0
        for path in folder.paths:
            (self._came.discard if leads_to(path) == self._paths[path] else self._came.add)(path)
        if elsewhere := [path for path in folder.paths if _above(path) != name]:
            folder.paths = [path for path in folder.paths if path not in elsewhere]
            self._sort(elsewhere)

    def _sort(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._folders.setdefault(_above(path), _Folder()).paths.append(path)


def _above(path: str) -> str:
    """The nearest folder above `path` that is there."""
    folder = os.path.dirname(path)
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder
