"""From a path as a model wrote it to the one canonical path that every check sees."""

from pathlib import Path

from hermes.core.errors import ToolError
from hermes.ports.files import Files


async def locate(files: Files, raw: object, cwd: str, *, entry: bool = False) -> Path:
    """The canonical absolute path of `raw`; raises ToolError for what cannot be one.

    With `entry` a link at its end is meant itself.
    """
    return Path(await files.locate(_checked(raw), cwd, entry=entry))


async def named(files: Files, raw: object, cwd: str) -> tuple[str, ...]:
    """The file that `raw` means, and its name itself if that is a link: either may be one that a
    person is asked about. Raises ToolError."""
    return await files.named(_checked(raw), cwd)


def _checked(raw: object) -> str:
    if not isinstance(raw, str) or not raw.strip():
        raise ToolError("path must be a non-empty string.")
    if "\0" in raw:
        raise ToolError("path contains a NUL character.")
    return raw
