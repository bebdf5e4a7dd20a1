"""Whoever is killed in the middle of a commit, by the next use all of it is done, or none."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from files_child import changes, content
from hermes.ports.files import FileFault
from places import Place

SUPPORT = str(Path(__file__).parent.parent / "support")


@pytest.fixture
def family(place: Place) -> Place:
    """Generation 0 of what `files_child` changes."""
    for name in ("one", "two", "linked", "here"):
        place.put(name, content(0))
    os.link(place.at("linked"), place.at("other"))
    return place


async def generation(place: Place) -> int:
    """The generation that is there, seen through new eyes; fails if it is a mixture."""
    data, _ = await place.again().read(place.at("one"), limit=1 << 20)
    found = int(data.split(b"\n")[0])
    assert place.leftovers() == []
    names = ["one", "two", "linked", "other"]
    assert {Path(place.at(name)).read_bytes() for name in names} == {content(found)}
    expected = {*names, "there" if found % 2 else "here"}
    if found % 2:
        assert Path(place.at("deep/er/now")).read_bytes() == content(found)
        expected |= {"deep"}
    assert set(os.listdir(place.folder)) - {"deep"} == expected - {"deep"}
    return found


@contextmanager
def committing(place: Place) -> Iterator[subprocess.Popen[bytes]]:
    """A process that commits; it has done so once."""
    command = [sys.executable, "-m", "files_child", place.kind, place.path]
    with subprocess.Popen(
        [*command, str(place.records), str(place.folder)],
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": SUPPORT},
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline()
        yield child


async def test_a_killed_hermes_leaves_all_or_nothing(family: Place) -> None:
    at = random.Random(7)
    last = 0
    for _ in range(8 if family.kind == "local" else 3):
        with committing(family) as child:
            with anyio.move_on_after(at.uniform(0, 0.15)):
                await anyio.sleep_forever()
            child.kill()
        await shells_gone(family)
        found = await generation(family)
        assert found > last
        last = found


async def shells_gone(place: Place) -> None:
    """Wait for the scripts that a killed process had sent, which run to their end."""
    needle = os.fsencode(place.records)

    def running() -> bool:
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and entry.name != str(os.getpid()):
                try:
                    if needle in (entry / "cmdline").read_bytes():
                        return True
                except OSError:
                    continue
        return False

    with anyio.fail_after(10):
        while await anyio.to_thread.run_sync(running):
            await anyio.lowlevel.checkpoint()


async def one_commit(family: Place) -> float:
    """Seconds that it takes from generation 0 to 1 undisturbed."""
    begun = anyio.current_time()
    await family.files.commit(changes(family, 1))
    return anyio.current_time() - begun


async def test_a_killed_shell_leaves_all_or_nothing(family: Place) -> None:
    if family.kind == "local":
        pytest.skip("there is no shell")
    seconds = await one_commit(family)
    found, killed = 1, 0
    for turn in range(20):
        after = f"{seconds * (turn + 1) / 20:.4f}"
        files = family.again(before=("/usr/bin/timeout", "-s", "KILL", after))
        try:
            await files.commit(changes(family, found + 1))
        except FileFault as fault:
            assert fault.code == "unreachable", fault
            killed += 1
        now = await generation(family)
        assert now in (found, found + 1)
        found = now
    assert killed
    await family.files.commit(changes(family, found + 1))
    assert await generation(family) == found + 1


async def test_a_cancelled_commit_leaves_all_or_nothing(family: Place) -> None:
    seconds = await one_commit(family)
    found = 1
    for turn in range(16):
        after = seconds * turn / 16
        with anyio.fail_after(after + 1), anyio.move_on_after(after):
            await family.files.commit(changes(family, found + 1))
        # Nothing is left to be done by whoever comes next.
        assert family.leftovers() == []
        now = await generation(family)
        assert now in (found, found + 1)
        found = now
    await family.files.commit(changes(family, found + 1))
    assert await generation(family) == found + 1
