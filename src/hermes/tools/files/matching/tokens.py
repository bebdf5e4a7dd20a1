"""Words, numbers and signs of a text, and which differences between two texts must not be guessed.

`timeout = 30` is much like `timeout = 60`, and `if user.is_admin` like `if not user.is_admin`; an
edit that was meant for the one must never reach the other.
"""

import re
from difflib import SequenceMatcher
from typing import Final, Literal

Kind = Literal["number", "literal", "negation", "operator", "short name", "word", "punctuation"]

TOKEN: Final = re.compile(
    r"\"[^\"\n]{0,24}\"|'[^'\n]{0,24}'"  # short literals, whole
    r"|[^\W\d]\w*|\d\w*(?:\.\d\w*)*"
    r"|[=!<>+\-*/%&|^~?@$\\:]+|\S"
)
_SIGNS: Final = frozenset("=!<>+-*/%&|^~?@$\\()[]{}")
_SHORT: Final = 3
_TURNS: Final = frozenset(
    (
        *("not", "no", "never", "none", "null", "nil", "neither", "nor", "without", "cannot"),
        *("unless", "except", "true", "false", "always", "enable", "enabled", "disable"),
        *("disabled", "allow", "deny", "before", "after", "above", "below", "first", "last"),
        *("left", "right", "read", "write", "open", "close", "start", "stop", "include", "exclude"),
    )
)
"""Words that turn a meaning round when they come, go or change."""

_PREFIXES: Final = frozenset(("un", "non", "not", "no", "in", "im", "dis", "de", "anti"))
_PREFIX: Final = 6
_NAME: Final = 200

COMPARED: Final = 300
"""Differing lines of a text, and tokens of a line, up to which they are compared."""


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _cuts(text: str, at: int) -> bool:
    """Whether a boundary at `at` would cut a word or a number in two."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if _is_word(before) and _is_word(after):
        return True
    if after == "." and before.isdigit():
        return text[at + 1 : at + 2].isdigit()
    return before == "." and after.isdigit() and at > 1 and text[at - 2].isdigit()


def stands(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` is whole words and numbers."""
    return not _cuts(text, start) and not _cuts(text, end)


def words(text: str) -> list[str]:
    return TOKEN.findall(text)


def differing(old: str, there: str) -> list[tuple[str, str]] | None:
    """Runs of tokens, as `(old, there)`, in which two texts of as many lines differ; None if
    there is too much of it."""
    rows = [(a, b) for a, b in zip(old.split("\n"), there.split("\n"), strict=True) if a != b]
    if len(rows) > COMPARED:
        return None
    runs: list[tuple[str, str]] = []
    for row in rows:
        a, b = map(words, row)
        if max(len(a), len(b)) > COMPARED:
            return None
        matcher = SequenceMatcher(None, a, b, autojunk=False)
        runs += [
            (" ".join(a[i1:i2]), " ".join(b[j1:j2]))
            for tag, i1, i2, j1, j2 in matcher.get_opcodes()
            if tag != "equal"
        ]
    return runs


def kind(token: str) -> Kind:
    """What a token is, by what it would mean to take it for another."""
    if token[0] in "\"'" and len(token) > 1:
        return "literal"
    if _is_word(token[0]):
        if any(char.isdigit() for char in token):
            return "number"
        if token.casefold() in _TURNS:
            return "negation"
        return "short name" if len(token) <= _SHORT else "word"
    return "operator" if _SIGNS.intersection(token) else "punctuation"


def risky(difference: tuple[str, str]) -> bool:
    """Whether a difference between texts may turn the meaning round."""
    old, there = map(words, difference)
    if any(kind(token) not in ("word", "punctuation") for token in (*old, *there)):
        return True
    return len(old) == len(there) == 1 and _negates(*sorted((old[0], there[0]), key=len))


def _negates(short: str, long: str) -> bool:
    """Whether `long` is `short` with a prefix that negates, which may stand within the name."""
    short, long = short.casefold(), long.casefold()
    size = len(long) - len(short)
    if len(long) > _NAME or size > _PREFIX:
        return False
    return any(
        long[:at] + long[at + size :] == short and long[at : at + size].strip("_") in _PREFIXES
        for at in range(len(short) + 1)
    )
