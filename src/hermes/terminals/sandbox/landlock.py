"""A plan as the words that `enter.py` gives to Landlock (landlock(7)), and whether there is any.

Landlock allows what is named, with all below it, and can hide nothing in a folder that it allows.
So a folder that holds something protected is not allowed itself but what is in it now, piece by
piece. It hides contents and not names: every folder can be listed.
"""

# ruff: noqa: PTH120  paths are strings, as in a plan

import os
from collections.abc import Iterator, Mapping
from typing import Final

from hermes.terminals.sandbox.plan import Access, Plan

FULL: Final = 6
"""The first version that keeps signals and abstract sockets inside too."""

NETWORK: Final = 4
"""The first version that knows TCP."""

RIGHTS: Final[Mapping[Access, int]] = {"write": 2, "read": 1}
LETTERS: Final = ("", "r", "w")


def version() -> int:
    """Landlock's version in this kernel; 0 if it has none or it is off."""
    # lazy: ctypes costs 4 ms, and with bubblewrap nobody needs it
    from hermes.terminals.sandbox.inside import abi

    return abi()


def words(plan: Plan) -> list[str]:
    """The rules of `plan`, but for its doors in /tmp: who connects to a socket is not asked, and to
    leave them out would be to allow nothing new in /tmp."""
    rules = _ruled(plan)
    return ["fs", "scope", "l/", *dict.fromkeys(_allow("/", 0, rules, _lowest(rules)))]


def _allow(
    path: str, above: int, rules: Mapping[str, Access], lowest: Mapping[str, int]
) -> Iterator[str]:
    """The words for `path`, where `above` is the right that its folder has."""
    right = RIGHTS.get(rules[path], 0) if path in rules else above
    whole = right and lowest.get(path, right) >= right
    if whole:
        yield _word(path, right)
    if path not in lowest:
        return
    # In a folder that is given whole, or not at all, only what has a rule is of interest.
    start = path.rstrip("/")
    for name in _with_rules(start, lowest) if whole or not right else _names(path):
        yield from _allow(f"{start}/{name}", 0 if whole else right, rules, lowest)


def _with_rules(folder: str, lowest: Mapping[str, int]) -> list[str]:
    size = len(folder) + 1
    return [
        p[size:] for p in lowest if p[:size] == f"{folder}/" and "/" not in p[size:] and p[size:]
    ]


def fixed(plan: Plan) -> tuple[str, ...]:
    """The writable folders in which nothing new can be made, as they hold something protected."""
    least = _lowest(_ruled(plan))
    full = RIGHTS["write"]
    return tuple(sorted(p for p in least if plan.access(p) == "write" and least[p] < full))


def _ruled(plan: Plan) -> dict[str, Access]:
    return {p: a for p, a in plan.rules.items() if p not in plan.doors or not _in_tmp(p)}


def _in_tmp(path: str) -> bool:
    return path.startswith("/tmp/")


def _word(path: str, right: int) -> str:
    device = right == RIGHTS["write"] and (path == "/dev" or path.startswith("/dev/"))
    return f"{'b' if device else LETTERS[right]}{path}"


def _lowest(rules: Mapping[str, Access]) -> dict[str, int]:
    """For each folder with rules below it, and each path with one: the least right among them."""
    found: dict[str, int] = {}
    for path, access in rules.items():
        right = RIGHTS.get(access, 0)
        each = path
        while True:
            found[each] = min(found.get(each, right), right)
            if each == "/":
                break
            each = os.path.dirname(each)
    return found


def _names(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            # A link gives nothing: where it leads to has its own place here.
            return [entry.name for entry in entries if not entry.is_symlink()]
    except OSError:
        return []
