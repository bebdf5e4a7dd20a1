"""Changes to files of this machine, all or none.

First everything is checked, then every new file is written whole under another name beside its
target, then the names are changed one after the other; a record of it lies in the home until the
last one is through. Blocks on the disk; runs in a worker thread that is never abandoned.
"""

import errno
import fcntl
import hashlib
import logging
import os
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from hermes.core.errors import Bug
from hermes.ports.files import Change, Committed, FileFault, Write
from hermes.system.files import sync_folder
from hermes.terminals.commit_checks import Prepared, look, prepare
from hermes.terminals.commit_record import (
    OpenRecord,
    Record,
    Step,
    abandoned,
    overwrite,
    parse,
    tidy,
    undo,
)
from hermes.terminals.local_stat import fault, identity

log = logging.getLogger("hermes.terminals")

BLOCK: Final = 1 << 20

LARGE: Final = 256 << 10
"""Bytes whose hash takes longer than to start a thread."""

PATIENCE: Final = 10.0
POLL: Final = 0.005
"""Seconds to wait for another commit, and between two looks."""

NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS)
"""What a file system without hard links says, FAT and some network ones among them."""


@dataclass(slots=True)
class _Work:
    prepared: list[Prepared]
    folders: list[str] = field(default_factory=list)

    def record(self, *, done: bool = False) -> Record:
        steps = tuple(p.step for p in self.prepared)
        return Record(steps=steps, folders=tuple(self.folders), done=done)


class _Busy(Exception):
    """A name that the system will not give to another file (a mount point, say)."""


def commit(changes: Sequence[Change], records: Path) -> Committed:
    """See `ports.files.Files.commit`; `records` is the folder for records."""
    writes = [change for change in changes if isinstance(change, Write)]
    # Large files are hashed while others wait for the disk.
    large = sum(len(write.data) for write in writes) > LARGE
    with ThreadPoolExecutor(1) if large else nullcontext() as beside, _turn(records):
        hashing = beside.submit(_hashed, writes) if beside else None
        settle(records)
        try:
            folders = _commit(changes, records, frozenset())
        except _Busy as e:
            folders = _commit(changes, records, frozenset(e.args))
        written = hashing.result() if hashing else _hashed(writes)
    return Committed(folders=folders, written=written)


def _hashed(writes: Sequence[Write]) -> dict[str, bytes]:
    return {write.path: hashlib.sha256(write.data).digest() for write in writes}


@contextmanager
def _turn(records: Path) -> Iterator[None]:
    """One commit at a time among all that share a home."""
    try:
        records.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(records / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as e:
        raise fault(str(records), e) from e
    try:
        for _ in range(round(PATIENCE / POLL)):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(POLL)
            else:
                break
        else:
            reason = "another Hermes has been changing files for too long; nothing was changed"
            raise FileFault("other", str(records), reason)
        yield
    finally:
        os.close(fd)


def settle(records: Path) -> None:
    """Undo what was cut off by a kill; what another process is doing is its own."""
    for path, fd in abandoned(records):
        try:
            record = parse(os.pread(fd, os.fstat(fd).st_size, 0))
            if record is not None and record.done:
                tidy(record)
            elif record is not None and (foreign := undo(record)):
                log.warning("not undone, changed by somebody since: %s", ", ".join(foreign))
            path.unlink(missing_ok=True)
        finally:
            os.close(fd)


def _commit(changes: Sequence[Change], records: Path, busy: frozenset[str]) -> tuple[str, ...]:
    work = _Work([p for change in changes for p in prepare(change, records, busy)])
    _distinct(work)
    work.folders = _missing_folders(work)
    try:
        record = OpenRecord(records)
    except OSError as e:
        raise fault(str(records), e) from e
    whole = False
    try:
        _carry_out(work, record, records)
        tidy(work.record())
        whole = True
    except BaseException:
        _take_back(work)
        whole = True
        raise
    finally:
        record.close(keep=not whole)
    return tuple(work.folders)


def _carry_out(work: _Work, record: OpenRecord, records: Path) -> None:
    path = str(records)
    try:
        record.write(work.record(), durable=False)
        for folder in work.folders:
            path = folder
            Path(folder).mkdir(exist_ok=True)
        for prepared in work.prepared:
            path = prepared.step.path
            _stage(prepared)
        # One rename needs no record to be whole; anything more must find it after a power cut.
        several = len(work.prepared) > 1 or work.prepared[0].step.kind == "overwrite"
        path = str(records)
        record.write(work.record(), durable=several)
        for prepared in work.prepared:
            path = prepared.step.path
            _apply(prepared)
        path = str(records)
        record.write(work.record(done=True), durable=False)
        _sync(work)
    except OSError as e:
        raise fault(path, e) from e


def _take_back(work: _Work) -> None:
    try:
        foreign = undo(work.record())
    except OSError as e:
        path = str(e.filename or work.prepared[0].step.path)
        reason = f"could not be put back ({e.strerror}); that is tried again at the next use"
        raise FileFault("other", path, reason) from e
    if foreign:
        log.warning("not put back, changed by somebody since: %s", ", ".join(foreign))


def _distinct(work: _Work) -> None:
    paths = [path for p in work.prepared for path in (p.step.path, p.step.source) if path]
    if len(set(paths)) < len(paths):
        raise Bug(f"a path occurs twice in one commit: {sorted(paths)}")


def _missing_folders(work: _Work) -> list[str]:
    missing: list[str] = []
    for prepared in work.prepared:
        if prepared.step.kind not in ("create", "move"):
            continue
        above: list[str] = []
        folder = Path(prepared.step.path).parent
        while not folder.exists():
            above.append(str(folder))
            folder = folder.parent
        if not folder.is_dir():
            raise FileFault("not_a_folder", str(folder), "is a file, not a folder")
        missing += [f for f in reversed(above) if f not in missing]
    return missing


def _stage(prepared: Prepared) -> None:
    """Write the new file whole, with the rights it will have, and read it back."""
    step, data = prepared.step, prepared.data
    if data is None:
        return
    mode = 0o666 if prepared.like is None else 0o600
    fd = os.open(step.staged, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, mode)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        if prepared.like is not None and step.kind != "overwrite":
            _take_after(fd, prepared.like, prepared.like_path)
        os.fsync(fd)
        if not _holds(fd, data):
            raise FileFault("other", step.path, "did not keep what was written to it")
        made = os.fstat(fd)
    finally:
        os.close(fd)
    if step.kind == "overwrite":
        fd = os.open(step.aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as aside:  # noqa: PTH123  a descriptor, not a path
            aside.write(Path(step.path).read_bytes())
            aside.flush()
            os.fsync(fd)
    else:
        prepared.step = replace(step, inode=(made.st_dev, made.st_ino))


def _holds(fd: int, data: bytes) -> bool:
    if os.fstat(fd).st_size != len(data):
        return False
    # Slices of `bytes`: those of a memoryview are compared one by one, twenty times as slow.
    return all(
        os.pread(fd, BLOCK, at) == data[at : at + BLOCK] for at in range(0, len(data), BLOCK)
    )


def _take_after(fd: int, like: os.stat_result, path: str) -> None:
    """Give the open file the owner, mode and extended attributes (ACLs among them) of `path`."""
    if like.st_uid != os.geteuid() or like.st_gid != os.getegid():
        with suppress(PermissionError):
            os.fchown(fd, like.st_uid, like.st_gid)
    os.fchmod(fd, stat.S_IMODE(like.st_mode))
    if sys.platform != "linux":
        return
    try:
        names = os.listxattr(path)
    except OSError:
        return
    for name in names:
        # `security.*` belongs to the system, and some file systems keep none.
        with suppress(OSError):
            os.setxattr(fd, name, os.getxattr(path, name))


def _apply(prepared: Prepared) -> None:
    step = prepared.step
    try:
        match step.kind:
            case "create":
                _name_new(step)
            case "replace":
                _unchanged(prepared)
                _keep_old(step)
                Path(step.staged).rename(step.path)
            case "overwrite":
                _unchanged(prepared)
                assert prepared.data is not None
                overwrite(step.path, prepared.data)
            case "remove":
                _unchanged(prepared)
                Path(step.path).rename(step.aside)
            case "move":
                _move(step)
    except OSError as e:
        if e.errno in (errno.EBUSY, errno.EXDEV) and step.kind == "replace":
            raise _Busy(step.path) from e
        raise


def _name_new(step: Step) -> None:
    """Give the staged file its name, unless something has it already."""
    try:
        os.link(step.staged, step.path)
    except OSError as e:
        if e.errno not in NO_LINKS:
            raise
        if look(step.path) is not None:
            raise FileFault("exists", step.path, "is there already") from e
        Path(step.staged).rename(step.path)
    else:
        Path(step.staged).unlink()


def _keep_old(step: Step) -> None:
    """A second name for the old file; where there are none, it is moved aside for a moment."""
    try:
        os.link(step.path, step.aside, follow_symlinks=False)
    except OSError as e:
        if e.errno not in NO_LINKS:
            raise
        Path(step.path).rename(step.aside)


def _unchanged(prepared: Prepared) -> None:
    found = look(prepared.step.path)
    if found is None or prepared.found is None or identity(found) != identity(prepared.found):
        path = prepared.step.path
        raise FileFault("changed", path, "was changed by somebody else in the meantime")


def _move(step: Step) -> None:
    if look(step.path) is not None:
        raise FileFault("exists", step.path, "is there already")
    Path(step.source).rename(step.path)


def _sync(work: _Work) -> None:
    paths = {os.path.dirname(p.step.path) for p in work.prepared}  # noqa: PTH120
    for folder in paths:
        # Some file systems cannot sync a folder; the files themselves are safe.
        with suppress(OSError):
            sync_folder(Path(folder))
