"""Files that no text tool may write, by name: documents, and what belongs to a program."""

from pathlib import Path
from typing import Final

_DOCUMENTS: Final = (
    ".doc .docm .docx .epub .odp .ods .odt .pot .pps .ppsm .ppsx .ppt .pptm .pptx .rtf .xls .xlsb "
    ".xlsm .xlsx"
)
DOCUMENTS: Final = frozenset(_DOCUMENTS.split())
"""Documents that are never text, so that text under such a name would be a broken one."""

SIDECARS: Final = ("-journal", "-shm", "-wal")
"""Endings of the files beside an SQLite database; writing one corrupts it."""

_BINARIES: Final = (
    # pictures, sound, film
    ".avif .bmp .gif .heic .heif .ico .jpeg .jpg .png .psd .raw .tif .tiff .webp "
    ".aac .aiff .flac .m4a .mid .midi .mp3 .ogg .opus .wav .wma "
    ".avi .flv .m4v .mkv .mov .mp4 .mpeg .mpg .webm .wmv "
    # archives, packages
    ".7z .apk .br .bz2 .cab .deb .dmg .ear .egg .gz .iso .jar .lz .lz4 .lzma .msi .pkg .rar .rpm "
    ".tar .tgz .txz .war .whl .xz .zip .zst "
    # programs and their parts
    ".a .bin .class .com .dll .dylib .elf .exe .ko .lib .o .obj .pyc .pyd .pyo .so .wasm "
    # fonts, databases, designs, flash, data
    ".eot .otf .ttf .woff .woff2 .db .idx .mdb .sqlite .sqlite3 "
    ".3ds .ai .blend .dwg .fbx .fig .glb .indd .sketch .stl .xd .fla .swf "
    ".dat .data .lockb .pdf"
)
BINARIES: Final = frozenset(_BINARIES.split())
"""Endings of files that are rarely text; what exists under one is not replaced by text."""


def opaque(path: Path, *, exists: bool) -> str | None:
    """Why text may not be written to `path`, or None. Completes "it was not written: ..."."""
    name = path.name.casefold()
    ending = path.suffix.casefold()
    if ending in DOCUMENTS:
        return f"{ending} is a document format, and text under that name would be a broken document"
    if name.endswith(SIDECARS) and Path(name.rpartition("-")[0]).suffix:
        return "it is SQLite's own file beside a database"
    if exists and ending in BINARIES:
        return f"it exists, and {ending} files are binary"
    return None
