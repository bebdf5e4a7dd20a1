"""Which keys exist: those that Hermes serves, and those that only the reference has so far."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from hermes.system.config.cache import Finding
from hermes.system.config.convert import fields_of, item_of, struct_below
from hermes.system.config.settings import Settings

Names: TypeAlias = dict[str, "Names"]
"""A tree of key names; `*` stands for any name, `**` for anything below, `[]` for an item."""


_Both = tuple[Names, Names]


def findings(tree: Mapping[str, Any], lines: Mapping[str, int]) -> list[Finding]:
    """The keys of `tree` that are not served, in file order."""
    names = _served(Settings), _reference()
    return list(_search(tree, "", names, names, lines))


def nearest(key: str) -> str | None:
    """The served or known key that `key` was probably meant to be."""
    return _nearest(key, (_served(Settings), _reference()))


def is_known(key: str) -> bool:
    """Whether the reference has this key, served here or not."""
    at: Names | None = _reference()
    for name in key.split("."):
        if at is None or "**" in at:
            return at is not None
        at = _step(at, name)
    return at is not None


def served_keys() -> tuple[str, ...]:
    """Every key that Hermes serves; `*` stands for a name of one's own."""
    keys = (key.partition(".[]")[0] for key in _leaves(_served(Settings), ""))
    return tuple(key for key in dict.fromkeys(keys) if not key.endswith("**"))


def _search(
    tree: Mapping[str, Any], path: str, names: _Both, everything: _Both, lines: Mapping[str, int]
) -> Iterator[Finding]:
    for name, value in tree.items():
        key = f"{path}.{name}" if path else name
        ours, theirs = (_step(n, name) for n in names)
        if ours is None and theirs is None:
            meant = _nearest(key, everything)
            yield Finding(kind="unknown", key=key, line=lines.get(key), nearest=meant)
        elif isinstance(value, dict) and (ours or (theirs and "**" not in theirs)):
            yield from _search(value, key, (ours or {}, theirs or {}), everything, lines)
        elif isinstance(value, list) and ours and "[]" in ours:
            below: _Both = (ours["[]"], {})
            for i, item in enumerate(value):
                if isinstance(item, dict):
                    yield from _search(item, f"{key}[{i}]", below, everything, lines)
        elif ours is None:
            yield Finding(kind="unserved", key=key, line=lines.get(key))


def _step(names: Names, name: str) -> Names | None:
    if "**" in names:
        return names
    return names.get(name, names.get("*"))


def _served(struct: type[Struct]) -> Names:
    names: Names = {}
    for name, type_ in fields_of(struct).items():
        inner, free = struct_below(type_)
        below = _served(inner) if inner else {}
        if free:
            below = {"*": below} if inner else {"**": {}}
        if item := item_of(type_):
            below = {"[]": _served(item)}
        names[name] = below
    return names


def _plant(names: Names, key: str) -> None:
    for name in key.split("."):
        names = names.setdefault(name, {})


def _leaves(names: Names, path: str) -> Iterator[str]:
    for name, below in names.items():
        key = f"{path}.{name}" if path else name
        if below:
            yield from _leaves(below, key)
        else:
            yield key


def _reference() -> Names:
    names: Names = {}
    text = Path(__file__).with_name("known_keys.txt").read_text("utf-8")
    for line in text.splitlines():
        parent, _, keys = line.partition(": ")
        if line.startswith("#"):
            continue
        for key in keys.split():
            _plant(names, key if parent == "-" else f"{parent}.{key}")
    return names


def _nearest(key: str, everything: _Both) -> str | None:
    # lazy: only a key that is wrong needs it, and it costs 5 ms to import
    from difflib import get_close_matches

    parent, _, leaf = key.rpartition(".")
    siblings: set[str] = set()
    for names in everything:
        at: Names | None = names
        for name in re.sub(r"\[\d+\]", ".[]", parent).split(".") if parent else ():
            at = _step(at, name) if at else None
        siblings.update(n for n in at or () if not n.startswith("*"))
    if close := get_close_matches(leaf, sorted(siblings), 1, 0.7):
        return f"{parent}.{close[0]}" if parent else close[0]
    keys = sorted(
        {k for names in everything for k in _leaves(names, "") if "*" not in k and "[" not in k}
    )
    for known in keys:
        if known.rpartition(".")[2] == leaf:
            return known
    close = get_close_matches(key, keys, 1, 0.75)
    return close[0] if close else None
