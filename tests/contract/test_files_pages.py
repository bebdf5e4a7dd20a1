"""Pages of files, and files that grow while they are looked at; over every implementation of the
`Files` port."""

import os
import subprocess
import sys
import tracemalloc

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hermes.ports.files import DIGEST_BYTES, SNIFF_BYTES, FileFault, Page
from places import Place, sha

APPEND = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
for _ in range(9_000_000):
    os.write(fd, sys.argv[2].encode())
"""


async def test_a_file_that_grows_is_never_read_as_a_mixture(place: Place) -> None:
    path = place.put("log", b"x")
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", APPEND, path, "x"]) as writer:
        try:
            for _ in range(8):
                try:
                    data, found = await place.files.read(path, limit=1 << 30)
                except FileFault as fault:
                    assert fault.code == "changed"
                else:
                    assert len(data) == found.size
        finally:
            writer.kill()


def model(data: bytes, first: int, lines: int, width: int) -> tuple[tuple[bytes, ...], int, bool]:
    """Lines, total and end of a page, by the words of the port."""
    every = data.split(b"\n")
    if every[-1] == b"":
        every.pop()
    cut = tuple(line[:width] for line in every[first - 1 : first - 1 + lines])
    return cut, len(every), data[-1:] in (b"", b"\n")


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.one_of(st.binary(max_size=40), st.just(b"w" * 90)), max_size=12),
    far=st.sampled_from([0, 70_000, 300_000]),
    first=st.integers(1, 12),
    count=st.integers(0, 9),
    width=st.integers(1, 60),
)
@example(lines=[b"a\0b\n", b"c\0"], far=70_000, first=1, count=9, width=2)
@example(lines=[b"", b"\r\n", b""], far=300_000, first=2, count=1, width=1)
async def test_a_page_holds_the_lines_that_were_asked_for(
    place: Place, lines: list[bytes], far: int, first: int, count: int, width: int
) -> None:
    # A long way to go first, so that a page is cut out of more than one block.
    data = b"z" * far + b"\n".join(lines)
    path = place.put("file", data)
    page = await place.files.page(path, first=first, lines=count, width=width)
    assert (page.lines, page.total, page.ended) == model(data, first, count, width)
    assert page.size == len(data)
    assert page.head == data[:SNIFF_BYTES]
    assert page.sha256 == sha(data)
    assert page.stat == await place.files.stat(path)


async def test_a_page_far_inside_a_large_file_is_right_and_small(place: Place) -> None:
    line = b"%07d and what follows\n"
    data = b"".join(line % n for n in range(1, 400_001))
    assert len(data) > DIGEST_BYTES
    path = place.put("log", data)
    page = await place.files.page(path, first=399_999, lines=5, width=9)
    assert page.lines == (b"0399999 a", b"0400000 a")
    assert (page.total, page.ended, page.sha256) == (400_000, True, None)
    del data

    os.truncate(path, 40 << 20)
    tracemalloc.start()
    try:
        page = await place.files.page(path, first=400_001, lines=3, width=100)
        assert page.lines == (b"\0" * 100,)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


async def test_a_file_that_is_appended_to_still_has_pages(place: Place) -> None:
    path = place.put("log", b"first\n" + b"x" * 100_000 + b"\n")
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", APPEND, path, "x\n"]) as writer:
        try:
            for _ in range(5):
                page: Page = await place.files.page(path, first=1, lines=1, width=10)
                assert page.lines == (b"first",)
                assert page.size == page.stat.size
        finally:
            writer.kill()
