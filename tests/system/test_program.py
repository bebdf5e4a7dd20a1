"""A program whose answer is read as it comes, and that never outlives its block."""

import os

import anyio
import pytest

from hermes.system.program import running

pytestmark = pytest.mark.anyio

ENV = {"PATH": "/usr/bin:/bin"}


async def test_its_answer_its_words_and_its_code_are_told() -> None:
    script = "echo one; echo bad >&2; exit 3"
    async with running(["/bin/sh", "-c", script], env=ENV) as program:
        assert await program.receive() == b"one\n"
        assert await program.receive() == b""
        assert await program.end() == (3, "bad\n")


async def test_a_flood_of_complaints_does_not_stop_it() -> None:
    script = "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo done"
    async with running(["/bin/sh", "-c", script], env=ENV) as program:
        with anyio.fail_after(20):
            assert await program.receive() == b"done\n"


async def test_leaving_ends_it_and_all_that_it_started() -> None:
    with anyio.fail_after(20):
        async with running(["/bin/sh", "-c", "sleep 300 & echo $!; wait"], env=ENV) as program:
            child = os.pidfd_open(int(await program.receive()))
        await anyio.wait_readable(child)
        os.close(child)
