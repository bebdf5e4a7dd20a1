"""From a path as a model wrote it to the one canonical path that every check sees."""

import os
from pathlib import Path

from hermes.core.errors import ToolError


def locate(raw: object, cwd: str, user: Path | None) -> Path:
    """The canonical absolute path of `raw`; raises ToolError for what cannot be one."""
    if not isinstance(raw, str) or not raw.strip():
        raise ToolError("path must be a non-empty string.")
    if "\0" in raw:
        raise ToolError("path contains a NUL character.")
    if user is not None and (raw == "~" or raw.startswith("~/")):
        raw = str(user) + raw[1:]
    try:
        return Path(os.path.realpath(Path(cwd) / raw))
    except OSError as e:
        raise ToolError(f"{raw}: {e.strerror}.") from e
