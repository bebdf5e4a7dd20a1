"""Reading the arguments of a command."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from hermes.safety.commands.model import Finding
from hermes.safety.commands.places import Places
from hermes.safety.commands.walk import Draft


class Site(Struct, frozen=True):
    """What the rules are told beside a command: the machine's places, and the other commands."""

    places: Places
    drafts: Sequence[Draft]


Rule = Callable[[Draft, Site], Iterator[Finding]]


def short(words: Iterable[str], letters: str) -> bool:
    """Whether one of the letters stands in a group of short options."""
    return any(
        word[:1] == "-" and word[1:2] not in ("-", "") and any(c in word[1:] for c in letters)
        for word in words
    )


def long(words: Iterable[str], *names: str) -> bool:
    """Whether one of the long options is given, abbreviated or with a value."""
    for word in words:
        if word.startswith("--") and len(word) > 3:
            given = word.partition("=")[0]
            if any(name == given or (len(given) > 4 and name.startswith(given)) for name in names):
                return True
    return False


def options(words: Sequence[str]) -> list[str]:
    """The options: what begins with a dash, up to `--`."""
    found = []
    for word in words[1:]:
        if word == "--":
            break
        if word.startswith("-"):
            found.append(word)
    return found


def operands(words: Sequence[str]) -> list[str]:
    """The arguments that are no options."""
    found, ended = [], False
    for word in words[1:]:
        if word == "--" and not ended:
            ended = True
        elif ended or not word.startswith("-") or word == "-":
            found.append(word)
    return found


def value(words: Sequence[str], *names: str) -> list[str]:
    """The values of options, in each of the ways to write them."""
    found = []
    for i, word in enumerate(words):
        for name in names:
            if word == name:
                found += list(words[i + 1 : i + 2])
            elif name.startswith("--") and word.startswith(f"{name}="):
                found.append(word[len(name) + 1 :])
            elif not name.startswith("--") and word.startswith(name) and word[:2] != "--":
                found.append(word[len(name) :])
    return found


def matches(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None
