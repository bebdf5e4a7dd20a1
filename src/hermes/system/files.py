"""Files that are either the old one or the new one, and text that is UTF-8 whatever the locale."""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from hermes.core.errors import UserError
from hermes.system.i18n import t

_BLOCK = 1 << 20
BOM = "\ufeff"


def write_atomic(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace the file at `path` by `data`; after a crash it holds the old bytes or the new ones.

    A symlink stays and its target is replaced. `mode` is the file's permission bits; without it an
    existing file keeps its own (and its owner), and a new one gets what the umask leaves of 0666.
    Raises OSError, and then the old file is untouched and nothing is left behind.
    """
    target = Path(os.path.realpath(path))
    try:
        old: os.stat_result | None = target.stat()
    except FileNotFoundError:
        old = None
    temporary = target.with_name(f".hermes-{os.urandom(8).hex()}.tmp")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o666 if old is None and mode is None else 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            if old is not None:
                # Only root can give a file away; for anybody else the owner is right already.
                with contextlib.suppress(PermissionError):
                    os.fchown(fd, old.st_uid, old.st_gid)
            if mode is not None:
                os.fchmod(fd, mode)
            elif old is not None:
                os.fchmod(fd, stat.S_IMODE(old.st_mode))
            file.write(data)
            file.flush()
            os.fsync(fd)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make renames and new files in `folder` survive a power loss."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def read_text(path: Path) -> str:
    """The text of `path`, which must be UTF-8; a byte order mark is dropped, newlines are kept.

    Raises OSError, or UserError naming the first byte that is wrong.
    """
    data = path.read_bytes()
    try:
        return data.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise UserError(
            t(
                "files.not_utf8",
                path=path,
                byte=f"0x{data[e.start]:02x}",
                offset=e.start,
                line=line,
            ),
            hint=t("files.not_utf8_hint"),
        ) from e


def sha256_file(path: Path) -> str:
    """The sha256 of the file's bytes, in hex, read in blocks."""
    digest = hashlib.sha256()
    for block in _blocks(path):
        digest.update(block)
    return digest.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block
