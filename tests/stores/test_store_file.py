"""The database file itself: refused when it is not ours, kept when it is damaged, shared."""

import os
import shutil
import stat
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import anyio
import apsw
import pytest
import store_child

from hermes.core.calls import ToolCall, ToolResult
from hermes.core.clock import ManualClock
from hermes.core.content import Text
from hermes.core.entries import AssistantEntry, ToolBatchEntry, UserEntry
from hermes.core.errors import Corrupt, SchemaTooNew, StoreError
from hermes.core.ids import CallId, SessionId
from hermes.core.inputs import Submit
from hermes.core.people import OWNER, Origin, Principal
from hermes.core.usage import Usage
from hermes.ports.store import Lease
from hermes.stores.sqlite.store import SqliteStore

A = SessionId("20260101_000000_aaaaaa")


async def opened(path: Path) -> SqliteStore:
    return await SqliteStore.open(path, clock=ManualClock())


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "hermes.db"


@pytest.fixture
async def store(db: Path) -> AsyncIterator[SqliteStore]:
    made = await opened(db)
    yield made
    await made.aclose()


@pytest.fixture
async def lease(store: SqliteStore) -> Lease:
    return await store_child.own(store, A)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


async def talk(store: SqliteStore, lease: Lease, words: str) -> None:
    await store_child.say(store, lease, words)
    await store_child.answer(store, lease, words)


async def test_only_its_owner_can_read_the_database(db: Path, lease: Lease) -> None:
    for path in db.parent.glob("hermes.db*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_newer_database_is_refused_and_no_file_changes(db: Path) -> None:
    store = await opened(db)
    await talk(store, await store_child.own(store, A), "hi")
    await store.aclose()
    with closing(apsw.Connection(str(db))) as newer:
        newer.pragma("user_version", 99)
    before = bytes_of(db.parent)
    with pytest.raises(SchemaTooNew, match=r"layout 99"):
        await opened(db)
    assert bytes_of(db.parent) == before


async def test_a_newer_database_that_crashed_is_refused_and_its_log_kept(
    db: Path, tmp_path: Path
) -> None:
    live = tmp_path / "live"
    live.mkdir()
    store = await opened(live / "hermes.db")
    with closing(apsw.Connection(str(live / "hermes.db"))) as newer:
        newer.pragma("user_version", 99)
        for path in live.iterdir():  # as a kill -9 would leave them
            shutil.copyfile(path, tmp_path / path.name)
    await store.aclose()
    names = ("hermes.db", "hermes.db-wal")
    before = [(tmp_path / name).read_bytes() for name in names]
    with pytest.raises(SchemaTooNew):
        await opened(db)
    assert [(tmp_path / name).read_bytes() for name in names] == before


async def test_the_database_of_another_program_is_refused_and_not_touched(db: Path) -> None:
    with closing(apsw.Connection(str(db))) as other:
        other.execute("CREATE TABLE sessions (id)")
    before = bytes_of(db.parent)
    with pytest.raises(StoreError, match="another program"):
        await opened(db)
    assert bytes_of(db.parent) == before


async def test_what_is_no_database_is_refused_and_copied_once(db: Path) -> None:
    db.write_bytes(b"this is not a database\n" * 400)
    for _ in range(2):
        with pytest.raises(Corrupt, match=r"copy is kept at .*hermes\.db\.corrupt-20231114T"):
            await opened(db)
    (copy,) = db.parent.glob("hermes.db.corrupt-*")
    assert copy.read_bytes() == db.read_bytes() == b"this is not a database\n" * 400
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


async def test_a_damaged_page_stops_all_writing_and_a_copy_is_kept(db: Path) -> None:
    store = await opened(db)
    lease = await store_child.own(store, A)
    for n in range(200):
        await talk(store, lease, f"{n} " + "x" * 500)
    other = await store_child.own(store, SessionId("20260101_000000_bbbbbb"))
    await store.aclose()
    with closing(apsw.Connection(str(db))) as look:
        page = look.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'entries'").get
    with db.open("r+b") as file:
        file.seek(4096 * (page - 1))
        file.write(b"\xff" * 4096)
    store = await opened(db)
    with pytest.raises(Corrupt, match="copy is kept"):
        _ = [r async for r in store.read(A)]
    damaged = db.read_bytes()
    with pytest.raises(Corrupt, match="damaged"):
        await store.append_user(other, store_user())
    with pytest.raises(Corrupt):
        await store.list(OWNER)
    await store.aclose()
    assert db.read_bytes() == damaged
    (copy,) = db.parent.glob("hermes.db.corrupt-*")
    assert copy.read_bytes()[4096:] == damaged[4096:]


def store_user() -> UserEntry:
    origin = Origin(surface="cli")
    return UserEntry(turn=store_child.TURN, at=1.0, content=(Text(text="x"),), origin=origin)


async def test_a_clean_close_leaves_one_file(db: Path) -> None:
    store = await opened(db)
    await talk(store, await store_child.own(store, A), "hi")
    await store.list(OWNER)
    await store.aclose()
    assert [p.name for p in db.parent.iterdir()] == ["hermes.db"]


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"none/hermes\.db cannot be opened"):
        await opened(tmp_path / "none" / "hermes.db")


async def test_every_row_names_its_principal(db: Path, store: SqliteStore) -> None:
    ann = Origin(surface="irc", principal=Principal("ann"), trust="paired")
    lease = await store.create(A, ann, cwd="/", epoch=store_child.EPOCH, now=1.0)
    await store_child.say(store, lease, "hi")
    call = ToolCall(id=CallId("c"), tool="t", arguments="{}")
    entry = AssistantEntry(
        turn=store_child.TURN,
        at=1.0,
        content=(),
        calls=(call,),
        model="m",
        usage=Usage(),
        stop="calls",
    )
    await store.append_assistant(lease, entry, usage=None)
    result = ToolResult(call=CallId("c"), content="ok", outcome="ok")
    await store.append_batch(
        lease, ToolBatchEntry(turn=store_child.TURN, at=1.0, results=(result,))
    )
    await store_child.answer(store, lease, "done")
    await store.enqueue(lease, Submit(text="next", origin=ann))
    with closing(apsw.Connection(str(db))) as check:
        tables = [
            name
            for (name,) in check.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
            )
        ]
        for table in tables:
            found = check.execute(f"SELECT DISTINCT principal FROM {table}").fetchall()
            assert found == [("ann",)], table


async def test_a_deleted_session_leaves_only_its_cost(db: Path, store: SqliteStore) -> None:
    lease = await store_child.own(store, A)
    await talk(store, lease, "secret words")
    await store.enqueue(lease, Submit(text="secret", origin=store_child.CLI))
    await store.release(lease)
    await store.delete(A)
    with closing(apsw.Connection(str(db))) as check:
        for table in ("sessions", "entries", "calls", "epochs", "texts", "leases", "inbox"):
            assert check.execute(f"SELECT count(*) FROM {table}").get == 0, table
        assert check.execute("SELECT session, turn, cost_usd FROM usage").fetchall() == [
            (None, "", 0.5)
        ]


async def test_a_prompt_is_stored_once_however_many_sessions_use_it(
    db: Path, store: SqliteStore
) -> None:
    for n in range(5):
        await store_child.own(store, SessionId(f"20260101_000000_{n:06x}"))
    with closing(apsw.Connection(str(db))) as check:
        assert check.execute("SELECT count(*) FROM texts").get == 2  # a prompt and a tool list


async def test_a_long_reader_never_blocks_a_writer(
    db: Path, store: SqliteStore, lease: Lease
) -> None:
    await talk(store, lease, "before")
    with closing(apsw.Connection(str(db))) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM entries").get == 2
        with anyio.fail_after(5):
            for n in range(400):
                await talk(store, lease, f"{n}")
        assert reader.execute("SELECT count(*) FROM entries").get == 2
    assert len((await store.load(lease)).entries) == 802


async def test_waiting_for_another_process_does_not_hold_up_the_loop(
    db: Path, store: SqliteStore, lease: Lease
) -> None:
    ticks = 0
    with closing(apsw.Connection(str(db))) as other:
        other.execute("BEGIN IMMEDIATE")
        async with anyio.create_task_group() as group:
            group.start_soon(talk, store, lease, "patient")
            with anyio.move_on_after(0.2):
                while True:
                    await anyio.sleep(0.005)
                    ticks += 1
            other.execute("ROLLBACK")
    assert ticks > 5
    assert len((await store.load(lease)).entries) == 2


async def test_the_log_is_begun_anew_and_does_not_grow_for_ever(
    db: Path, store: SqliteStore, lease: Lease
) -> None:
    log, written = db.with_name("hermes.db-wal"), 0
    while written < 300_000_000:
        await store_child.say(store, lease, "x" * 60_000)
        await store_child.answer(store, lease, "y")
        written += 60_000
        if written > 3 * log.stat().st_size > 3 * 60_000:
            return
    raise AssertionError(f"{written} bytes were written and the log has {log.stat().st_size}")


async def test_a_surrogate_that_another_program_wrote_is_read_clean(
    db: Path, store: SqliteStore, lease: Lease
) -> None:
    await talk(store, lease, "word")
    with closing(apsw.Connection(str(db))) as other:
        other.execute(
            "UPDATE entries SET body = cast(replace(cast(body AS TEXT), 'word', ?) AS BLOB)"
            " WHERE kind = 'user'",
            ("a\\ud800b",),
        )
        other.execute(
            "UPDATE entries SET body ="
            " cast(replace(cast(body AS TEXT), 'word', 'MARK') AS BLOB) WHERE kind <> 'user'"
        )
        body = other.execute("SELECT body FROM entries WHERE kind <> 'user'").get
        other.execute(
            "UPDATE entries SET body = ? WHERE kind <> 'user'",
            (body.replace(b"MARK", b"\xed\xa0\x80"),),
        )
    first, second = [r.value async for r in store.read(A)]
    assert first.content == (Text(text="a\ufffdb"),)
    assert second.content == (Text(text="\ufffd"),)


async def test_a_row_that_cannot_be_read_is_an_error_and_never_an_empty_entry(
    db: Path, store: SqliteStore, lease: Lease
) -> None:
    await talk(store, lease, "word")
    with closing(apsw.Connection(str(db))) as other:
        other.execute("UPDATE entries SET body = x'7b7d' WHERE kind = 'user'")
    with pytest.raises(StoreError, match=f"{A} holds something that cannot be read"):
        await store.load(lease)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
async def test_a_database_that_may_not_be_written_is_named(db: Path) -> None:
    await (await opened(db)).aclose()
    db.chmod(0o400)
    with pytest.raises(StoreError, match=r"hermes\.db"):
        await store_child.own(await opened(db), A)
