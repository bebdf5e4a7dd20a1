"""What is below a folder, without what is hidden or ignored unless it is asked for."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from hermes.ports.files import FileFault, Files, TreeEntry
from hermes.tools.files.globs import Glob, IgnoreFile

ENTRIES = 200_000
IGNORE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Entries with their path relative to `root`; `notes` say what was not looked at."""

    root: str
    entries: tuple[tuple[str, TreeEntry], ...]
    notes: tuple[str, ...]
    complete: bool


async def listing(files: Files, root: str, wanted: Glob | None, *, all_: bool = False) -> Listing:
    """Everything below the folder `root` that is neither hidden nor ignored; with `all_`, or if
    `wanted` names something hidden, hidden things too (never what is inside `.git`)."""
    tree = await files.tree(root, limit=ENTRIES)
    base = root.rstrip("/") + "/"
    rows = sorted((entry.path.removeprefix(base), entry) for entry in tree.entries)
    hidden = all_ or (wanted is not None and wanted.hidden)
    ignored = _nothing if all_ else await _ignored(files, root, [path for path, _ in rows])
    kept: list[tuple[str, TreeEntry]] = []
    dropped: list[str] = []
    for path, entry in rows:
        if dropped and path.startswith(dropped[-1]):
            continue
        name = path.rpartition("/")[2]
        folder = entry.kind == "folder"
        skip = name == ".git" or (name.startswith(".") and not hidden) or ignored(path, folder)
        if not skip:
            kept.append((path, entry))
        elif folder:
            dropped.append(path + "/")
    kept = [row for row in kept if not any(row[0].startswith(d) for d in dropped)]
    notes = [f"{folder} was not searched: {why}." for folder, why in tree.skipped[:5]]
    if not tree.complete:
        notes.append(
            f"There are more than {ENTRIES} names below {root}; the rest was not searched."
        )
    return Listing(root=root, entries=tuple(kept), notes=tuple(notes), complete=tree.complete)


def _nothing(path: str, folder: bool) -> bool:
    return False


async def _ignored(files: Files, root: str, paths: list[str]) -> Callable[[str, bool], bool]:
    """The verdict of all ignore files that concern `root`: those of git inside a repository."""
    repository = await _repository(files, root)
    names = (".gitignore", ".ignore") if repository else (".ignore",)
    rules: list[tuple[str, IgnoreFile]] = []
    if repository:
        folder = root
        while folder != repository:
            folder = os.path.dirname(folder)  # noqa: PTH120
            way = root[len(folder) :].strip("/") + "/"
            rules += await _rules(files, folder, way, names)
        rules.reverse()
    rules += await _rules(files, root, "", names)
    for path in paths:
        if path.rpartition("/")[2] in names and "/" in path:
            text = await _text(files, f"{root.rstrip('/')}/{path}")
            rules.append((path.rpartition("/")[0] + "/", IgnoreFile(text)))

    def verdict(path: str, folder: bool) -> bool:
        found = False
        for prefix, rule in rules:
            if prefix.startswith("^"):
                said = rule.ignores(prefix[1:] + path, folder=folder)
            elif path.startswith(prefix):
                said = rule.ignores(path[len(prefix) :], folder=folder)
            else:
                continue
            found = found if said is None else said
        return found

    return verdict


async def _rules(
    files: Files, folder: str, above: str, names: tuple[str, ...]
) -> list[tuple[str, IgnoreFile]]:
    """Ignore files in `folder`; `above` is the way from there to the root of the search."""
    found = []
    for name in names:
        text = await _text(files, f"{folder.rstrip('/')}/{name}")
        if text:
            found.append((f"^{above}" if above else "", IgnoreFile(text)))
    return found


async def _repository(files: Files, root: str) -> str | None:
    folder = root
    while True:
        if await files.stat(f"{folder.rstrip('/')}/.git") is not None:
            return folder
        parent = os.path.dirname(folder)  # noqa: PTH120
        if parent == folder:
            return None
        folder = parent


async def _text(files: Files, path: str) -> str:
    try:
        data, _ = await files.read(path, limit=IGNORE_BYTES)
    except FileFault:
        return ""
    return data.decode("utf-8", "replace")
