"""Files that are old or new, locks that die with their holder, processes with a name."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.core.errors import UserError
from hermes.system.files import read_text, sha256_file, write_atomic
from hermes.system.locks import FileLock, ProcessIdentity, is_alive, process_identity

HOLDER = (
    "import sys; from pathlib import Path; from hermes.system.locks import FileLock;"
    "lock = FileLock(Path(sys.argv[1])); assert lock.try_acquire(); print('held', flush=True);"
    "sys.stdin.read()"
)


def holder(path: Path) -> subprocess.Popen[bytes]:
    """A process that holds the lock `path` until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=300))
def test_what_is_written_is_what_is_read(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "file"
    write_atomic(path, data)
    assert path.read_bytes() == data
    assert sha256_file(path) == hashlib.sha256(data).hexdigest()
    assert os.listdir(tmp_path) == ["file"]


def test_a_replaced_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    write_atomic(real, b"1", mode=0o640)
    link.symlink_to("real")
    write_atomic(link, b"2")
    assert link.is_symlink()
    assert real.read_bytes() == b"2"
    assert real.stat().st_mode & 0o777 == 0o640
    write_atomic(link, b"3", mode=0o600)
    assert real.stat().st_mode & 0o777 == 0o600


def test_a_new_file_gets_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_atomic(tmp_path / "f", b"")
    finally:
        os.umask(old)
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(OSError):
        write_atomic(folder, b"x")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder"]
    with pytest.raises(FileNotFoundError):
        write_atomic(tmp_path / "missing" / "f", b"x")


def test_a_long_file_name_can_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_atomic(path, b"x")
    assert path.read_bytes() == b"x"


def test_text_that_is_not_utf8_is_named_by_offset(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes("\ufeffgrün\r\n".encode())
    assert read_text(path) == "grün\r\n"
    path.write_bytes(b"ab\nc\xe9d")
    with pytest.raises(UserError, match=r"0xe9 at offset 4 \(line 2\)"):
        read_text(path)


def test_a_lock_is_exclusive_and_names_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    process = holder(path)
    lock = FileLock(path)
    try:
        assert not lock.try_acquire()
        owner = lock.owner()
        assert owner is not None
        assert owner.pid == process.pid
        with pytest.raises(UserError, match=f"process {process.pid}"), lock.hold(0.1):
            pass
    finally:
        process.kill()
        process.communicate()
    with lock.hold(5):
        assert lock.held
        assert not FileLock(path).try_acquire()
    assert not lock.held


async def test_a_task_waits_for_a_lock_and_can_be_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second = FileLock(path), FileLock(path)
    async with first.held_for(1):
        with anyio.move_on_after(0.1) as scope:
            async with second.held_for(60):
                pass
        assert scope.cancelled_caught
    async with second.held_for(1):
        assert second.held


def test_a_process_is_known_by_more_than_its_pid() -> None:
    me = process_identity()
    assert is_alive(me)
    assert ProcessIdentity.parse(str(me)) == me
    if me.weak:
        return
    assert not is_alive(ProcessIdentity(boot=me.boot, pid=me.pid, started=me.started + 1))
    assert not is_alive(ProcessIdentity(boot="another", pid=me.pid, started=me.started))


def test_a_dead_process_is_dead_even_as_a_zombie() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    identity = process_identity(process.pid)
    assert is_alive(identity)
    process.send_signal(signal.SIGKILL)
    if not identity.weak:
        deadline = time.monotonic() + 10
        while is_alive(identity) and time.monotonic() < deadline:
            pass
        assert not is_alive(identity)
    process.communicate()
    assert not is_alive(identity)
    with pytest.raises(ProcessLookupError):
        process_identity(process.pid)
