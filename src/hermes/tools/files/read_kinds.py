"""What is not read as text, told by its name or its first bytes.

Sources of the lists: the reference's contract, sections 2.1 and 12.5.
"""

import os
import re
from pathlib import Path
from typing import Final

_DEVICES: Final = (
    *("/dev/zero", "/dev/random", "/dev/urandom", "/dev/full", "/dev/stdin", "/dev/stdout"),
    *("/dev/stderr", "/dev/tty", "/dev/console", "/dev/fd/0", "/dev/fd/1", "/dev/fd/2"),
)

# Memory and environment of processes, and two files that are the kernel's own memory and log.
_PROCESS: Final = re.compile(
    r"/proc/(?:.*/(?:fd/[012]|environ|cmdline|maps|smaps|smaps_rollup|numa_maps|mem|auxv|pagemap)"
    r"|kcore|kmsg)"
)
_NAMESPACE: Final = re.compile(r"/(?:\?\?/|/\./|/\?/(?:unc|globalroot)/)", re.IGNORECASE)

_IMAGES: Final = "png jpg jpeg gif webp bmp ico tiff tif heic avif psd"
_OTHERS: Final = (
    "mp4 mkv avi mov webm wmv flv m4v mpg mpeg mp3 wav flac ogg m4a aac wma opus aiff "
    "zip tar gz tgz bz2 xz 7z rar zst lz4 lzma cab iso dmg deb rpm jar war apk whl "
    "exe dll so dylib o a obj lib bin msi class pyc pyo pyd wasm node "
    "ttf otf woff woff2 eot sqlite sqlite3 db mdb idx "
    "ai sketch fig xd blend 3ds max stl glb fbx swf fla lockb dat data"
)
IMAGES: Final = frozenset(_IMAGES.split())
BINARY: Final = IMAGES | frozenset(_OTHERS.split())

_MAGIC: Final = (
    (b"\x89PNG", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF", "PDF document"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ", "xz archive"),
    (b"7z\xbc\xaf", "7-Zip archive"),
    (b"\x28\xb5\x2f\xfd", "Zstandard archive"),
    (b"\x7fELF", "ELF program or library"),
    (b"MZ", "Windows program or library"),
    (b"\xcf\xfa\xed\xfe", "macOS program or library"),
    (b"\0asm", "WebAssembly module"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"ID3", "MP3 audio"),
    (b"OggS", "Ogg media"),
    (b"RIFF", "RIFF media"),
)


def extension(path: Path) -> str:
    """The last part of a name, in lower case, without its dot."""
    return path.suffix[1:].lower()


def refused_name(raw: str, cwd: str, path: Path) -> str | None:
    """Why what is called `raw`, the canonical `path`, is not opened at all, or None."""
    if _NAMESPACE.match(raw.replace("\\", "/")):
        return "is a name in the namespace of Windows devices, not a file's path"
    for name in (os.path.normpath(Path(cwd) / raw), str(path)):
        if name in _DEVICES:
            return "is a device"
        if _PROCESS.fullmatch(name):
            return "shows the memory, environment or input of a process"
    return None


def magic(head: bytes) -> str | None:
    """What a binary file is by its first bytes."""
    return next((name for start, name in _MAGIC if head.startswith(start)), None)
