"""Many processes on one file, killed at any moment: nothing acknowledged is lost or doubled."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import anyio
import apsw
import pytest
import store_child

from hermes.core.clock import SystemClock
from hermes.core.errors import SessionBusy
from hermes.core.ids import SessionId
from hermes.core.people import OWNER
from hermes.stores.sqlite.store import SqliteStore

CHILD = Path(__file__).with_name("store_child.py")
SESSION = SessionId("20260101_000000_abcdef")


def start(*args: object, out: int | None = subprocess.PIPE) -> "subprocess.Popen[str]":
    command = [sys.executable, str(CHILD), *map(str, args)]
    return subprocess.Popen(command, stdout=out, encoding="utf-8")


async def test_what_eight_killed_writers_acknowledged_is_there_once(tmp_path: Path) -> None:
    db = tmp_path / "hermes.db"
    rnd = random.Random(11)
    ids = [SessionId(f"20260101_000000_{n:06x}") for n in range(8)]
    logs = {id: (tmp_path / f"{id}.log").open("a", encoding="utf-8") for id in ids}
    running = {id: start("write", db, id, out=logs[id].fileno()) for id in ids}
    end = time.monotonic() + 12.0
    kills = 0
    while time.monotonic() < end:
        await anyio.sleep(rnd.uniform(0.02, 0.4))
        id = rnd.choice(ids)
        running[id].kill()
        running[id].wait()
        kills += 1
        running[id] = start("write", db, id, out=logs[id].fileno())
    for id, process in running.items():
        told_before = os.fstat(logs[id].fileno()).st_size
        with anyio.fail_after(30):
            while os.fstat(logs[id].fileno()).st_size == told_before:
                await anyio.sleep(0.01)
        process.kill()
        process.wait()
        logs[id].close()

    with closing(apsw.Connection(str(db))) as check:
        assert check.pragma("integrity_check") == "ok"
        assert not check.execute("PRAGMA foreign_key_check").fetchall()
    told = 0
    store = await SqliteStore.open(db, clock=SystemClock())
    for id in ids:
        receipts = [r async for r in store.read(id)]
        texts = [r.value.content[0].text for r in receipts]
        # Each entry holds its own place in the path, so a lost or doubled one shows.
        assert texts == [str(n) for n in range(len(texts))]
        by_number = {n: r.seq for n, r in enumerate(receipts)}
        for line in (tmp_path / f"{id}.log").read_text("utf-8").splitlines():
            seq, session, number = line.split()
            assert (by_number[int(number)], id) == (int(seq), session)
            told += 1
    await store.aclose()
    assert kills > 10
    assert told > 200


async def test_a_dead_owner_is_taken_over_at_once_and_a_live_one_is_named(tmp_path: Path) -> None:
    db = tmp_path / "hermes.db"
    owner = start("claim", db, SESSION)
    assert owner.stdout is not None
    try:
        assert owner.stdout.readline() == "owned\n"
        store = await SqliteStore.open(db, clock=SystemClock())
        with pytest.raises(SessionBusy, match=str(owner.pid)):
            await store.claim(SESSION)
        with pytest.raises(SessionBusy):
            await store.delete(SESSION)
    finally:
        owner.send_signal(signal.SIGKILL)
        owner.communicate()
    lease = await store.claim(SESSION)
    assert lease.fence == 2
    await store.aclose()


async def test_three_hundred_short_writers_all_get_through(tmp_path: Path) -> None:
    db = tmp_path / "hermes.db"
    ids = [SessionId(f"20260101_000000_{n:06x}") for n in range(300)]

    async def short(id: SessionId) -> None:
        store = await SqliteStore.open(db, clock=SystemClock())
        lease = await store_child.own(store, id)
        await store_child.say(store, lease, "hello")
        await store_child.answer(store, lease, "good day")
        await store.aclose()

    async with anyio.create_task_group() as group:
        for id in ids:
            group.start_soon(short, id)
    store = await SqliteStore.open(db, clock=SystemClock())
    for id in ids:
        assert len([r async for r in store.read(id)]) == 2
    await store.aclose()
    with closing(apsw.Connection(str(db))) as check:
        assert check.pragma("journal_mode") == "wal"


async def test_twelve_short_processes_all_get_through(tmp_path: Path) -> None:
    db = tmp_path / "hermes.db"
    ids = [SessionId(f"20260101_000000_{n:06x}") for n in range(12)]
    running = [start("once", db, id) for id in ids]  # the file is made by whoever comes first
    assert [process.communicate(timeout=60)[0] for process in running] == ["done\n"] * 12
    store = await SqliteStore.open(db, clock=SystemClock())
    assert {row.id for row in await store.list(OWNER, limit=100)} == set(ids)
    await store.aclose()


def full_disk(script: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    return subprocess.run(
        [*command, str(folder), sys.executable, str(CHILD)],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_a_full_disk_loses_nothing_and_work_goes_on_when_there_is_space(tmp_path: Path) -> None:
    mount = 'mount -t tmpfs -o size=1500k none "$1"'
    if shutil.which("unshare") is None or full_disk(mount, tmp_path).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    run = full_disk(mount + ' && exec "$2" "$3" fill "$1"', tmp_path)
    assert run.stderr == ""
    full, *rest = run.stdout.splitlines()
    assert full.startswith("full: The disk is full")
    assert rest == ["True", "True"]
