"""Reading the same again: no text twice for nothing, and never an old text for a new one."""

import os
import time
from pathlib import Path

import pytest

from hermes.ports.files import DIGEST_BYTES
from read_rig import Reader

pytestmark = pytest.mark.anyio


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    folder = tmp_path / "work"
    folder.mkdir()
    return Reader(folder)


async def test_an_unchanged_file_is_not_sent_twice_and_then_refused(read: Reader) -> None:
    read.put("a", "x\ny\n")
    assert (await read("a"))["content"] == "1|x\n2|y"
    again = await read("a")
    assert again["status"] == "unchanged"
    assert (again["dedup"], again["content_returned"], again["path"]) == (True, False, "a")
    refused = await read(str(read.folder / "a"))
    assert (refused["already_read"], refused["guardrail_refusal"]) == (3, True)
    assert (await read("a"))["already_read"] == 4


async def test_other_lines_of_the_same_file_are_another_read(read: Reader) -> None:
    read.put("a", "x\ny\n")
    await read("a", limit=1)
    assert (await read("a", offset=2))["content"] == "2|y"
    assert (await read("a", limit=1))["status"] == "unchanged"


async def test_a_file_that_changes_is_read_however_often(read: Reader) -> None:
    for n in range(12):
        read.put("a", f"{n % 10}\n")
        keys = await read("a")
        assert keys["content"] == f"1|{n % 10}"
        assert "_warning" not in keys


async def test_a_change_that_no_date_shows_is_seen(read: Reader) -> None:
    path = read.put("a", "one\n")
    at = path.stat().st_mtime_ns
    await read("a")
    path.write_bytes(b"two\n")
    os.utime(path, ns=(at, at))
    assert (await read("a"))["content"] == "1|two"


async def test_a_new_date_alone_is_no_change(read: Reader) -> None:
    path = read.put("a", "one\n")
    await read("a")
    os.utime(path, (1, 1))
    assert (await read("a"))["status"] == "unchanged"


async def test_a_change_outside_the_page_is_a_change(read: Reader) -> None:
    read.put("a", "one\ntwo\n")
    await read("a", limit=1)
    read.put("a", "one\nTWO\n")
    assert (await read("a", limit=1))["content"] == "1|one"


async def test_a_later_turn_gets_the_text_by_asking_once(read: Reader) -> None:
    read.put("a", "x\n")
    for turn in ("t1", "t2", "t3", "t4", "t5"):
        read.turn = turn
        keys = await read("a")
        assert keys["content"] == "1|x"
        assert "_warning" not in keys
    assert (await read("a"))["status"] == "unchanged"


async def test_a_file_too_large_to_be_hashed_is_read_again_while_its_state_is_unsure(
    read: Reader,
) -> None:
    path = read.put("a", b"line\n" * (DIGEST_BYTES // 5 + 1))
    shown = [await read("a", limit=2) for _ in range(4)]
    assert [keys.get("content") for keys in shown] == ["1|line\n2|line"] * 3 + [None]
    assert ["_warning" in keys for keys in shown] == [False, False, True, False]
    assert (shown[3]["already_read"], shown[3]["guardrail_refusal"]) == (4, True)
    with path.open("ab") as file:
        file.write(b"more\n")
    assert (await read("a", limit=2))["total_lines"] == shown[0]["total_lines"] + 1


async def test_a_missing_file_is_looked_for_anew_each_time(read: Reader) -> None:
    assert (await read("a"))["not_found"] is True
    assert (await read("a"))["not_found"] is True
    read.put("a", "now\n")
    assert (await read("a"))["content"] == "1|now"


async def test_knowledge_of_a_file_is_whole_only_by_all_lines_of_one_version(read: Reader) -> None:
    assert read.known("a") == "never"
    read.put("a", "1\n2\n3\n")
    await read("a", limit=1)
    assert read.known("a") == "partial"
    await read("a", offset=3)
    assert read.known("a") == "partial"
    await read("a", offset=2, limit=1)
    assert read.known("a") == "whole"
    read.put("a", "1\n2\n4\n")
    await read("a", limit=2)
    assert read.known("a") == "partial"
    await read("a", offset=3)
    assert read.known("a") == "whole"


async def test_a_hidden_or_cut_line_is_not_known(read: Reader) -> None:
    read.put("secret", "k = 'ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345'\n")
    await read("secret")
    assert read.known("secret") == "redacted"
    read.put("long", "x" * 3000 + "\ny\n")
    await read("long")
    assert read.known("long") == "partial"
    read.put("empty", "")
    await read("empty")
    assert read.known("empty") == "whole"


async def test_a_small_read_is_cheap(read: Reader) -> None:
    for n in range(60):
        read.put(f"{n}", "def f():\n    return 1\n" * 20)
    await read("0")
    start = time.process_time()
    for n in range(1, 60):
        await read(f"{n}")
    assert (time.process_time() - start) / 59 < 0.02
