"""Hermes is killed at every write of the store of checkpoints: nothing is lost, twice, or half."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermes.stores.checkpoints.keep import Limits
from undo_place import UndoPlace

SUPPORT = Path(__file__).parent.parent / "support"
BEFORE = {"a.txt": b"first\n", "big": b"1" * 100_000, "gone": b"gone\n", "mine": b"mine\n"}


@pytest.fixture
def place(tmp_path: Path) -> UndoPlace:
    place = UndoPlace(tmp_path / "place")
    place.folder.mkdir()
    place.make()
    for name, data in BEFORE.items():
        place.put(name, data)
    (place.work / "secret").write_bytes(b"s")
    (place.work / "secret").chmod(0o600)
    (place.work / "link").symlink_to("a.txt")
    (place.work / "run").write_bytes(b"#!/bin/sh\n")
    return place


class Kills:
    """Does an action again and again, from the same beginning, killed one write later each time."""

    def __init__(self, place: UndoPlace, saved: Path, child: "subprocess.Popen[bytes]") -> None:
        self._place = place
        self._saved = saved
        self._child = child

    def each(self, action: str) -> Iterator[list[str]]:
        """What the process came to before it was killed; not for the run that was not."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        for write in range(1, 500):
            self._place.load(self._saved)
            self._child.stdin.write(f"{action} {write}\n".encode())
            self._child.stdin.flush()
            *came_to, end = self._child.stdout.readline().decode().split()
            if end == "done":
                assert write > 5
                return
            assert end == "killed"
            yield came_to


@contextmanager
def killing(place: UndoPlace) -> Iterator[Kills]:
    saved = place.folder.parent / "saved"
    place.save(saved)
    with subprocess.Popen(
        [sys.executable, "-m", "checkpoint_child", str(place.folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SUPPORT)},
    ) as child:
        yield Kills(place, saved, child)


async def test_a_restore_that_was_killed_is_finished_by_the_same_restore(
    place: UndoPlace,
) -> None:
    before = place.picture()
    async with place.store() as store:
        await place.edit(
            store,
            1,
            {"a.txt": b"second\n", "big": b"2" * 100_000, "new/er/file": b"n", "gone": None},
        )
        await place.command(
            store, 1, "rm secret; chmod +x run; ln -sf big link; rm mine; mkdir mine; touch mine/x"
        )
        rows = {Path(file.path).name for file in await store.files(place.root, 1)}
    assert rows == {"a.txt", "big", "file", "gone", "secret", "run", "link", "mine", "x"}
    (place.work / "mine" / "x").unlink()
    (place.work / "mine").rmdir()
    place.put("mine", b"the person's\n")
    after = place.picture()
    wanted = before | {b"mine": after[b"mine"]}
    named = 0
    with killing(place) as kills:
        for _ in kills.each("restore"):
            place.check_store()
            async with place.store() as store:
                gaps = [gap for row in await store.checkpoints(place.root) for gap in row.gaps]
                named += [(gap.code, gap.detail) for gap in gaps] == [("cut_off", "1")]
                done = await store.restore(place.root, 1)
                hindered = {o.path: o.hindrance for o in done.outcomes if o.hindrance}
                assert set(hindered) <= {place.at("mine"), place.at("mine/x")}
                assert place.picture() == wanted
                numbers = [row.number for row in await store.checkpoints(place.root)]
                if len(numbers) > 1:
                    undone = await store.restore(place.root, min(numbers[:-1]))
                    assert undone.complete
                    assert place.picture() == after
                place.check_store()
    assert named > 10


async def test_a_capture_that_was_killed_lost_nothing_that_was_then_changed(
    place: UndoPlace,
) -> None:
    before = place.picture()
    long_ago = time.time() - 7200
    left: list[Path] = []
    with killing(place) as kills:
        for came_to in kills.each("capture"):
            place.check_store()
            async with place.store() as store:
                rows = await store.checkpoints(place.root)
                if "captured" in came_to:
                    files = {file.path: file for file in await store.files(place.root, 1)}
                    for name in ("a.txt", "big"):
                        was = files[place.at(name)].was
                        assert was is not None
                        assert was.sha256 is not None
                        assert await store.content(was.sha256) == BEFORE[name]
                # Whoever comes next puts down what the killed command did.
                await place.command(store, "next", "echo next > next")
                done = await store.restore(place.root, 1, overwrite=True)
                assert done.complete
                now = place.picture()
                now.pop(b"c.txt", None)  # a killed command's new files are not known
                assert now == before
                assert len(rows) <= 1  # the three calls were of one turn
                store_folder = place.home / "checkpoints"
                left += [*store_folder.glob("*.new*"), *store_folder.glob("contents/*.tmp")]
                for path in store_folder.glob("**/*"):
                    os.utime(path, (long_ago, long_ago))
                await store.prune(dry_run=False, keep_orphans=True)
                assert place.stray() == []
                assert [*store_folder.glob("*.new*")] == []
            place.check_store()
    assert len(left) > 1


@pytest.mark.parametrize("action", ["prune", "clear"])
async def test_a_prune_that_was_killed_is_finished_by_the_next(
    place: UndoPlace, action: str
) -> None:
    async with place.store() as store:
        for turn in range(6):
            await place.edit(store, turn, {"big": bytes([turn]) * 100_000, "a.txt": b"%d" % turn})
            await place.command(store, turn, f"echo {turn} > c")
    place.limits = Limits(file=1 << 30, total=1 << 30, snapshots=2)
    with killing(place) as kills:
        for _ in kills.each(action):
            place.check_store()
            async with place.store() as store:
                if action == "clear":
                    await store.clear()
                await store.prune(dry_run=False, keep_orphans=False)
                numbers = [row.number for row in await store.checkpoints(place.root)]
                assert numbers == ([6, 5] if action == "prune" else [])
                for number in numbers:
                    for file in await store.files(place.root, number):
                        assert file.was is not None
                        if file.was.sha256 is not None:
                            assert len(await store.content(file.was.sha256)) == file.was.size
            assert place.stray() == []
            place.check_store()
