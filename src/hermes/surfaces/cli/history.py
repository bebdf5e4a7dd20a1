"""The lines typed at the prompt, kept over restarts for the arrow keys."""

import logging
import os
from pathlib import Path

from prompt_toolkit.history import FileHistory

log = logging.getLogger("hermes.surfaces")


class PrivateHistory(FileHistory):
    """A history file that only its owner can read; raises OSError if it cannot be opened."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
        super().__init__(str(path))

    def store_string(self, string: str) -> None:
        """Append `string`; a full disk costs the line in the history, not the message."""
        try:
            super().store_string(string)
        except OSError as e:
            log.warning("a line was not added to the history: %s", e)
