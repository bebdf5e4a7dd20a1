"""Readers together, changers alone, in the order they came."""

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.tools.files.path_locks import PathLocks

pytestmark = pytest.mark.anyio


async def test_readers_of_one_path_read_together() -> None:
    locks = PathLocks()
    async with locks.reading("/w/a"), locks.reading("/w/a"), locks.reading("/w"):
        pass


@pytest.mark.parametrize(("held", "wanted"), [("/w/a", "/w/a"), ("/w/a", "/w"), ("/", "/w/a")])
async def test_a_reader_waits_for_a_change_of_its_path_or_of_anything_below_it(
    held: str, wanted: str
) -> None:
    locks = PathLocks()
    order: list[str] = []

    async def read() -> None:
        async with locks.reading(wanted):
            order.append("read")

    async with anyio.create_task_group() as group, locks.changing([held, "/other"]):
        group.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        order.append("changed")
    assert order == ["changed", "read"]


async def test_a_stream_of_readers_does_not_keep_a_change_waiting() -> None:
    locks = PathLocks()
    order: list[str] = []

    async def change() -> None:
        async with locks.changing(["/w/a"]):
            order.append("changed")

    async def read_later() -> None:
        async with locks.reading("/w/a"):
            order.append("second reader")

    async with anyio.create_task_group() as group, locks.reading("/w/a"):
        group.start_soon(change)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(read_later)
        await anyio.wait_all_tasks_blocked()
        order.append("first reader")
    assert order == ["first reader", "changed", "second reader"]


async def test_names_that_only_begin_alike_do_not_wait() -> None:
    locks = PathLocks()
    with anyio.fail_after(5):
        async with locks.changing(["/w/a"]), locks.changing(["/w/ab"]), locks.reading("/w/b"):
            pass


async def test_one_that_gives_up_leaves_the_way_free() -> None:
    locks = PathLocks()
    async with locks.reading("/w"):
        with anyio.move_on_after(0):
            async with locks.changing(["/w"]):
                pass
        async with locks.reading("/w"):
            pass
    async with locks.changing(["/w"]):
        pass


@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from(["/a", "/a/b", "/a/b/c", "/d", "/"])), max_size=12
    )
)
def test_no_change_overlaps_anything_and_all_are_served(claims: list[tuple[bool, str]]) -> None:
    async def main() -> None:
        locks = PathLocks()
        held: list[tuple[bool, str]] = []
        served = 0

        async def hold(change: bool, path: str) -> None:
            nonlocal served
            async with locks.changing([path]) if change else locks.reading(path):
                for other, there in held:
                    inside = f"{there}/".startswith(f"{path}/".replace("//", "/")) or (
                        f"{path}/".startswith(f"{there}/".replace("//", "/"))
                    )
                    assert not (inside and (change or other))
                held.append((change, path))
                await anyio.wait_all_tasks_blocked()
                held.remove((change, path))
                served += 1

        async with anyio.create_task_group() as group:
            for change, path in claims:
                group.start_soon(hold, change, path)
        assert served == len(claims)

    anyio.run(main)
