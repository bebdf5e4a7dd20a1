"""What every implementation of the `Files` port must do when files are changed."""

import os
import stat
import subprocess
from pathlib import Path

import anyio
import pytest

from hermes.core.errors import Bug
from hermes.ports.files import Change, FileFault, Move, Remove, Write
from places import NOBODY, ODD_NAMES, ROOT, Place, sha

OLD = sha(b"old\n")
root_only = pytest.mark.skipif(not ROOT, reason="only root may do that")


async def test_a_new_file_is_made_with_its_folders_which_are_told(place: Place) -> None:
    place.put("there/x")
    made = await place.files.commit(
        [
            Write(path=place.at("there/a/b/one"), data=b"1", expect=None),
            Write(path=place.at("there/a/two"), data=b"2", expect=None),
            Write(path=place.at("three"), data=b"3", expect=None),
        ]
    )
    assert made.folders == (place.at("there/a"), place.at("there/a/b"))
    assert Path(place.at("there/a/b/one")).read_bytes() == b"1"
    assert Path(place.at("three")).read_bytes() == b"3"
    umask = os.umask(0)
    os.umask(umask)
    assert os.stat(place.at("three")).st_mode & 0o777 == 0o666 & ~umask
    assert os.stat(place.at("there/a")).st_mode & 0o777 == 0o777 & ~umask
    assert (await place.files.commit([])).folders == ()


@pytest.mark.parametrize("data", [b"", b"\n", bytes(range(256)) * 3, b"\0" * 3_000_001])
async def test_what_is_written_is_there_byte_for_byte(place: Place, data: bytes) -> None:
    path = place.put("file")
    new = place.at("new")
    changes = [
        Write(path=path, data=data, expect=OLD),
        Write(path=new, data=data + b"x", expect=None),
    ]
    made = await place.files.commit(changes)
    assert Path(path).read_bytes() == data
    assert Path(new).read_bytes() == data + b"x"
    assert made.written == {path: sha(data), new: sha(data + b"x")}


async def test_a_commit_takes_any_name(place: Place) -> None:
    changes: list[Change] = []
    for n, name in enumerate(ODD_NAMES):
        changes.append(Write(path=place.at(f"{n}/{name}/{name}"), data=b"new", expect=None))
        changes.append(Remove(path=place.put(name), expect=OLD))
        changes.append(Move(source=place.put(f"s{n}/{name}"), target=place.at(f"t{n}/{name}")))
    made = await place.files.commit(changes)
    for n, name in enumerate(ODD_NAMES):
        assert Path(place.at(f"{n}/{name}/{name}")).read_bytes() == b"new"
        assert place.at(f"{n}/{name}") in made.folders
        assert not os.path.lexists(place.at(name))
        assert Path(place.at(f"t{n}/{name}")).read_bytes() == b"old\n"


async def test_a_file_keeps_its_mode(place: Place) -> None:
    for mode in (0o600, 0o4755, 0o664):
        path = place.put("file")
        os.chmod(path, mode)
        await place.files.commit([Write(path=path, data=b"new", expect=OLD)])
        assert stat.S_IMODE(os.stat(path).st_mode) == mode


@root_only
async def test_a_file_keeps_its_owner(place: Place) -> None:
    path = place.put("file")
    os.chown(path, 1234, 4321)
    await place.files.commit([Write(path=path, data=b"new", expect=OLD)])
    at = os.stat(path)
    assert (at.st_uid, at.st_gid, Path(path).read_bytes()) == (1234, 4321, b"new")


async def test_a_file_keeps_its_extended_attributes(place: Place) -> None:
    path = place.put("file")
    if place.kind == "busybox sh":
        pytest.skip("no command of busybox can copy them")
    try:
        os.setxattr(path, "user.colour", b"red")
    except OSError:
        pytest.skip("this file system keeps none")
    await place.files.commit([Write(path=path, data=b"new", expect=OLD)])
    assert os.getxattr(path, "user.colour") == b"red"


async def test_a_file_of_several_names_keeps_them_all(place: Place) -> None:
    path = place.put("file")
    os.link(path, place.at("other"))
    inode = os.stat(path).st_ino
    await place.files.commit([Write(path=path, data=b"newer content", expect=OLD)])
    assert Path(place.at("other")).read_bytes() == b"newer content"
    assert os.stat(path).st_ino == inode


async def test_a_new_file_takes_after_the_one_it_is_a_copy_of(place: Place) -> None:
    like = place.put("like")
    os.chmod(like, 0o4710)
    if ROOT:
        os.chown(like, 1234, 4321)
        os.chmod(like, 0o4710)
    owner = os.stat(like).st_uid
    changes = [
        Write(path=place.at("new"), data=b"new", expect=None, like=like),
        Remove(path=like, expect=OLD),
    ]
    await place.files.commit(changes)
    at = os.stat(place.at("new"))
    assert (stat.S_IMODE(at.st_mode), at.st_uid) == (0o4710, owner)
    missing = Write(path=place.at("x"), data=b"", expect=None, like=place.at("none"))
    await place.refuses([missing], "missing")


async def test_what_is_not_as_expected_changes_nothing_at_all(place: Place) -> None:
    first = Write(path=place.at("deep/first"), data=b"1", expect=None)
    path = place.put("file", b"somebody's")
    link = place.at("link")
    os.symlink("file", link)
    os.mkfifo(place.at("fifo"))
    os.mkdir(place.at("folder"))
    none = place.at("none")
    refuses = place.refuses
    await refuses([first, Write(path=path, data=b"x", expect=OLD)], "changed")
    await refuses([first, Write(path=path, data=b"x", expect=None)], "exists")
    await refuses([first, Write(path=none, data=b"x", expect=OLD)], "changed", "missing")
    await refuses([first, Remove(path=path, expect=OLD)], "changed")
    await refuses([first, Remove(path=none, expect=OLD)], "missing")
    for odd in ("fifo", "folder", "link"):
        await refuses([first, Write(path=place.at(odd), data=b"x", expect=OLD)], "not_a_file")
    for odd in ("fifo", "folder"):
        await refuses([first, Remove(path=place.at(odd), expect=OLD)], "not_a_file")
        move = Move(source=place.at(odd), target=none)
        await refuses([first, move], "not_a_file")
    await refuses([first, Move(source=none, target=place.at("x"))], "missing")
    await refuses([first, Move(source=path, target=link)], "exists")
    below = Write(path=place.at("file/below"), data=b"x", expect=None)
    fault = await refuses([first, below], "not_a_folder")
    assert fault.path.startswith(path)
    await refuses([Write(path=place.at("n" * 256), data=b"x", expect=None)], "bad_path")
    await refuses([Write(path=place.at("a\0b"), data=b"x", expect=None)], "bad_path")


async def test_a_fault_names_the_change_it_is_about(place: Place) -> None:
    path = place.put("the one", b"other")
    changes = [
        Write(path=place.at("a"), data=b"", expect=None),
        Write(path=path, data=b"x", expect=OLD),
        Write(path=place.at("c"), data=b"", expect=None),
    ]
    fault = await place.refuses(changes, "changed")
    assert fault.path == path
    assert fault.reason


async def test_a_path_may_not_occur_twice(place: Place) -> None:
    path = place.put("file")
    twice = [
        [Write(path=path, data=b"1", expect=OLD), Remove(path=path, expect=OLD)],
        [Move(source=path, target=place.at("x")), Write(path=path, data=b"", expect=None)],
    ]
    for changes in twice:
        with pytest.raises((Bug, FileFault)):
            await place.files.commit(changes)
    assert Path(path).read_bytes() == b"old\n"


async def test_removing_a_link_leaves_what_it_points_to(place: Place) -> None:
    path = place.put("file")
    os.symlink("file", place.at("link"))
    os.symlink("nowhere", place.at("dangling"))
    changes = [Remove(path=place.at(name), expect=None) for name in ("link", "dangling")]
    await place.files.commit(changes)
    assert list(place.everything()) == [path]


async def test_a_move_takes_the_thing_itself_along(place: Place) -> None:
    path = place.put("file")
    os.chmod(path, 0o640)
    inode = os.stat(path).st_ino
    os.symlink("file", place.at("link"))
    made = await place.files.commit(
        [
            Move(source=path, target=place.at("new/file")),
            Move(source=place.at("link"), target=place.at("moved")),
        ]
    )
    assert made.folders == (place.at("new"),)
    at = os.stat(place.at("new/file"))
    assert (at.st_ino, stat.S_IMODE(at.st_mode)) == (inode, 0o640)
    assert os.readlink(place.at("moved")) == "file"
    assert not os.path.lexists(path)
    assert not os.path.lexists(place.at("link"))


async def test_a_file_can_be_moved_to_another_file_system(place: Place, small_disk: Path) -> None:
    path = place.put("file", b"content")
    os.chmod(path, 0o640)
    await place.files.commit([Move(source=path, target=f"{small_disk}/a/file")])
    moved = small_disk / "a" / "file"
    assert moved.read_bytes() == b"content"
    assert stat.S_IMODE(moved.stat().st_mode) == 0o640
    assert not os.path.lexists(path)


async def test_a_full_disk_leaves_everything_as_it_was(place: Place, small_disk: Path) -> None:
    path = place.put("first")
    there = place.put("small/there")
    large = os.urandom(300_000)
    for expect, name in ((OLD, there), (None, f"{small_disk}/sub/new")):
        changes = [
            Write(path=path, data=b"1", expect=OLD),
            Write(path=name, data=large, expect=expect),
            Write(path=place.at("new/third"), data=b"3", expect=None),
        ]
        assert (await place.refuses(changes, "full")).path == name
    os.link(there, place.at("small/other"))
    changes = [
        Write(path=path, data=b"1", expect=OLD),
        Write(path=there, data=large, expect=OLD),
    ]
    await place.refuses(changes, "full")


@root_only
async def test_a_fault_in_the_middle_puts_back_what_was_there(place: Place) -> None:
    # A mount point passes every check, and cannot be taken away.
    stuck = place.put("stuck")
    subprocess.run(["mount", "--bind", stuck, stuck], check=True)
    try:
        linked = place.put("linked")
        os.link(linked, place.at("other"))
        os.symlink("replaced", place.at("link"))
        changes: list[Change] = [
            Write(path=place.put("replaced"), data=b"new", expect=OLD),
            Write(path=linked, data=b"newer", expect=OLD),
            Write(path=place.at("a/b/new"), data=b"new", expect=None),
            Remove(path=place.put("removed"), expect=OLD),
            Remove(path=place.at("link"), expect=None),
            Move(source=place.put("moved"), target=place.at("c/moved")),
            Remove(path=stuck, expect=OLD),
            Write(path=place.put("last"), data=b"new", expect=OLD),
        ]
        fault = await place.refuses(changes, "other", "denied")
        assert fault.path == stuck
    finally:
        subprocess.run(["umount", stuck], check=True)


@root_only
async def test_a_file_that_is_a_mount_point_is_written_in_place(place: Place) -> None:
    path = place.put("mounted")
    subprocess.run(["mount", "--bind", path, path], check=True)
    try:
        await place.files.commit([Write(path=path, data=b"in place", expect=OLD)])
        assert Path(path).read_bytes() == b"in place"
    finally:
        subprocess.run(["umount", path], check=True)


@root_only
async def test_a_read_only_file_system_is_denied(place: Place, small_disk: Path) -> None:
    there = place.put("small/there")
    os.symlink("there", f"{small_disk}/link")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    first = Write(path=place.at("first"), data=b"1", expect=None)
    refused: list[Change] = [
        Write(path=there, data=b"x", expect=OLD),
        Write(path=f"{small_disk}/new/file", data=b"x", expect=None),
        Remove(path=there, expect=OLD),
        Remove(path=f"{small_disk}/link", expect=None),
        Move(source=there, target=place.at("moved")),
    ]
    for change in refused:
        await place.refuses([first, change], "denied")


async def test_without_the_right_to_write_nothing_is_changed(open_place: Place) -> None:
    place = open_place
    home = place.folder / "nobody"
    home.mkdir()
    place.records = home / "records"
    place.records.mkdir(mode=0o700)
    for folder in (home, place.records):
        os.chown(folder, 65534, 65534)
    place.files = place.again(before=NOBODY)
    mine = place.put("nobody/file")
    os.chown(mine, 65534, 65534)
    others = place.put("others")
    shared = place.put("shared")
    os.chmod(shared, 0o666)
    first = Write(path=mine, data=b"1", expect=OLD)
    for change in (
        Write(path=others, data=b"x", expect=OLD),
        Write(path=place.at("new"), data=b"x", expect=None),
        Remove(path=others, expect=OLD),
        Move(source=others, target=f"{home}/x"),
    ):
        assert (await place.refuses([first, change], "denied")).path != mine
    # One's right to the file is enough, though it can be had in this folder in place only.
    await place.files.commit([first, Write(path=shared, data=b"2", expect=OLD)])
    assert Path(mine).read_bytes() == b"1"
    assert Path(shared).read_bytes() == b"2"
    assert os.stat(shared).st_uid == 0
    os.chmod(mine, 0o444)
    await place.refuses([Write(path=mine, data=b"3", expect=sha(b"1"))], "denied")


async def test_of_two_commits_to_one_file_one_wins(place: Place) -> None:
    path = place.put("file")
    others = (place.again(), place.again(), place.files)
    for turn in range(4):
        now = Path(path).read_bytes()
        results: list[object] = []

        async def write(n: int, expect: bytes = now, out: list[object] = results) -> None:
            try:
                data = b"%d of %d" % (n, turn)  # noqa: B023  it ends in this turn
                await others[n].commit([Write(path=path, data=data, expect=sha(expect))])
                out.append(data)
            except FileFault as fault:
                out.append(fault.code)

        async with anyio.create_task_group() as group:
            for n in range(3):
                group.start_soon(write, n)
        assert sorted(map(str, results))[1:] == ["changed", "changed"]
        assert Path(path).read_bytes() in results
