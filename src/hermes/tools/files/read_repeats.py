"""The same read, asked for again: what the model has before it is not sent twice.

Only within one turn. What was read in an earlier turn may have left the model's context by then,
and a model that cannot see a text must be able to get it by asking once.
"""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hermes.core.ids import TurnId

Key = tuple[Path, int, int]
"""Path, first line and number of lines."""

Version = bytes | tuple[int, ...] | None
"""What tells one state of a file from every other; None if nothing surely does."""

REMEMBERED: Final = 1_000


@dataclass(slots=True)
class _Served:
    turn: TurnId
    version: Version
    content: bytes
    shown: int = 1
    asked: int = 1


class Repeats:
    """The reads of one session."""

    def __init__(self) -> None:
        self._served: OrderedDict[Key, _Served] = OrderedDict()

    def asked(self, key: Key, turn: TurnId, version: Version) -> int:
        """How often `key` was asked for in this turn, now included, without any change since it
        was shown; 1 if it has to be shown."""
        served = self._served.get(key)
        if served is None or served.turn != turn or None in (version, served.version):
            return 1
        if served.version != version:
            return 1
        served.asked += 1
        return served.asked

    def shown(self, key: Key, turn: TurnId, version: Version, content: str) -> int:
        """Remember that `content` is the answer to `key`; how often in a row it was in this turn,
        now included. For files of which nothing else tells that they did not change."""
        digest = hashlib.blake2b(content.encode("utf-8", "surrogatepass")).digest()
        before = self._served.get(key)
        served = _Served(turn, version, digest)
        if before is not None and (before.turn, before.content) == (turn, digest):
            served.shown = before.shown + 1
        self._served[key] = served
        self._served.move_to_end(key)
        while len(self._served) > REMEMBERED:
            self._served.popitem(last=False)
        return served.shown
