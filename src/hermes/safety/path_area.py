"""A set of paths: some roots with all below them, and patterns of names."""

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, final

WILD: Final = re.compile(r"[*?[]")


@final
class Area:
    """Paths for which one rule holds, and `reason`, which completes "it was not written: ...".

    `roots` are absolute and canonical, and stand for all below them. `patterns` are `fnmatch`
    patterns: for a whole path if they begin with `/`, else for the last parts of one; letters match
    in either case. What is below one of `but` is not part of it.
    """

    def __init__(
        self,
        reason: str,
        *,
        roots: tuple[Path, ...] = (),
        patterns: tuple[str, ...] = (),
        but: tuple[Path, ...] = (),
    ) -> None:
        self.reason = reason
        self.roots = roots
        self.patterns = patterns
        self.but = but
        self._roots = frozenset(map(str, roots))
        self._but = frozenset(map(str, but))
        self._names = _Names(patterns)

    def holds(self, path: Path) -> bool:
        """Whether the canonical `path` is one of these."""
        text = str(path)
        above = upwards(text)
        if not self._but.isdisjoint(above):
            return False
        return not self._roots.isdisjoint(above) or self._names.match(text.casefold())

    def lies(self, path: str, above: list[str]) -> bool:
        """Whether the canonical `path` is one of these by where it lies, whatever its name; `above`
        is `upwards(path)`, which is the same for every area."""
        if not self._but.isdisjoint(above):
            return False
        return not self._roots.isdisjoint(above) or self._names.lies(path.casefold())


class _Names:
    """Patterns, sorted by how they can be told quickly: a search asks about every file."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        last: list[str] = []
        tails: list[str] = []
        self._inside: list[str] = []
        self._globs: list[str] = []
        self._whole: list[tuple[str, str]] = []
        for pattern in map(str.casefold, patterns):
            stem = pattern.removesuffix("/*")
            if pattern.startswith("/"):
                self._whole.append((WILD.split(pattern)[0], pattern))
            elif WILD.search(stem):
                self._globs.append(f"*/{pattern}")
            elif stem != pattern:
                self._inside.append(f"/{stem}/")
            elif "/" in pattern:
                tails.append(f"/{pattern}")
            else:
                last.append(pattern)
        self._last = frozenset(last)
        self._tails = tuple(tails)
        self._starts = tuple({start for start, _ in self._whole})

    def match(self, path: str) -> bool:
        return (
            path[path.rfind("/") + 1 :] in self._last
            or path.endswith(self._tails)
            or any(part in path for part in self._inside)
            or any(fnmatchcase(path, glob) for glob in self._globs)
            or self.lies(path)
        )

    def lies(self, path: str) -> bool:
        return path.startswith(self._starts) and any(
            path.startswith(start) and fnmatchcase(path, g) for start, g in self._whole
        )


def below(folders: Iterable[Path], names: Iterable[str]) -> tuple[Path, ...]:
    """Each of `names` in each of `folders`, and where it leads to if it is a link."""
    wanted = tuple(names)
    paths = [os.path.join(folder, name) for folder in folders for name in wanted]  # noqa: PTH118
    return tuple(map(Path, dict.fromkeys([*paths, *real(paths)])))


def real(paths: Iterable[str]) -> Iterator[str]:
    """Where each of `paths` leads to, as `os.path.realpath` has it, in a tenth of the time: those
    of one folder share the way there."""
    known: dict[str, str] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        if folder not in known:
            known[folder] = os.path.realpath(folder or "/").rstrip("/")
        there = f"{known[folder]}/{name}"
        yield os.path.realpath(there) if os.path.islink(there) else there  # noqa: PTH114


def anywhere_in(folder: Path, names: Iterable[str]) -> tuple[str, ...]:
    """Patterns for each of `names`, and all below it, in each folder that is in `folder`."""
    start = re.sub(r"([*?[])", r"[\1]", str(folder))
    return tuple(f"{start}/*/{name}{tail}" for name in names for tail in ("", "/*"))


def upwards(path: str) -> list[str]:
    """`path` itself and every folder above it."""
    found = [path, "/"]
    end = path.rfind("/")
    while end > 0:
        found.append(path[:end])
        end = path.rfind("/", 0, end)
    return found
