"""Whether a change of a file of this machine can be made, and how; nothing is changed here."""

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from hermes.ports.files import Change, FileFault, Move, Remove, Write
from hermes.terminals.commit_record import Step
from hermes.terminals.local_stat import fault, not_regular


@dataclass(slots=True)
class Prepared:
    """A change that was found possible: what is there now, and how it will be done."""

    step: Step
    found: os.stat_result | None
    data: bytes | None = None
    like: os.stat_result | None = None
    like_path: str = ""


def prepare(change: Change, records: Path, busy: frozenset[str]) -> list[Prepared]:
    path = change.target if isinstance(change, Move) else change.path
    try:
        if isinstance(change, Write):
            return [_prepare_write(change, records, busy)]
        if isinstance(change, Remove):
            return [_prepare_remove(change)]
        return _prepare_move(change, records)
    except (OSError, ValueError) as e:
        raise fault(path, e) from e


def _prepare_write(change: Write, records: Path, busy: frozenset[str]) -> Prepared:
    path = change.path
    found = look(path)
    if found is None:
        if change.expect is not None:
            raise FileFault("changed", path, "is not there any more")
        step = Step(kind="create", path=path, staged=_beside(path, "new"))
    else:
        _expected(path, found, change.expect)
        if not os.access(path, os.W_OK):
            raise FileFault("denied", path, "is read-only")
        if path in busy or _keeps_inode(path, found):
            token = os.urandom(8).hex()
            step = Step(
                kind="overwrite",
                path=path,
                staged=str(records / f"{token}.new"),
                aside=str(records / f"{token}.old"),
                old=(change.expect or b"").hex(),
                new=hashlib.sha256(change.data).hexdigest(),
            )
        else:
            step = Step(
                kind="replace", path=path, staged=_beside(path, "new"), aside=_beside(path, "old")
            )
    prepared = Prepared(step=step, found=found, data=change.data, like=found)
    if found is None and change.like is not None:
        prepared.like, prepared.like_path = os.lstat(change.like), change.like
    elif found is not None:
        prepared.like_path = path
    return prepared


def _prepare_remove(change: Remove) -> Prepared:
    found = look(change.path)
    if found is None:
        raise FileFault("missing", change.path, "is not there")
    if stat.S_ISREG(found.st_mode):
        _expected(change.path, found, change.expect)
    elif not stat.S_ISLNK(found.st_mode):
        raise not_regular(change.path, found.st_mode)
    step = Step(kind="remove", path=change.path, aside=_beside(change.path, "old"))
    return Prepared(step=step, found=found)


def _prepare_move(change: Move, records: Path) -> list[Prepared]:
    found = look(change.source)
    if found is None:
        raise FileFault("missing", change.source, "is not there")
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
        raise not_regular(change.source, found.st_mode)
    if look(change.target) is not None:
        raise FileFault("exists", change.target, "is there already")
    if stat.S_ISREG(found.st_mode) and _device_at(change.target) != found.st_dev:
        # A name cannot be moved to another file system; a copy can.
        data = Path(change.source).read_bytes()
        digest = hashlib.sha256(data).digest()
        copy = Write(path=change.target, data=data, expect=None, like=change.source)
        remove = Remove(path=change.source, expect=digest)
        return [_prepare_write(copy, records, frozenset()), _prepare_remove(remove)]
    step = Step(
        kind="move",
        path=change.target,
        source=change.source,
        inode=(found.st_dev, found.st_ino),
    )
    return [Prepared(step=step, found=found)]


def _device_at(path: str) -> int:
    folder = Path(path).parent
    while not folder.exists():
        folder = folder.parent
    return folder.stat().st_dev


def look(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _expected(path: str, found: os.stat_result, expect: bytes | None) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise not_regular(path, found.st_mode)
    if expect is None:
        raise FileFault("exists", path, "is there already")
    with Path(path).open("rb", buffering=0) as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    if digest != expect:
        raise FileFault("changed", path, "was changed by somebody else in the meantime")


def _keeps_inode(path: str, found: os.stat_result) -> bool:
    """Whether a new file under the old name would lose something: other names, its owner, or the
    right to make a file there."""
    if found.st_nlink > 1:
        return True
    if os.geteuid() != 0 and (
        found.st_uid != os.geteuid() or found.st_gid not in (os.getegid(), *os.getgroups())
    ):
        return True
    return not os.access(os.path.dirname(path), os.W_OK | os.X_OK)  # noqa: PTH120


def _beside(path: str, what: str) -> str:
    folder = os.path.dirname(path)  # noqa: PTH120
    return os.path.join(folder, f".hermes-{os.urandom(8).hex()}.{what}")  # noqa: PTH118
