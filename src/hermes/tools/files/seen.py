"""Which files this session knows whole, by content: an overwrite of anything else is refused."""

import hashlib
from pathlib import Path


class SeenFiles:
    """sha256 by canonical path of what a model read in full, or wrote itself."""

    def __init__(self) -> None:
        self._known: dict[Path, bytes] = {}

    def note(self, path: Path, data: bytes) -> None:
        """Remember that the model knows `path` to hold exactly `data`."""
        self._known[path] = hashlib.sha256(data).digest()

    def knows(self, path: Path, data: bytes) -> bool:
        """Does the model know that `path` holds exactly `data`?"""
        return self._known.get(path) == hashlib.sha256(data).digest()
