"""Edits that missed, counted, so that a model that guesses is told to look."""

from collections import Counter
from typing import Final

PATIENCE: Final = 3


class Misses:
    """Of one session: how often in a row the text to replace was not in a file."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def hint(self, path: str, *, shown: bool) -> str | None:
        """What to do after one more miss on `path`; nothing more if the lines were `shown`."""
        self._counts[path] += 1
        count = self._counts[path]
        if count < PATIENCE:
            if shown:
                return None
            return "Copy old_string from what read_file shows now, without the line numbers."
        return (
            f"This is miss {count} in a row on this file: what you believe to be in it is not. "
            "Read it again with read_file before the next edit."
        )

    def clear(self, path: str) -> None:
        """An edit of `path` hit, or it was read."""
        self._counts.pop(path, None)
