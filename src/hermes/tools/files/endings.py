"""Line endings of a file that is written anew: lines that stay keep theirs."""

from difflib import SequenceMatcher
from typing import Final

COMPARED: Final = 4_000
"""Changed lines up to which it is found out which of them stayed; beyond, the most usual ending is
taken for all of them."""


def keep_endings(old: str, new: str) -> str:
    """`new`, whose lines end in `\\n`, with the endings that its lines have in `old`.

    Text that has a `\\r\\n` of its own says which endings it wants, and is left as it is.
    """
    if "\r\n" not in old or "\r\n" in new:
        return new
    before = old.split("\n")
    after = new.split("\n")
    usual = "\r" if 2 * old.count("\r\n") >= old.count("\n") else ""
    ends = _ends([line.removesuffix("\r") for line in before], after, before, usual)
    return "\n".join(line + end for line, end in zip(after, [*ends, ""], strict=True))


def _ends(bare: list[str], after: list[str], before: list[str], usual: str) -> list[str]:
    """The `\\r` or nothing for each line of `after` but the last, which has no ending."""
    count = len(after) - 1
    ends = [usual] * count
    head = _common(bare, after)
    tail = _common(bare[head:][::-1], after[head:][::-1])
    pairs = [(at, at) for at in range(head)]
    pairs += [(len(bare) - n, len(after) - n) for n in range(1, tail + 1)]
    middle = bare[head : len(bare) - tail], after[head : len(after) - tail]
    if max(map(len, middle)) <= COMPARED:
        matcher = SequenceMatcher(None, *middle, autojunk=False)
        for block in matcher.get_matching_blocks():
            pairs += [(head + block.a + n, head + block.b + n) for n in range(block.size)]
    for a, b in pairs:
        # The last line of a text has no ending to give and none to get.
        if b < count and a < len(before) - 1:
            ends[b] = "\r" if before[a].endswith("\r") else ""
    return ends


def _common(a: list[str], b: list[str]) -> int:
    limit = min(len(a), len(b))
    return next((n for n in range(limit) if a[n] != b[n]), limit)
