"""What every implementation of the `Files` port must do when files are looked at."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

import anyio
import pytest

from hermes.ports.files import FaultCode, FileFault
from places import NOBODY, ODD_NAMES, Place


@contextmanager
def faults(*codes: FaultCode) -> Iterator[None]:
    with pytest.raises(FileFault) as fault:
        yield
    assert fault.value.code in codes, fault.value


async def test_a_path_is_taken_from_the_folder_it_is_relative_to(place: Place) -> None:
    locate = place.files.locate
    cwd = str(place.folder)
    assert await locate("a/b", cwd) == place.at("a/b")
    assert await locate("./a//../c/", cwd) == place.at("c")
    assert await locate("/", cwd) == "/"
    assert await locate("/../usr/./", cwd) == "/usr"
    assert await locate(place.at("x"), "/usr") == place.at("x")


async def test_a_tilde_is_the_home_folder_of_that_machine(place: Place) -> None:
    home = place.files.home
    assert home is not None
    assert await place.files.locate("~", "/") == home
    assert await place.files.locate("~/notes", "/usr") == f"{home}/notes"
    assert await place.files.locate("~root/x", "/usr") == "/root/x"
    assert await place.files.locate("~no-such-user", "/usr") == "/usr/~no-such-user"
    assert await place.files.locate("a~", "/usr") == "/usr/a~"


async def test_all_links_of_a_path_are_followed(place: Place) -> None:
    locate = place.files.locate
    place.put("deep/er/file")
    os.symlink("deep/er", place.at("link"))
    os.symlink("link", place.at("chain"))
    os.symlink(place.at("deep"), place.at("absolute"))
    os.symlink("../link/file", place.at("deep/up"))
    cwd = str(place.folder)
    assert await locate("chain/file", cwd) == place.at("deep/er/file")
    assert await locate("chain/..", cwd) == place.at("deep")
    assert await locate("absolute/er/../up", cwd) == place.at("deep/er/file")
    assert await locate("chain/new/file", cwd) == place.at("deep/er/new/file")


async def test_with_entry_the_last_link_stays_what_it_is(place: Place) -> None:
    locate = place.files.locate
    place.put("deep/file")
    os.symlink("deep", place.at("link"))
    os.symlink("file", place.at("deep/last"))
    cwd = str(place.folder)
    assert await locate("link", cwd, entry=True) == place.at("link")
    assert await locate("link/last", cwd, entry=True) == place.at("deep/last")
    assert await locate("link/.", cwd, entry=True) == place.at("deep")
    assert await locate("link/none", cwd, entry=True) == place.at("deep/none")


async def test_a_name_means_its_file_and_the_link_that_it_is(place: Place) -> None:
    place.put("deep/file")
    os.symlink("deep/file", place.at("link"))
    cwd = str(place.folder)
    assert await place.files.named("link", cwd) == (place.at("deep/file"), place.at("link"))
    assert await place.files.named("deep/../deep/file", cwd) == (place.at("deep/file"),)
    assert await place.files.named("deep/none", cwd) == (place.at("deep/none"),)


async def test_what_does_not_exist_is_resolved_as_far_as_it_does(place: Place) -> None:
    os.symlink("nowhere/at/all", place.at("dangling"))
    cwd = str(place.folder)
    assert await place.files.locate("dangling/x", cwd) == place.at("nowhere/at/all/x")
    assert await place.files.locate("none/../other", cwd) == place.at("other")


async def test_a_loop_of_links_is_a_bad_path(place: Place) -> None:
    os.symlink("two", place.at("one"))
    os.symlink("one", place.at("two"))
    with faults("bad_path"):
        await place.files.locate("one", str(place.folder))
    assert await place.files.locate("one", str(place.folder), entry=True) == place.at("one")


async def test_a_path_with_nul_or_a_name_too_long_is_a_bad_path(place: Place) -> None:
    with faults("bad_path"):
        await place.files.locate("a\0b", "/")
    for path in (place.at("a\0b"), place.at("n" * 256), "/x" * 2500):
        with faults("bad_path"):
            await place.files.read(path, limit=10)


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
async def test_any_name_is_data(place: Place, name: str) -> None:
    data = name.encode("utf-8", "surrogateescape")
    path = place.put(name, data)
    os.symlink(name, place.at("link"))
    assert await place.files.locate(name, str(place.folder)) == path
    assert await place.files.locate("link", str(place.folder)) == path
    assert (await place.files.read(path, limit=300))[0] == data
    assert await place.files.link(place.at("link")) == name
    assert (await place.files.page(path, first=1, lines=9, width=999)).head == data
    assert await place.files.names(str(place.folder)) == tuple(sorted((name, "link")))
    tree = await place.files.tree(str(place.folder), limit=10)
    assert {entry.path for entry in tree.entries} == {path, place.at("link")}


async def test_every_kind_of_thing_is_told_apart(place: Place) -> None:
    place.put("file")
    os.mkdir(place.at("folder"))
    os.symlink("none", place.at("link"))
    os.mkfifo(place.at("fifo"))
    with socket.socket(socket.AF_UNIX) as door, chdir(place.folder):
        door.bind("socket")
    for name in ("file", "folder", "link", "fifo", "socket"):
        found = await place.files.stat(place.at(name))
        assert found is not None
        assert found.kind == name
    found = await place.files.stat("/dev/null")
    assert found is not None
    assert found.kind == "device"
    assert await place.files.stat(place.at("none")) is None
    assert await place.files.stat(place.at("file/below")) is None
    assert await place.files.stat(place.at("no/such/folder")) is None


async def test_a_stat_tells_size_mode_links_and_times_as_they_are(place: Place) -> None:
    path = place.put("file", b"12345")
    os.link(path, place.at("other"))
    os.chmod(path, 0o4751)
    os.utime(path, ns=(1, 1_234_567_890_123_456_789))
    found = await place.files.stat(path)
    real = os.stat(path)
    assert found is not None
    assert (found.size, found.mode, found.links) == (5, 0o4751, 2)
    assert found.mtime == 1_234_567_890_123_456_789
    times = (real.st_mtime_ns, real.st_ctime_ns)
    assert found.identity == (real.st_dev, real.st_ino, 5, *times)


async def test_the_identity_changes_with_every_change_and_with_nothing_else(place: Place) -> None:
    path = place.put("file", b"12345")
    seen = set()

    async def look() -> None:
        found = await place.files.stat(path)
        again = await place.files.stat(path)
        assert found is not None
        assert again is not None
        assert found.identity == again.identity
        assert found.identity not in seen
        assert (await place.files.read(path, limit=99))[1].identity == found.identity
        seen.add(found.identity)

    await look()
    Path(path).write_bytes(b"54321")
    await look()
    with open(path, "ab") as file:
        file.write(b"6")
    await look()
    os.utime(path, ns=(0, 0))
    await look()
    os.chmod(path, 0o600)
    await look()
    other = place.put("new", b"54321")
    os.utime(other, ns=(0, 0))
    os.replace(other, path)
    await look()


async def test_only_a_file_that_has_rested_is_settled(place: Place) -> None:
    fresh = place.put("file")
    os.utime(fresh, ns=(0, 0))
    found = await place.files.stat(fresh)
    assert found is not None
    assert not found.settled, "its ctime is new"
    found = await place.files.stat(os.path.realpath(sys.executable))
    assert found is not None
    assert found.settled


@pytest.mark.parametrize("data", [b"", b"\n", bytes(range(256)), b"x\n" * 70_000, b"no end"])
async def test_a_file_is_read_byte_for_byte(place: Place, data: bytes) -> None:
    path = place.put("file", data)
    read, found = await place.files.read(path, limit=len(data))
    assert read == data
    assert found == await place.files.stat(path)
    if data:
        with faults("too_large"):
            await place.files.read(path, limit=len(data) - 1)


async def test_what_is_no_regular_file_is_refused_at_once(place: Place) -> None:
    os.mkfifo(place.at("fifo"))
    place.put("file")
    with anyio.fail_after(10):
        for path in (place.at("fifo"), "/dev/zero", str(place.folder), "/dev/tty"):
            with faults("not_a_file"):
                await place.files.read(path, limit=10)
            with faults("not_a_file"):
                await place.files.page(path, first=1, lines=1, width=1)
    for name in ("none", "no/folder", "file/below"):
        with faults("missing", "not_a_folder"):
            await place.files.read(place.at(name), limit=10)
        with faults("missing", "not_a_folder"):
            await place.files.page(place.at(name), first=1, lines=1, width=1)


async def test_a_file_that_says_it_is_empty_is_read_truly(place: Place) -> None:
    version = Path("/proc/version").read_bytes()
    assert (await place.files.read("/proc/version", limit=10_000))[0] == version
    page = await place.files.page("/proc/version", first=1, lines=1, width=5)
    assert page.lines == (version[:5],)
    assert page.size == len(version)
    with faults("too_large"):
        await place.files.read("/proc/version", limit=5)


async def test_a_link_tells_where_it_points_as_it_is_written(place: Place) -> None:
    for n, target in enumerate(("none", "../a/./b//", "/abs", "line\n\n", "-n")):
        os.symlink(target, place.at(str(n)))
        assert await place.files.link(place.at(str(n))) == target
    with faults("missing"):
        await place.files.link(place.at("none"))


async def test_names_are_sorted_and_hidden_ones_are_there(place: Place) -> None:
    made = (".a", "..b", "b", "B", "a", "é", os.fsdecode(b"\xe9"), "...")
    for name in made:
        place.put(name)
    os.symlink("nowhere", place.at("dangling"))
    expected = tuple(sorted((*made, "dangling")))
    assert await place.files.names(str(place.folder)) == expected
    os.mkdir(place.at("empty"))
    assert await place.files.names(place.at("empty")) == ()
    with faults("missing"):
        await place.files.names(place.at("none"))
    with faults("not_a_folder"):
        await place.files.names(place.at("b"))


async def test_a_tree_holds_everything_and_follows_no_link(place: Place) -> None:
    place.put("one", b"123")
    place.put(".hidden/deep/file")
    os.symlink(".hidden", place.at("link"))
    os.mkfifo(place.at("fifo"))
    os.utime(place.at("one"), ns=(0, 1_000_000_007))
    tree = await place.files.tree(str(place.folder), limit=100)
    assert tree.complete
    assert tree.skipped == ()
    kinds = {os.path.relpath(e.path, place.folder): e.kind for e in tree.entries}
    assert kinds == {
        "one": "file",
        ".hidden": "folder",
        ".hidden/deep": "folder",
        ".hidden/deep/file": "file",
        "link": "link",
        "fifo": "fifo",
    }
    folders = await place.files.tree(str(place.folder), limit=2, folders=True)
    assert folders.complete
    assert {e.path for e in folders.entries} == {place.at(".hidden"), place.at(".hidden/deep")}
    (one,) = (e for e in tree.entries if e.path == place.at("one"))
    assert (one.size, one.mtime) == (3, 1_000_000_007)
    with faults("missing"):
        await place.files.tree(place.at("none"), limit=1)


async def test_a_tree_stops_at_its_limit_and_says_so(place: Place) -> None:
    for n in range(30):
        place.put(f"{n % 3}/{n}")
    assert (await place.files.tree(str(place.folder), limit=33)).complete
    tree = await place.files.tree(str(place.folder), limit=32)
    assert not tree.complete
    assert len(tree.entries) == 32


async def test_what_may_not_be_read_is_told_and_not_left_out(open_place: Place) -> None:
    place = open_place
    secret = place.put("closed/secret")
    shown = place.put("open/shown")
    os.chmod(place.at("closed"), 0o700)
    os.chmod(shown, 0o600)
    files = place.again(before=NOBODY)
    tree = await files.tree(str(place.folder), limit=10)
    assert [path for path, _ in tree.skipped] == [place.at("closed")]
    assert shown in {entry.path for entry in tree.entries}
    for path in (secret, shown):
        with faults("denied"):
            await files.read(path, limit=10)
    with faults("denied"):
        await files.stat(secret)
    with faults("denied"):
        await files.names(place.at("closed"))


async def test_ripgrep_gets_its_arguments_and_its_answers_come_back(place: Place) -> None:
    program = Path(place.put("bin/rg"))
    program.write_text(
        "#!/bin/sh\nprintf '%s\\000' \"$@\"\necho said >&2\nexit 3\n", encoding="utf-8"
    )
    program.chmod(0o755)
    place.path = f"{program.parent}:{place.path}"
    arguments = [*ODD_NAMES, "", *["x" * 60_000] * 4]
    with anyio.fail_after(10):
        async with place.again().ripgrep(arguments) as output:
            assert output is not None
            said = b""
            while piece := await output.receive():
                said += piece
            assert await output.end() == (3, "said\n")
    assert said.split(b"\0")[:-1] == [os.fsencode(argument) for argument in arguments]


async def test_leaving_ripgrep_ends_it(place: Place) -> None:
    program = Path(place.put("bin/rg"))
    program.write_text("#!/bin/sh\necho $$\nexec sleep 1000\n", encoding="utf-8")
    program.chmod(0o755)
    place.path = f"{program.parent}:{place.path}"
    async with place.again().ripgrep([]) as output:
        assert output is not None
        pid = int(await output.receive())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_without_ripgrep_there_is_none(place: Place) -> None:
    if place.kind != "busybox sh":
        pytest.skip("this PATH may have one")
    async with place.files.ripgrep(["x"]) as output:
        assert output is None


async def test_a_slow_look_can_be_cancelled_and_leaves_nothing(shell_place: Place) -> None:
    pid = Path(shell_place.at("pid"))
    files = shell_place.again(lead=f"sleep 1000 & echo $! >'{pid}'; wait\n")
    with anyio.fail_after(10), anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(files.stat, str(pid))
            while not pid.exists() or not pid.read_text(encoding="ascii").endswith("\n"):
                await anyio.lowlevel.checkpoint()
            with anyio.fail_after(1):
                scope.cancel()
    state = Path(f"/proc/{int(pid.read_text(encoding='ascii'))}/stat")
    with anyio.fail_after(1):
        while state.exists() and state.read_text(encoding="ascii").split()[2] not in "ZX":
            await anyio.lowlevel.checkpoint()


async def test_a_machine_that_does_not_answer_is_unreachable(shell_place: Place) -> None:
    for files in (
        shell_place.again(before=("/no/such/program",)),
        shell_place.again(lead="exec >&-; echo 'no route' >&2; exit 255\n"),
        shell_place.again(lead="sleep 1000\n", patience=0.1),
    ):
        with anyio.fail_after(10), faults("unreachable"):
            await files.stat("/")
