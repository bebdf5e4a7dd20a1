"""What the ignore files in a tree hide, as ripgrep judges it.

`.rgignore`, `.ignore` and, inside a repository, `.gitignore` count, in this order; the file nearest
to a path decides among those of one name. What only this machine's git knows
(`.git/info/exclude`, the person's own ignore file) does not count, so that a tree is searched alike
everywhere.
"""

import posixpath
from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from hermes.ports.files import FileFault, Files
from hermes.tools.files.globs import IgnoreFile

NAMES: Final = (".rgignore", ".ignore", ".gitignore")
BYTES: Final = 1 << 20

RIPGREP: Final = ("--no-ignore-global", "--no-ignore-exclude", "--no-ignore-messages")
"""What makes ripgrep judge so."""


@dataclass(frozen=True, slots=True)
class _Level:
    """The rules that lie in one folder, and whether a repository begins there."""

    rules: dict[str, IgnoreFile]
    git: bool


class Ignored:
    """The verdict on canonical paths below the canonical folder `root`.

    `present`, if given, has every path below `root` that may be an ignore file or a repository's.
    """

    def __init__(self, files: Files, root: str, present: Set[str] | None = None) -> None:
        self._files = files
        self._inside = root.rstrip("/") + "/"
        self._present = present
        self._levels: dict[str, _Level] = {}
        self._verdicts: dict[str, bool] = {root: False}

    async def hides(self, path: str, *, folder: bool) -> bool:
        """Whether `path`, or a folder above it, is ignored."""
        if (known := self._verdicts.get(path)) is not None:
            return known
        verdict = await self.hides(posixpath.dirname(path), folder=True)
        verdict = verdict or await self._judge(path, folder)
        if folder:
            self._verdicts[path] = verdict
        return verdict

    async def _judge(self, path: str, folder: bool) -> bool:
        above = posixpath.dirname(path)
        levels = [(above, await self._level(above))]
        while above != "/":
            above = posixpath.dirname(above)
            levels.append((above, await self._level(above)))
        versioned = any(level.git for _, level in levels)
        for name in NAMES if versioned else NAMES[:2]:
            for place, level in levels:
                if (rules := level.rules.get(name)) is not None:
                    below = path[len(place.rstrip("/")) + 1 :]
                    if (said := rules.ignores(below, folder=folder)) is not None:
                        return said
                if level.git and name == ".gitignore":
                    break
        return False

    async def _level(self, folder: str) -> _Level:
        level = self._levels.get(folder)
        if level is None:
            rules = {name: await self._rules(folder, name) for name in NAMES}
            git = await self._there(posixpath.join(folder, ".git"))
            level = _Level({name: each for name, each in rules.items() if each}, git)
            self._levels[folder] = level
        return level

    async def _rules(self, folder: str, name: str) -> IgnoreFile | None:
        path = posixpath.join(folder, name)
        if not await self._there(path):
            return None
        try:
            data, _ = await self._files.read(path, limit=BYTES)
        except FileFault:
            return None
        return IgnoreFile(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape"))

    async def _there(self, path: str) -> bool:
        if self._present is not None and path.startswith(self._inside):
            return path in self._present
        try:
            return await self._files.stat(path) is not None
        except FileFault:
            return False
