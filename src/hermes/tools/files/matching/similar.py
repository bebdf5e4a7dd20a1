"""Places that are like the old text without being it: its first and last line with another middle
(block_anchor), or all of its lines nearly (context_aware).

Work is counted in characters that are compared, not in time, so that an answer is the same on
each machine. Where it is used up, nothing is taken for a match.
"""

from dataclasses import dataclass
from typing import Final

from hermes.tools.files.matching.loose import plain
from hermes.tools.files.matching.source import BLANK, Source, Span

GAP: Final = 15.0
"""By how much, of 100, the best place must be more alike than the next."""

_LIKE: Final = 80.0
_NEAR: Final = 45.0
_ONE_MIDDLE: Final = 50.0
_MIDDLES: Final = 70.0

_WORK: Final = 1_000_000_000
"""Products of characters compared: about 0.2 s."""

_WINDOWS: Final = 1_000
_LINES: Final = 6_000
"""Lines of all windows together that are compared after the first one of each."""

_OVERHEAD: Final = 2_000
"""What a comparison of short lines costs, in products of characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """`row` of the first line, and how much the lines from there are like the old text, of 100."""

    row: int
    score: float


class Similar:
    """The places in `source` that are like `old`."""

    def __init__(self, source: Source, old: str) -> None:
        # lazy: native code that costs 30 ms, and only an edit that missed needs it
        from rapidfuzz import fuzz, process

        self._ratio = fuzz.ratio
        self._extract = process.extract
        self._work = _WORK
        self.cut = False
        """Whether there was more to compare than there was work for."""
        self.source = source
        self._pattern = [plain(line).strip(BLANK) for line in old.removesuffix("\n").split("\n")]
        self._ending = old.endswith("\n")
        self._solid = [n for n, line in enumerate(self._pattern) if line]
        self._lines = [line.strip(BLANK) for line in plain(source.flat).split("\n")]
        self._near = self._scan()

    def span(self, candidate: Candidate) -> Span:
        start, end = self.source.window(candidate.row, len(self._pattern))
        return start, min(end + self._ending, len(self.source.flat))

    def block_anchor(self) -> list[Candidate]:
        """Windows with the first and last line of old, if the best of them is near enough."""
        count, lines = len(self._pattern), self._lines
        if count < 3 or not self._pattern[0] or not self._pattern[-1]:
            return []
        first, last = self._pattern[0], self._pattern[-1]
        if first not in lines or last not in lines:
            return []
        middle = "\n".join(self._pattern[1:-1])
        found = []
        for row in range(len(lines) - count + 1):
            if lines[row] == first and lines[row + count - 1] == last:
                there = "\n".join(lines[row + 1 : row + count - 1])
                if not self._pay(len(middle), {row: there}):
                    return []
                found.append(Candidate(row=row, score=self._ratio(middle, there)))
        found.sort(key=lambda c: -c.score)
        least = _ONE_MIDDLE if len(found) == 1 else _MIDDLES
        return found if found and found[0].score >= least else []

    def context_aware(self) -> list[Candidate]:
        """The window whose every line is like that of old, before all others that come near."""
        best = next((c for c in self._near if self._each_alike(c)), None)
        if best is None or self.cut:
            return []
        rivals = [c for c in self._near if c is not best and c.score > best.score - GAP]
        return [best, *rivals]

    def nearest(self) -> list[Candidate]:
        """The windows that come nearest, best first, that do not overlap."""
        chosen: list[Candidate] = []
        for candidate in self._near:
            if all(abs(candidate.row - c.row) >= len(self._pattern) for c in chosen):
                chosen.append(candidate)
            if len(chosen) == 3:
                break
        return chosen

    def _each_alike(self, candidate: Candidate) -> bool:
        return all(
            self._ratio(self._pattern[n], self._lines[candidate.row + n]) >= _LIKE
            for n in self._solid
        )

    def _scan(self) -> list[Candidate]:
        """Windows by how alike their lines are on the whole, best first."""
        count, size = len(self._pattern), len(self._lines)
        if not self._solid or count > size:
            return []
        anchor = max(self._solid, key=lambda n: min(len(self._pattern[n]), 200))
        wanted = self._pattern[anchor]
        low, high = len(wanted) * 0.28, len(wanted) * 3.5
        rows = range(anchor, size - count + anchor + 1)
        choices = {n: self._lines[n] for n in rows if low <= len(self._lines[n]) <= high}
        if not self._pay(len(wanted), choices):
            return []
        hits = self._extract(
            wanted, choices, scorer=self._ratio, score_cutoff=_NEAR, limit=_WINDOWS + 1
        )
        rest = [n for n in self._solid if n != anchor]
        most = min(_WINDOWS, max(_LINES // max(len(rest), 1), 20))
        self.cut = len(hits) > most
        return self._weighed({row - anchor: score for _, score, row in hits[:most]}, rest)

    def _weighed(self, totals: dict[int, float], rest: list[int]) -> list[Candidate]:
        for n in rest:
            choices = {row: self._lines[row + n] for row in totals}
            if not self._pay(len(self._pattern[n]), choices):
                return []
            for _, score, row in self._extract(
                self._pattern[n], choices, scorer=self._ratio, limit=None
            ):
                totals[row] += score
        found = [Candidate(row=r, score=s / (len(rest) + 1)) for r, s in totals.items()]
        found.sort(key=lambda c: -c.score)
        return found

    def _pay(self, length: int, lines: dict[int, str]) -> bool:
        """Whether there is work left to compare a line of `length` characters with `lines`."""
        self._work -= length * sum(map(len, lines.values())) + _OVERHEAD * len(lines)
        self.cut = self.cut or self._work < 0
        return self._work >= 0
