"""The store of checkpoints at its own door: what it captures, brings back, refuses, drops."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from hermes.core.clock import ManualClock
from hermes.core.errors import Corrupt, SchemaTooNew, StoreError, UserError
from hermes.ports.undo import Outcome, Restored
from hermes.stores.checkpoints.keep import MEBI, Limits
from undo_place import UndoPlace


@pytest.fixture
def place(tmp_path: Path) -> UndoPlace:
    place = UndoPlace(tmp_path).make()
    place.put("a", b"one\n")
    return place


def hindered(done: Restored) -> dict[str, str | None]:
    return {Path(o.path).name: o.hindrance for o in done.outcomes if o.hindrance}


async def test_looking_makes_nothing(place: UndoPlace) -> None:
    async with place.store() as store:
        assert await store.workspaces() == ()
        assert await store.checkpoints(await store.root(place.root)) == ()
    assert list(place.home.iterdir()) == []


async def test_the_first_state_of_a_turn_is_kept_and_the_last_is_noted(place: UndoPlace) -> None:
    async with place.store() as store:
        for data in (b"two\n", b"three\n"):
            await place.edit(store, 1, {"a": data})
        (file,) = await store.files(place.root, 1)
        assert file.was is not None
        assert file.left is not None
        assert await store.content(file.was.sha256 or b"") == b"one\n"
        assert file.left.size == 6
        assert not file.mixed


async def test_an_unknown_number_is_refused_by_name(place: UndoPlace) -> None:
    async with place.store() as store:
        await place.edit(store, 1, {"a": b"two\n"})
        for number in (0, 2, -1):
            with pytest.raises(UserError, match=f"no checkpoint {number}"):
                await store.files(place.root, number)
            with pytest.raises(UserError, match=f"no checkpoint {number}"):
                await store.restore(place.root, number)


@pytest.mark.parametrize(
    "name",
    ["new\nline", " ", "-rf", "tab\there", "ünï", os.fsdecode(b"\xff\xfe"), "a'\"$(x)`;", "*"],
)
async def test_any_name_that_a_file_can_have_is_brought_back(place: UndoPlace, name: str) -> None:
    place.put(name, b"one\n")
    before = place.picture()
    async with place.store() as store:
        await place.edit(store, 1, {name: b"two\n"})
        await place.command(store, 2, "rm -f ./*; echo x > x")
        assert place.get(name) is None or name.startswith(".")
        done = await store.restore(place.root, 1)
    assert done.complete
    assert place.picture() == before


async def test_a_path_with_a_nul_is_noted_as_unreadable(place: UndoPlace) -> None:
    async with place.store() as store:
        await store.before(place.origin(1), [place.at("a"), place.at("x\0y")])
        found = {file.path: file.not_covered for file in await store.files(place.root, 1)}
    assert found == {place.at("a"): None, place.at("x\0y"): "unreadable"}


async def test_edits_of_a_person_between_two_of_the_agent_are_kept(place: UndoPlace) -> None:
    async with place.store() as store:
        await place.edit(store, 1, {"a": b"two\n"})
        place.put("a", b"two\nmine\n")
        await place.edit(store, 2, {"a": b"three\nmine\n"})
        done = await store.restore(place.root, 1)
        assert (hindered(done), place.get("a")) == ({"a": "edited_between"}, b"three\nmine\n")
        assert (await store.restore(place.root, 2)).complete
        assert place.get("a") == b"two\nmine\n"


async def test_permissions_that_a_person_changed_later_are_an_edit(place: UndoPlace) -> None:
    async with place.store() as store:
        await place.edit(store, 1, {"a": b"two\n"})
        (place.work / "a").chmod(0o755)
        assert hindered(await store.restore(place.root, 1)) == {"a": "edited_after"}
        assert place.get("a") == b"two\n"
        await store.restore(place.root, 1, overwrite=True)
    assert (place.get("a"), (place.work / "a").stat().st_mode & 0o777) == (b"one\n", 0o644)


async def test_permissions_links_and_removed_folders_come_back(place: UndoPlace) -> None:
    place.put("dir/deep/x", b"x")
    (place.work / "dir/deep/x").chmod(0o600)
    (place.work / "run").write_bytes(b"run")
    (place.work / "link").symlink_to("a")
    (place.work / "to-file").symlink_to("nowhere")
    before = place.picture()
    commands = (
        "chmod 755 run",
        "rm -r dir",
        "ln -sfn run link; rm to-file; echo file > to-file",
        "rm a; ln -s run a",
    )
    async with place.store() as store:
        for turn, command in enumerate(commands):
            await place.command(store, turn, command)
        after = place.picture()
        done = await store.restore(place.root, 1)
        assert done.complete
        assert place.picture() == before
        assert done.undo is not None
        assert (await store.restore(place.root, done.undo)).complete
    after[b"dir"] = ("folder",)
    after[b"dir/deep"] = ("folder",)
    assert {k: v for k, v in place.picture().items() if v != ("folder",)} == {
        k: v for k, v in after.items() if v != ("folder",)
    }


async def test_all_names_of_a_file_keep_being_one_file(place: UndoPlace) -> None:
    os.link(place.at("a"), place.at("other"))
    async with place.store() as store:
        await place.edit(store, 1, {"a": b"two\n"})
        assert place.get("other") == b"two\n"
        await place.command(store, 2, "echo three > other")
        done = await store.restore(place.root, 1)
    assert (hindered(done), place.get("a"), place.get("other")) == ({}, b"one\n", b"one\n")
    assert os.stat(place.at("a")).st_nlink == 2


async def test_a_name_that_the_agent_gave_to_another_file_leaves_that_one_alone(
    place: UndoPlace,
) -> None:
    place.put("b", b"b\n")
    before = place.picture()
    async with place.store() as store:
        await place.command(store, 1, "ln -f a b")
        done = await store.restore(place.root, 1)
    assert [(Path(o.path).name, o.deed) for o in done.outcomes] == [("b", "written")]
    assert place.picture() == before


async def test_a_folder_that_became_a_file_becomes_one_again(place: UndoPlace) -> None:
    place.put("dir/x", b"x")
    before = place.picture()
    async with place.store() as store:
        await place.command(store, 1, "rm -r dir; echo file > dir")
        assert (await store.restore(place.root, 1)).complete
    assert place.picture() == before


async def test_below_a_file_of_the_person_nothing_is_made(place: UndoPlace) -> None:
    place.put("dir/x", b"x")
    async with place.store() as store:
        await place.command(store, 1, "rm -r dir; echo two > a")
        place.put("dir", b"mine\n")
        done = await store.restore(place.root, 1)
        assert hindered(done) == {"x": "refused"}
        assert "dir is not a folder" in next(o.detail for o in done.outcomes if o.hindrance)
    assert (place.get("dir"), place.get("a")) == (b"mine\n", b"one\n")


async def test_through_a_link_in_place_of_its_folder_nothing_is_written(place: UndoPlace) -> None:
    place.put("dir/x", b"x")
    place.put("other/x", b"theirs")
    async with place.store() as store:
        await place.edit(store, 1, {"dir/x": b"y"})
        (place.work / "dir").rename(place.work / "moved")
        (place.work / "dir").symlink_to("other")
        done = await store.restore(place.root, 1, overwrite=True)
    assert (hindered(done), place.get("other/x")) == ({"x": "moved"}, b"theirs")


async def test_what_a_person_put_in_place_of_a_file_stays(place: UndoPlace) -> None:
    async with place.store() as store:
        await place.edit(store, 1, {"a": b"two\n"})
        (place.work / "a").unlink()
        (place.work / "a").mkdir()
        assert hindered(await store.restore(place.root, 1, overwrite=True)) == {"a": "not_a_file"}
        (place.work / "a").rmdir()
        os.mkfifo(place.work / "a")
        assert hindered(await store.restore(place.root, 1, overwrite=True)) == {"a": "not_a_file"}


async def test_a_damaged_content_is_never_written(place: UndoPlace) -> None:
    place.put("a", b"1" * 100_000)
    async with place.store() as store:
        await place.edit(store, 1, {"a": b"two\n"})
        (kept,) = [p for p in (place.home / "checkpoints/contents").glob("*/*") if p.is_file()]
        kept.write_bytes(b"2" * 100_000)
        assert hindered(await store.restore(place.root, 1)) == {"a": "damaged"}
        (file,) = await store.files(place.root, 1)
        assert file.was is not None
        with pytest.raises(Corrupt):
            await store.content(file.was.sha256 or b"")
    assert place.get("a") == b"two\n"


async def test_without_a_proven_copy_of_what_is_there_nothing_is_changed(place: UndoPlace) -> None:
    async with place.store() as store:
        await place.edit(store, 1, {"a": b"1" * 100_000})
        await place.edit(store, 2, {"a": b"three\n"})
        await store.restore(place.root, 2)
        assert place.get("a") == b"1" * 100_000
        (kept,) = [p for p in (place.home / "checkpoints/contents").glob("*/*") if p.is_file()]
        kept.unlink()
        done = await store.restore(place.root, 1)
        assert (hindered(done), done.undo) == ({"a": "not_kept"}, None)
    assert place.get("a") == b"1" * 100_000


async def test_the_size_stays_below_the_limit_and_the_oldest_go(place: UndoPlace) -> None:
    place.limits = Limits(file=MEBI, total=MEBI, snapshots=50)
    async with place.store() as store:
        for turn in range(12):
            await place.edit(store, turn, {"a": os.urandom(200_000)})
            (row,) = await store.workspaces()
            assert row.bytes <= MEBI
        rows = await store.checkpoints(place.root)
        assert rows[0].number == 12
        assert len(rows) < 12
        assert all(row.missed == 0 for row in rows)
        assert (await store.restore(place.root, rows[-1].number)).complete
    place.check_store()


async def test_a_restore_never_makes_room_by_what_it_restores(place: UndoPlace) -> None:
    place.limits = Limits(file=MEBI, total=MEBI, snapshots=1)
    place.put("a", os.urandom(800_000))
    old = place.get("a")
    async with place.store() as store:
        await place.edit(store, 1, {"a": os.urandom(800_000)})
        new = place.get("a")
        done = await store.restore(place.root, 1)
        assert (hindered(done), place.get("a")) == ({"a": "not_kept"}, new)
        assert (await store.restore(place.root, 1, overwrite=True)).complete
    assert place.get("a") == old


async def test_a_file_that_is_too_large_is_never_removed_or_cut(place: UndoPlace) -> None:
    place.limits = Limits(file=1000, total=MEBI, snapshots=50)
    place.put("log", b"x" * 2000)
    async with place.store() as store:
        await place.command(store, 1, "echo more >> log; echo two > a")
        (row,) = await store.checkpoints(place.root)
        assert (row.files, row.missed) == (2, 1)
        for overwrite in (False, True):
            done = await store.restore(place.root, 1, overwrite=overwrite)
            assert hindered(done) == {"log": "not_covered"}
    assert (len(place.get("log") or b""), place.get("a")) == (2005, b"one\n")


async def test_age_number_and_lost_folders_are_pruned_and_a_dry_run_only_counts(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    place = UndoPlace(tmp_path, clock=clock).make()
    place.limits = Limits(file=MEBI, total=100 * MEBI, snapshots=2)
    async with place.store() as store:
        for turn in range(2):
            await place.edit(store, turn, {"a": b"%d" % turn})
        clock.advance(place.age + 1)
        await place.edit(store, 3, {"a": b"new"})
        would = await store.prune(dry_run=True, keep_orphans=False)
        assert len(await store.checkpoints(place.root)) == 2
        done = await store.prune(dry_run=False, keep_orphans=False)
        assert (would.checkpoints, done.aged) == (done.checkpoints, 1)
        assert [row.number for row in await store.checkpoints(place.root)] == [3]
        place.work.rename(tmp_path / "elsewhere")
        assert (await store.prune(dry_run=False, keep_orphans=True)).checkpoints == 0
        assert (await store.prune(dry_run=False, keep_orphans=False)).orphaned == 1
        assert await store.workspaces() == ()
    place.check_store()


async def test_a_folder_below_or_above_finds_the_same_checkpoints(place: UndoPlace) -> None:
    (place.work / "pyproject.toml").unlink()
    (place.work / "sub/deep").mkdir(parents=True)
    async with place.store() as store:
        await place.edit(store, 1, {"sub/x": b"x"})
        assert await store.root(place.at("sub/deep")) == place.root
        (place.work / "sub/pyproject.toml").write_bytes(b"")
        assert await store.root(place.at("sub/deep")) == place.root
        (place.folder / "by-link").symlink_to(place.work)
        assert await store.root(str(place.folder / "by-link/sub")) == place.root


async def test_a_command_that_is_proven_to_read_is_not_watched(place: UndoPlace) -> None:
    async with place.store() as store:
        assert await store.command(place.origin(1), "grep -r one . | head") is None
        assert await store.command(place.origin(1, cwd="/"), "touch x") is None
        (row,) = await store.checkpoints("/")
        assert [(gap.code, gap.detail) for gap in row.gaps] == [("place", "/")]


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _garbage(path: Path) -> None:
    path.write_bytes(b"not a database" * 1000)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _page(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 40_000)


@pytest.mark.parametrize("damage", [_cut, _garbage, _empty, _page])
async def test_a_damaged_store_is_refused_kept_and_never_an_empty_list(
    place: UndoPlace, damage: Callable[[Path], None]
) -> None:
    async with place.store() as store:
        await place.edit(store, 1, {"a": b"two\n"})
    path = place.home / "checkpoints/checkpoints.db"
    damage(path)
    data = path.read_bytes()
    async with place.store() as store:
        for _ in range(2):
            with pytest.raises(Corrupt) as caught:
                await store.checkpoints(place.root)
            assert str(path) in str(caught.value)
        with pytest.raises(Corrupt):
            await store.workspaces()
        with pytest.raises(Corrupt):
            await store.restore(place.root, 1)
        await place.edit(store, 2, {"a": b"three\n"})  # no tool is stopped
    assert (path.read_bytes(), place.get("a")) == (data, b"three\n")
    assert list(path.parent.glob("*.corrupt-*"))


async def test_a_store_of_the_first_layout_is_brought_up_to_date(place: UndoPlace) -> None:
    async with place.store() as store:
        await place.edit(store, 1, {"a": b"two\n"})
    with closing(apsw.Connection(str(place.home / "checkpoints/checkpoints.db"))) as db:
        db.execute("ALTER TABLE file DROP COLUMN inode")
        db.pragma("user_version", 1)
    async with place.store() as store:
        await place.edit(store, 2, {"a": b"three\n"})
        assert (await store.restore(place.root, 1)).complete
    assert place.get("a") == b"one\n"


async def test_a_store_of_a_newer_version_is_left_as_it_is(place: UndoPlace) -> None:
    async with place.store() as store:
        await place.edit(store, 1, {"a": b"two\n"})
    with closing(apsw.Connection(str(place.home / "checkpoints/checkpoints.db"))) as db:
        db.pragma("user_version", 99)
    async with place.store() as store:
        with pytest.raises(SchemaTooNew):
            await store.checkpoints(place.root)


async def test_a_folder_in_place_of_the_store_is_an_error(place: UndoPlace) -> None:
    (place.home / "checkpoints").write_bytes(b"")
    async with place.store() as store:
        await place.edit(store, 1, {"a": b"two\n"})
        with pytest.raises(StoreError):
            await store.restore(place.root, 1)
    assert place.get("a") == b"two\n"


async def test_outcomes_are_told_of_each_file_alone(place: UndoPlace) -> None:
    place.put("b", b"one\n")
    async with place.store() as store:
        await place.edit(store, 1, {"a": b"two\n", "b": b"two\n", "c": b"c"})
        place.put("b", b"mine\n")
        (place.work / "c").unlink()
        done = await store.restore(place.root, 1, paths=[place.at("b"), place.at("c")])
        assert done.outcomes == (
            Outcome(path=place.at("b"), hindrance="edited_after"),
            Outcome(path=place.at("c")),
        )
        done = await store.restore(place.root, 1)
        assert [o.deed for o in done.outcomes] == ["written", None, None]
