"""A process with a disk of its own, full or read-only, and a store of checkpoints on it.

argv: FOLDER, then `full` (FOLDER is a small empty disk, for home and work), `full-work`
(FOLDER/work is one), or `read-only` (FOLDER/home can be made so). Prints what happened.
"""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import anyio

from hermes.core.errors import StoreError
from undo_place import UndoPlace


async def attempt(place: UndoPlace, number: int) -> str:
    """What a restore came to, in a word for each file."""
    before = place.get("a")
    async with place.store() as store:
        try:
            done = await store.restore(place.root, number)
        except StoreError as e:
            words = [type(e).__name__]
        else:
            words = [str(outcome.deed or outcome.hindrance) for outcome in done.outcomes]
    return " ".join([*words, "unchanged" if place.get("a") == before else "changed"])


def fill(path: Path) -> None:
    with suppress(OSError), path.open("ab", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


async def full(place: UndoPlace) -> None:
    place.put("a", os.urandom(150_000))
    async with place.store() as store:
        await place.edit(store, 1, {"a": os.urandom(150_000)})
    fill(place.work / "ballast")
    print(await attempt(place, 1))
    (place.work / "ballast").unlink()
    print(await attempt(place, 1))
    place.check_store()


async def read_only(place: UndoPlace) -> None:
    place.put("a", b"one\n")
    async with place.store() as store:
        await place.edit(store, 1, {"a": b"two\n"})
    for options in (["--bind", str(place.home)], ["-o", "remount,bind,ro"]):
        subprocess.run(["mount", *options, str(place.home)], check=True)
    print(await attempt(place, 1))
    async with place.store() as store:
        try:
            print(*[row.number for row in await store.checkpoints(place.root)])
        except StoreError as e:
            print(type(e).__name__, str(place.home) in str(e))
        # No tool is stopped.
        await store.before(place.origin(2), [place.at("a")])
        await store.after(place.origin(2), {place.at("a"): b"\0" * 32})
        print("went on")


async def main() -> None:
    folder, what = sys.argv[1:]
    place = UndoPlace(Path(folder))
    place.home.mkdir(exist_ok=True)
    place.work.mkdir(exist_ok=True)
    place.put("pyproject.toml", b"")
    await (read_only if what == "read-only" else full)(place)


if __name__ == "__main__":
    anyio.run(main)
