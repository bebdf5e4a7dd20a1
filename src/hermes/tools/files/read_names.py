"""Files that are named almost as the one that was asked for and is not there."""

import difflib
import unicodedata
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from hermes.ports.files import FileFault, Files

SHOWN: Final = 5
SCORED: Final = 2_000

# No-break spaces and curly quotes, which systems put into names and people do not type.
_TYPED: Final = str.maketrans({"\u202f": " ", "\u00a0": " ", "\u2019": "'", "\u2018": "'"})


@dataclass(frozen=True, slots=True)
class Near:
    """`same` is the one file whose name differs only in how its characters are encoded;
    `similar` are whole paths, the likeliest first."""

    same: Path | None
    similar: list[str]


async def near(files: Files, path: Path) -> Near:
    """What is in the folder of the missing `path` that may have been meant."""
    try:
        names = await files.names(str(path.parent))
    except FileFault:
        return Near(None, [])
    wanted = _typed(path.name)
    equal = [name for name in names if _typed(name) == wanted]
    if len(equal) == 1:
        return Near(path.parent / equal[0], [])
    scored = [(-_score(wanted.lower(), _typed(name).lower()), name) for name in names[:SCORED]]
    best = [name for score, name in sorted(scored) if score < 0][:SHOWN]
    return Near(None, [str(path.parent / name) for name in best])


async def similar(files: Files, path: Path) -> list[str]:
    """The paths in the folder of the missing `path` that may have been meant, likeliest first."""
    found = await near(files, path)
    return found.similar if found.same is None else [str(found.same)]


def _typed(name: str) -> str:
    return unicodedata.normalize("NFC", name.translate(_TYPED))


def _score(wanted: str, name: str) -> int:
    """How likely `name` was meant, 0 to 100, by the reference's table."""
    if name == wanted:
        return 100
    stem, other = PurePath(wanted), PurePath(name)
    if stem.stem == other.stem:
        return 90
    if name.startswith(wanted) or wanted.startswith(name):
        return 70
    if wanted in name:
        return 60
    if name in wanted and len(name) > 2:
        return 40
    if stem.suffix and stem.suffix == other.suffix:
        shared = len(set(wanted) & set(name))
        if shared >= 0.4 * max(len(wanted), len(name)):
            return 30
    close = difflib.SequenceMatcher(None, wanted, name)
    if close.real_quick_ratio() >= 0.8 and close.quick_ratio() >= 0.8 and close.ratio() >= 0.8:
        return 50
    return 0
