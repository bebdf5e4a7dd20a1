"""Which folder a file or a command belongs to, and the names of the files in it."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, final

import anyio
from msgspec import Struct

from hermes.ports.undo import GapCode
from hermes.system.program import running

REPOSITORY: Final = (".git", ".hg", ".jj", ".svn")
PROJECT: Final = (
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "setup.py",
    "Gemfile",
    "composer.json",
    "mix.exs",
    "CMakeLists.txt",
    "Makefile",
    "deno.json",
)
SKIPPED: Final = frozenset(
    b".git .hg .jj .svn node_modules .venv venv __pycache__ .mypy_cache .pytest_cache .ruff_cache"
    b" .tox .nox .cache .gradle .idea target dist build out coverage .next .nuxt .terraform"
    b" bower_components vendor site-packages".split()
)
"""Folders of programs' own making, left out where no repository says what is ignored."""

LIST_SECONDS: Final = 2.0
_LISTS: Final = (
    '"$0" -c core.fsmonitor=false -c core.hooksPath=/dev/null ls-files -z -co --exclude-standard'
    " --deduplicate && printf '\\0' && "
    '"$0" -c core.fsmonitor=false ls-files -z -oi --exclude-standard --directory'
)


@final
class Places:
    """Knows the folders that are no workspace: `home` is Hermes's, `user` the person's own."""

    def __init__(self, home: Path, user: Path | None) -> None:
        self._home = os.path.realpath(home)
        self._user = os.path.realpath(user) if user is not None else None

    def root(self, folder: str) -> str | None:
        """The project that the real path `folder` lies in: the nearest repository above it, else
        the nearest folder with a project's file. Never the machine's root or a home folder."""
        nearest = None
        for at in upwards(folder):
            if at in ("/", self._user) or self._user_inside(at):
                break
            if any(os.path.lexists(f"{at}/{name}") for name in REPOSITORY):
                return at
            if nearest is None and any(os.path.lexists(f"{at}/{name}") for name in PROJECT):
                nearest = at
        return nearest

    def of_folder(self, folder: str) -> str:
        """The workspace of a command that runs in `folder`: its project, or itself."""
        folder = os.path.realpath(folder)
        return self.root(folder) or folder

    def of_file(self, path: str, cwd: str) -> str:
        """The workspace of the file at the real path `path`: its project, else the working folder
        if it is below that, else its own folder."""
        folder = os.path.dirname(path)  # noqa: PTH120
        while len(folder) > 1 and not os.path.isdir(folder):  # noqa: PTH112
            folder = os.path.dirname(folder)  # noqa: PTH120
        cwd = os.path.realpath(cwd)
        return self.root(folder) or (cwd if is_below(path, cwd) else os.path.dirname(path))  # noqa: PTH120

    def unwatched(self, root: str) -> bool:
        """Whether `root` is too much to be a workspace that commands are watched in."""
        return root in ("/", self._user) or self._user_inside(root) or is_below(root, self._home)

    def ours(self, path: str) -> bool:
        """Whether `path` is in Hermes's own home."""
        return is_below(path, self._home)

    def holds_ours(self, folder: str) -> bool:
        """Whether Hermes's own home is in `folder`."""
        return is_below(self._home, folder)

    def _user_inside(self, folder: str) -> bool:
        return self._user is not None and is_below(self._user, folder)


def is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def real(path: str) -> str:
    """`path` with its folder's links followed, and its last name as it is; a path that no file can
    have stays as it is."""
    if "\0" in path:
        return path
    folder, name = os.path.split(os.path.abspath(path))  # noqa: PTH100
    return os.path.join(os.path.realpath(folder), name)  # noqa: PTH118


def upwards(folder: str) -> Iterator[str]:
    """`folder` and every folder above it."""
    while True:
        yield folder
        if folder == "/":
            return
        folder = os.path.dirname(folder)  # noqa: PTH120


class Listing(Struct, frozen=True, kw_only=True):
    """The names of a workspace's files, relative to it. What a snapshot leaves out is `ignored`:
    names of files, and of folders with a slash at the end. `gaps` say what could not be listed."""

    names: tuple[bytes, ...]
    ignored: frozenset[bytes]
    by_git: bool
    gaps: tuple[tuple[GapCode, str], ...] = ()

    def hides(self, name: bytes) -> bool:
        """Whether `name` was left out, or in a folder that was."""
        if name in self.ignored:
            return True
        at = name.find(b"/")
        while at >= 0:
            if name[: at + 1] in self.ignored:
                return True
            at = name.find(b"/", at + 1)
        return False


class NotListed(Exception):
    """The files of a workspace cannot be listed; `code` and `detail` are those of the gap."""

    def __init__(self, code: GapCode, detail: str = "") -> None:
        super().__init__(code)
        self.code: GapCode = code
        self.detail = detail


@final
class Lister:
    """Lists workspaces with git where it knows them, else by walking; never Hermes's own home.

    `most` is how many files it lists at all.
    """

    def __init__(self, places: Places, env: Mapping[str, str], most: int) -> None:
        self._places = places
        self._most = most
        self._env = {
            "PATH": env.get("PATH", "/usr/bin:/bin"),
            "HOME": env.get("HOME", "/"),
            "LC_ALL": "C",
            "GIT_OPTIONAL_LOCKS": "0",
        }

    async def list(self, root: str, *, by_git: bool | None = None) -> Listing:
        """The files below `root`; in the way that `by_git` says, to be comparable with an earlier
        list. Raises NotListed."""
        if by_git or (by_git is None and os.path.lexists(f"{root}/.git")):  # noqa: ASYNC240
            out = await self._git(root)
            if out is not None:
                return await anyio.to_thread.run_sync(self._parsed, root, out)
            if by_git:
                raise NotListed("unlisted", "git does not list them any more")
        return await anyio.to_thread.run_sync(self._walked, root)

    async def _git(self, root: str) -> bytes | None:
        pieces = []
        arguments = ["/bin/sh", "-c", _LISTS, "git"]
        try:
            with anyio.fail_after(LIST_SECONDS):
                async with running(arguments, cwd=root, env=self._env) as git:
                    while piece := await git.receive():
                        pieces.append(piece)
                    code, _ = await git.end()
        except (OSError, TimeoutError):
            return None
        return b"".join(pieces) if code == 0 else None

    def _parsed(self, root: str, out: bytes) -> Listing:
        # Every name ends with a NUL, and one more parts the two lists.
        listed, _, left_out = (b"\0" + out).partition(b"\0\0")
        every = [name for name in listed.split(b"\0") if name]
        folders = [name for name in every if name.endswith(b"/")]
        names = [name for name in every if not name.endswith(b"/")]
        if self._places.holds_ours(root):
            top = os.fsencode(root)
            names = [n for n in names if not self._places.ours(os.fsdecode(top + b"/" + n))]
        self._count(len(names))
        gaps: list[tuple[GapCode, str]] = []
        if folders:
            gaps.append(("nested", os.fsdecode(folders[0])))
        return Listing(
            names=tuple(names),
            ignored=frozenset(n for n in left_out.split(b"\0") if n) | frozenset(folders),
            by_git=True,
            gaps=tuple(gaps),
        )

    def _walked(self, root: str) -> Listing:
        names: list[bytes] = []
        ignored: set[bytes] = set()
        unread: list[str] = []
        waiting = [b""]
        top = os.fsencode(root) + b"/"
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(top + folder) as entries:
                    for entry in entries:
                        name = folder + entry.name
                        if not entry.is_dir(follow_symlinks=False):
                            names.append(name)
                        elif entry.name in SKIPPED or self._places.ours(os.fsdecode(top + name)):
                            ignored.add(name + b"/")
                        else:
                            waiting.append(name + b"/")
            except OSError:
                unread.append(os.fsdecode(folder))
            self._count(len(names))
        gaps: list[tuple[GapCode, str]] = [("unlisted", unread[0])] if unread else []
        return Listing(
            names=tuple(sorted(names)),
            ignored=frozenset(ignored) | {os.fsencode(name) for name in unread},
            by_git=False,
            gaps=tuple(gaps),
        )

    def _count(self, files: int) -> None:
        if files > self._most:
            raise NotListed("too_many", str(self._most))
