"""The least change to a region that makes of it what `new` makes of `old`.

What old and new have in common stays as it is in the region: its blanks, line endings and
typography. What differs is written as new has it, to the character.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from hermes.tools.files.matching.loose import pairs
from hermes.tools.files.matching.source import BLANK, margin

_LINES_COMPARED: Final = 160_000
"""Product of the numbers of changed lines up to which it is found out which of them stayed."""

_TOKENS_COMPARED: Final = 400
_PART: Final = re.compile(r"\w+|[^\S\n]+|.", re.DOTALL)


class Change(NamedTuple):
    """Put `text` in place of `[start, end)` of the region."""

    start: int
    end: int
    text: str


class _Block(NamedTuple):
    """Lines `[a, b)` of old become lines `[c, d)` of new."""

    a: int
    b: int
    c: int
    d: int


def changes(old: str, region: str, new: str, *, fine: bool) -> list[Change] | None:
    """The changes to `region`, which was found for `old`, in order.

    `fine` narrows within lines too, which needs old and region to be the same but for typography.
    None if new cannot be indented as the region is without rewriting it.
    """
    there, before, after = region.split("\n"), old.split("\n"), new.split("\n")
    if len(there) != len(before):
        return [Change(0, len(region), new)]
    blocks = _blocks(before, after)
    frame = _Frame(before, there, after, blocks)
    if not frame.fits:
        return None
    starts = [0]
    for line in there:
        starts.append(starts[-1] + len(line) + 1)
    return [
        change
        for block in blocks
        for change in _block_changes(block, starts, frame, fine=fine)
        if region[change.start : change.end] != change.text
    ]


def _blocks(before: Sequence[str], after: Sequence[str]) -> list[_Block]:
    limit = min(len(before), len(after))
    head = next((n for n in range(limit) if before[n] != after[n]), limit)
    limit -= head
    tail = next((n for n in range(limit) if before[-1 - n] != after[-1 - n]), limit)
    a, b = before[head : len(before) - tail], after[head : len(after) - tail]
    if not a and not b:
        return []
    if len(a) * len(b) > _LINES_COMPARED or not a or not b:
        return [_Block(head, head + len(a), head, head + len(b))]
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    return [
        _Block(head + i1, head + i2, head + j1, head + j2)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


class _Frame:
    """How old, region and new are indented, and whether new fits into the region so."""

    def __init__(
        self, old: list[str], there: list[str], new: list[str], blocks: list[_Block]
    ) -> None:
        self.old, self.there, self.new = old, there, new
        pairs_ = [(o, r) for o, r in zip(old, there, strict=True) if o.strip(BLANK)]
        rest = pairs_[1:]
        # Old that was copied from the middle of its first line says nothing of its margin.
        cut = bool(rest) and bool(pairs_) and old[0].strip(BLANK) != "" and not margin(old[0])
        self._differs = any(margin(o) != margin(r) for o, r in (rest if cut else pairs_))
        self.fits = not self._differs or self._all_fit(blocks)

    def keeps(self, o: int, n: int) -> bool:
        """Whether line `n` of new, which takes the place of line `o` of old, gets the margin
        that the region has there."""
        return margin(self.old[o]) == margin(self.new[n]) and self.new[n].strip(BLANK) != ""

    def _all_fit(self, blocks: list[_Block]) -> bool:
        foreign = kept = False
        changed: set[int] = set()
        for a, b, c, d in blocks:
            changed.update(range(a, b))
            for k in range(d - c):
                if not self.new[c + k].strip(BLANK):
                    continue
                if a + k < b and self.keeps(a + k, c + k):
                    kept = kept or margin(self.old[a + k]) != margin(self.there[a + k])
                else:
                    foreign = True
        if not foreign:
            return True
        stays = any(
            margin(o) != margin(r)
            for n, (o, r) in enumerate(zip(self.old, self.there, strict=True))
            if n not in changed and o.strip(BLANK)
        )
        return not kept and not stays and _first_margin(self.new) == _first_margin(self.there)


def _first_margin(lines: list[str]) -> str | None:
    return next((margin(line) for line in lines if line.strip(BLANK)), None)


def _block_changes(
    block: _Block, starts: list[int], frame: _Frame, *, fine: bool
) -> Iterator[Change]:
    a, b, c, d = block
    new = frame.new
    if a == b:
        if a < len(frame.old):
            yield Change(starts[a], starts[a], "\n".join(new[c:d]) + "\n")
        else:
            end = starts[a] - 1
            yield Change(end, end, "\n" + "\n".join(new[c:d]))
        return
    if c == d:
        if b < len(frame.old):
            yield Change(starts[a], starts[b], "")
        else:
            yield Change(starts[a] - 1, starts[b] - 1, "")
        return
    paired = min(b - a, d - c)
    for k in range(paired):
        yield from _line_changes(frame, a + k, c + k, starts[a + k], fine=fine)
    end = starts[a + paired] - 1
    if d - c > paired:
        yield Change(end, end, "\n" + "\n".join(new[c + paired : d]))
    elif b - a > paired:
        yield Change(end, starts[b] - 1, "")


def _line_changes(frame: _Frame, o: int, n: int, at: int, *, fine: bool) -> Iterator[Change]:
    old, there, new = frame.old[o], frame.there[o], frame.new[n]
    if fine and (found := _inner(old, there, new, frame.keeps(o, n))) is not None:
        yield from (Change(at + s, at + e, text) for s, e, text in found)
        return
    if frame.keeps(o, n):
        yield Change(at + len(margin(there)), at + len(there), new[len(margin(new)) :])
    else:
        yield Change(at, at + len(there), new)


def _inner(old: str, there: str, new: str, keep: bool) -> list[Change] | None:
    """The changes within one line, whose margin they `keep` or not; None where old and the line
    do not say the same."""
    cut = pairs(old.strip(BLANK), there.strip(BLANK))
    if cut is None:
        return None
    before, after = len(margin(old)), len(margin(there))
    bounds = {a + before: b + after for a, b in cut}
    if before or not keep:
        bounds[0] = 0
    bounds.setdefault(len(old), len(there))
    return [
        Change(bounds[a], bounds[b], new[c:d]) for a, b, c, d in _whole(_parts(old, new), bounds)
    ]


def _parts(old: str, new: str) -> list[_Block]:
    """Where characters of `old` become others of `new`, by words and signs."""
    a, b = _PART.findall(old), _PART.findall(new)
    limit = min(len(a), len(b))
    head = next((n for n in range(limit) if a[n] != b[n]), limit)
    tail = next((n for n in range(limit - head) if a[-1 - n] != b[-1 - n]), limit - head)
    middle = a[head : len(a) - tail], b[head : len(b) - tail]
    if max(map(len, middle)) > _TOKENS_COMPARED:
        ops = [("replace", 0, len(middle[0]), 0, len(middle[1]))]
    else:
        ops = list(SequenceMatcher(None, *middle, autojunk=False).get_opcodes())
    first, second = _offsets(a), _offsets(b)
    return [
        _Block(first[head + i1], first[head + i2], second[head + j1], second[head + j2])
        for tag, i1, i2, j1, j2 in ops
        if tag != "equal"
    ]


def _offsets(parts: list[str]) -> list[int]:
    offsets = [0]
    for part in parts:
        offsets.append(offsets[-1] + len(part))
    return offsets


def _whole(blocks: list[_Block], bounds: dict[int, int]) -> list[_Block]:
    """`blocks`, widened until each begins and ends at one of `bounds`, and joined where they
    meet. Between blocks old and new are the same, so both are widened alike."""
    last = max(bounds)
    wide: list[_Block] = []
    for block in blocks:
        left = right = 0
        while block.a - left not in bounds and left < block.a:
            left += 1
        while block.b + right not in bounds and block.b + right < last:
            right += 1
        a, b, c, d = block.a - left, block.b + right, block.c - left, block.d + right
        if wide and a < wide[-1].b:
            end = max(b, wide[-1].b)
            wide[-1] = _Block(wide[-1].a, end, wide[-1].c, d + end - b)
        else:
            wide.append(_Block(a, b, c, d))
    return wide
