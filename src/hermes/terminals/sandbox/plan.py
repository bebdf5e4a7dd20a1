"""What a sandbox shows of the file system, made from the path policy and the level.

A plan knows no engine. It holds a rule for each path whose access differs from that of the folder
it is in; all below a path goes by the nearest rule above it. Every path is real (no link on the
way) and there: an engine cannot cover what is missing. A missing path is still out of sight if the
folder that would hold it is `closed`; else it is in `late`.
"""

# ruff: noqa: PTH110, PTH112, PTH114, PTH115, PTH119, PTH120, PTH208
# Paths are strings: hundreds are looked at for each sandbox, and pathlib takes ten times as long.

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import filter as matching
from pathlib import Path
from typing import Final, Literal, final

from msgspec import Struct

from hermes.safety.path_area import Area, real, upwards
from hermes.safety.paths import PathPolicy

Level = Literal["protect", "workspace-write", "read-only", "off"]

Access = Literal["write", "read", "closed", "hidden", "private", "link"]
"""`closed`: a folder of which only what has a rule of its own is seen, and nothing is written;
`private`: an empty folder of the sandbox's own; `link`: a link in a closed folder."""

CACHES: Final = (
    ".bun/install/cache",
    ".cache",
    ".cargo/git",
    ".cargo/registry",
    ".ccache",
    ".conda/pkgs",
    ".gradle/caches",
    ".gradle/daemon",
    ".gradle/wrapper",
    ".ivy2/cache",
    ".local/share/pnpm/store",
    ".m2/repository",
    ".npm",
    ".nuget/packages",
    ".yarn/berry/cache",
    "go/pkg",
)
"""What build tools write in a person's home, each by its tool's documentation."""

GROWING: Final = "skills"
"""A folder in which what is new has to show at once, though something in it is hidden."""

HIDING: Final = frozenset({"hidden", "private"})

INPUT_DEVICES: Final = ("/dev/uinput", "/dev/mem", "/dev/port")
"""Devices that type for a person or reach memory; disks are found by their kind."""


class Plan(Struct, frozen=True, kw_only=True):
    """`rules` are sorted, so that a folder comes before what is in it. `doors` are hidden for
    the sockets in them. `late` are protected paths
    that an engine cannot cover, because they are not there yet or are links that can be replaced:
    see `leads_to` for what is said of each."""

    level: Level
    rules: Mapping[str, Access]
    doors: frozenset[str]
    late: Mapping[str, str]

    def access(self, path: str) -> Access:
        """What holds for the real `path`."""
        return self.rules[nearest(self.rules, path)]


@final
class Planner:
    """Makes plans: `exposed` are opened though the policy hides them, `scratch` are the folders for
    temporary files, `own` those that commands and Hermes share; `agent` is the SSH agent's socket.
    """

    def __init__(
        self,
        policy: PathPolicy,
        *,
        exposed: Iterable[Path] = (),
        scratch: Iterable[Path] = (Path("/tmp"),),
        own: Iterable[Path] = (),
        agent: Path | None = None,
    ) -> None:
        self._policy = policy
        self._hidden = policy.hidden
        self._kept = (*policy.read_only, *policy.asked)
        self._exposed = (Area("", roots=tuple(exposed)),)
        self._listed: dict[str, list[str]] = {}
        self._scratch = tuple(scratch)
        self._own = tuple(own)
        self._agent = agent

    def plan(self, level: Level, workspace: Path) -> Plan:
        """The plan of `level` for commands that work in `workspace`."""
        base = self._base(level, workspace)
        rules: dict[str, Access] = {"/": base["/"], "/dev": "write"}
        missing: dict[str, str] = {}
        hidden = frozenset(self._places(self._hidden))
        asked = frozenset(self._places(self._policy.asked))
        places = [*{*base, *hidden, *asked, *self._places(self._policy.read_only)} - {"/"}]
        for path, led in zip(places, real(places), strict=True):
            if not os.path.lexists(path) or os.path.islink(path):
                missing[path] = leads_to(path)
            elif led == path:
                rules[path] = self._access(path, base)
        rules["/proc"] = "read"
        rules.update(dict.fromkeys(_disks(), "hidden"))
        self._close(rules)
        self._own_places(rules)
        _pin(rules)
        kept = {path: rules[path] for path in sorted(rules) if _differs(rules, path)}
        shown = _shown(kept)
        late = {p: missing[p] for p in sorted(missing.keys() & (hidden | asked)) if shown(p)}
        return Plan(level=level, rules=kept, doors=self._doors(kept), late=late)

    def _base(self, level: Level, workspace: Path) -> dict[str, Access]:
        """What the level alone says."""
        base: dict[str, Access] = {"/": "read"}
        if level == "protect":
            base.update(dict.fromkeys(map(str, self._policy.writable), "write"))
        if level == "workspace-write":
            base[os.path.realpath(workspace)] = "write"
            for home in self._policy.people:
                base.update((os.path.realpath(home / name), "write") for name in CACHES)
        base.update((os.path.realpath(folder), "write") for folder in self._scratch)
        return base

    def _access(self, path: str, base: Mapping[str, Access]) -> Access:
        if self._is_hidden(path):
            return "hidden"
        return "read" if _among(self._kept, path) else base[nearest(base, path)]

    def _is_hidden(self, path: str) -> bool:
        return _among(self._hidden, path) and not _among(self._exposed, path)

    def _places(self, areas: Iterable[Area]) -> Iterator[str]:
        """Every path that `areas` know by where it lies, there or not."""
        for area in areas:
            yield from map(str, (*area.roots, *area.but))
            for pattern in area.patterns:
                if pattern.startswith("/") and not pattern.endswith("/*"):
                    folder, wild, name = _parts(pattern)
                    for found in matching(self._names(folder), wild):
                        yield f"{folder}/{found}/{name}" if name else f"{folder}/{found}"

    def _names(self, folder: str) -> list[str]:
        """What is in `folder`, looked at once."""
        if folder not in self._listed:
            try:
                self._listed[folder] = os.listdir(folder)
            except OSError:
                self._listed[folder] = []
        return self._listed[folder]

    def _doors(self, rules: Mapping[str, Access]) -> frozenset[str]:
        return frozenset(p for p in self._places(self._hidden[-1:]) if rules.get(p) in HIDING)

    def _close(self, rules: dict[str, Access]) -> None:
        """Close read-only folders in which a file that is to be hidden may appear or be replaced:
        a cover lies on the old file and not on the new one."""
        folders: set[str] = set()
        for area in self._hidden:
            folders |= {os.path.dirname(p) for p in map(str, area.roots) if not os.path.isdir(p)}
            for pattern in area.patterns:
                if pattern.startswith("/") and "/*/" in pattern:
                    start = _parts(pattern)[0]
                    folders |= {start, *(f"{start}/{name}" for name in self._names(start))}
        for folder in sorted(folders):
            if (
                os.path.basename(folder) != GROWING
                and _among(self._kept, folder)
                and not self._is_hidden(folder)
                and os.path.isdir(folder)
                and os.path.realpath(folder) == folder
            ):
                self._close_folder(rules, folder)

    def _close_folder(self, rules: dict[str, Access], folder: str) -> None:
        rules[folder] = "closed"
        with os.scandir(folder) as entries:
            for entry in entries:
                if self._is_hidden(entry.path):
                    rules[entry.path] = "hidden"
                else:
                    rules.setdefault(entry.path, "link" if entry.is_symlink() else "read")

    def _own_places(self, rules: dict[str, Access]) -> None:
        """What the sandbox has of its own, and what of Hermes's and the person's goes on."""
        for folder in (tmux_folder(), f"/run/user/{os.getuid()}"):
            if self._is_hidden(folder) and os.path.isdir(folder):
                rules[folder] = "private"
        shared = self._own if self._agent is None else (*self._own, self._agent)
        for path in map(os.path.realpath, shared):
            if os.path.exists(path):
                rules[str(path)] = "write"


def _among(areas: Iterable[Area], path: str) -> bool:
    above = upwards(path)
    return any(area.lies(path, above) for area in areas)


def _parts(pattern: str) -> tuple[str, str, str]:
    """Folder, pattern of a name in it, and the rest, of a pattern for a whole path."""
    if "/*/" in pattern:
        start, _, name = pattern.partition("/*/")
        return re.sub(r"\[([*?[])\]", r"\1", start), "*", name
    folder, _, wild = pattern.rpartition("/")
    return folder, wild, ""


def _shown(rules: Mapping[str, Access]) -> Callable[[str], bool]:
    """Tells whether a missing path could come to be where commands see it."""
    known: dict[str, bool] = {"/": False}

    def shown(path: str) -> bool:
        folder = os.path.dirname(path)
        if folder not in known:
            known[folder] = (
                rules[nearest(rules, os.path.realpath(folder))] == "write"
                if os.path.isdir(folder)
                else shown(folder)
            )
        return known[folder]

    return shown


def nearest(rules: Mapping[str, object], path: str) -> str:
    """The rule's path that decides about `path`: itself, or the nearest above it."""
    while path not in rules:
        path = os.path.dirname(path)
    return path


def tmux_folder() -> str:
    """Where this account's tmux has its sockets."""
    return f"/tmp/tmux-{os.getuid()}"


def leads_to(path: str) -> str:
    """Where `path` leads if it is a link, "." if it is anything else, "" if it is not there."""
    try:
        return os.readlink(path)
    except FileNotFoundError:
        return ""
    except OSError:
        return "." if os.path.lexists(path) else ""


def _disks() -> Iterator[str]:
    """Block devices that this account could open, and the like: they hold every file."""
    for folder in ("/dev", "/dev/mapper"):
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            if entry.is_symlink() or entry.is_file() or entry.is_dir():
                continue
            disk = stat.S_ISBLK(entry.stat().st_mode) or entry.path in INPUT_DEVICES
            if disk and (os.access(entry.path, os.R_OK) or os.access(entry.path, os.W_OK)):
                yield entry.path


def _pin(rules: dict[str, Access]) -> None:
    """Give folders above a protected path a rule, where they could be renamed: what is covered
    would be found under its new name by the next sandbox."""
    for path in [each for each, access in rules.items() if access in {"read", "closed", "hidden"}]:
        above = os.path.dirname(path)
        while above != "/" and rules[nearest(rules, above)] == "write":
            if above not in rules and os.access(os.path.dirname(above), os.W_OK):
                rules[above] = "write"
            above = os.path.dirname(above)


def _differs(rules: Mapping[str, Access], path: str) -> bool:
    """Whether the rule of `path` is needed beside the one above it."""
    access = rules[path]
    if path == "/" or access == "write":
        return True
    above = rules[nearest(rules, os.path.dirname(path))]
    return access != above or access == "closed"
