"""Why a search found nothing, and what would find something: one sentence, or none."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import anyio

from hermes.core.errors import ToolError
from hermes.ports.files import FileFault, Files
from hermes.tools.files.globs import Glob, glob
from hermes.tools.files.search_content import search
from hermes.tools.files.search_found import Wish
from hermes.tools.files.search_names import Listing, Root, Scope, listing
from hermes.tools.files.search_regex import literal

SECONDS: Final = 10.0
ENTRIES: Final = 10_000

_GIT: Final = "What is in .git is searched only if path names it"


async def no_lines(
    files: Files, roots: list[Root], wish: Wish, pattern: str, scope: Scope
) -> str | None:
    """For a search of lines; only files that may be read are spoken of."""
    wish = replace(wish, counting=True, context=0)
    attempts = [
        ("with another case", replace(wish, fold=True), False),
        ("in hidden or ignored files (name one in path)", wish, True),
    ]
    if re.search(r"[.*+?()\[\]{}|\\^$]", pattern) and wish.regex != literal(pattern):
        text = replace(wish, regex=literal(pattern))
        attempts.append(("if the pattern is taken as plain text", text, False))
    said = []
    deadline = anyio.current_time() + SECONDS
    for what, attempt, all_ in attempts:
        try:
            found = await search(files, roots, attempt, scope.again(all_=all_), deadline)
        except ToolError:
            continue
        if total := found.counts.total():
            said.append(f"{total} {what}")
    if said:
        return f"Nothing matches, but there are {', '.join(said)}."
    with anyio.move_on_at(deadline):
        return await _no_files(files, roots, scope)
    return None


async def _no_files(files: Files, roots: list[Root], scope: Scope) -> str | None:
    """Whether there was any file to search at all."""
    folders = [root for root in roots if root.folder]
    if len(folders) < len(roots):
        return None
    wanted = scope.glob
    if any([await _readable(files, root, scope.again()) for root in folders]):
        return None
    if wanted is not None:
        if wanted.folder.split("/")[0] == ".git":
            return f"{_GIT}: path=.git."
        hidden = [await _readable(files, root, scope.again(all_=True)) for root in folders]
        if any(hidden):
            return "All files that fit file_glob are hidden or ignored; name one in path."
        return (
            "No file fits file_glob, so nothing was searched. It is matched below path: `*.py` in "
            "any folder, `src/**/*.py` below one, `*.py,*.md` for several, `!*.md` for all others."
        )
    return await _links(files, folders)


async def _readable(files: Files, root: Root, scope: Scope) -> bool:
    found = await listing(files, root, scope)
    return any(scope.takes(root, below) == "yes" for below in found.files)


async def _links(files: Files, roots: list[Root]) -> str | None:
    links = 0
    for root in roots:
        try:
            tree = await files.tree(root.real, limit=ENTRIES)
        except FileFault:
            continue
        base = len(root.real.rstrip("/")) + 1
        shown = [e for e in tree.entries if not re.search(r"(?:^|/)\.", e.path[base:])]
        links += sum(entry.kind == "link" for entry in shown)
    if not links:
        return None
    return f"There are only links ({links}), which are not followed; name what you mean in path."


async def no_names(
    files: Files,
    roots: list[Root],
    pattern: str,
    wanted: Callable[[str], Glob],
    unreadable: Callable[[str], str | None],
) -> str | None:
    """For a search of names; `wanted` makes a glob of a pattern."""
    if re.match(r"!?/?\.git(?:/|$)", pattern):
        return f"{_GIT}, as in path=.git with pattern=*."
    every = [(root, Scope(glob=None, unreadable=unreadable, all_=True)) for root in roots]
    found = [(root, scope, await listing(files, root, scope)) for root, scope in every]

    def count(test: Callable[[str], bool], *, hidden: bool) -> int:
        return sum(
            test(below) and (hidden or scope.shows(below)) and scope.takes(root, below) == "yes"
            for root, scope, names in found
            for below in _names(names)
        )

    ways: list[tuple[str, Callable[[str], bool]]] = [
        ("hidden or ignored (name one in path)", wanted(pattern).match),
        ("with another case", _folded(pattern)),
    ]
    if not re.search(r"[*?\[{/]", pattern):
        inside = f"*{pattern}*"
        ways.append((f"if you search for {inside}", wanted(inside).match))
    if simple := _simplified(pattern):
        ways.append(
            (f"if you search for {simple} (names take a glob, no regex)", wanted(simple).match)
        )
    for what, test in ways:
        if total := count(test, hidden=True):
            return f"No name fits, but there are {total} {what}."
    return await _links(files, roots) if wanted(pattern).match("x") else None


def _names(found: Listing) -> list[str]:
    return [*found.files, *found.folders]


def _folded(pattern: str) -> Callable[[str], bool]:
    match = glob(unicodedata.normalize("NFC", pattern).lower()).match
    return lambda below: match(below.lower())


def _simplified(pattern: str) -> str | None:
    """The glob that a regular expression for names stands for, if it is a plain one."""
    if not re.search(r"\.\*|\\\.|[$^|]", pattern):
        return None
    text = pattern.removeprefix("^").removesuffix("$").replace(".*", "*").replace("\\.", ".")
    text = text.replace(".+", "*")
    return None if re.search(r"[\\^$|()+]", text) else text
