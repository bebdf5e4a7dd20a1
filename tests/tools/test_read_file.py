"""`read_file`, as a model meets it."""

import base64
import json
import os
import random
import socket
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.core.errors import ToolError
from hermes.tools.files.encoding import sniff
from read_rig import Reader

pytestmark = pytest.mark.anyio

ROOT = os.geteuid() == 0


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    folder = tmp_path / "work"
    folder.mkdir()
    return Reader(folder)


async def test_lines_are_numbered_and_the_last_newline_is_not_a_line(read: Reader) -> None:
    read.put("a", b"one\r\n\ntwo")
    keys = await read("a")
    assert keys["content"] == "1|one\r\n2|\n3|two"
    assert (keys["total_lines"], keys["file_size"], keys["truncated"]) == (3, 9, False)


async def test_a_page_says_where_to_go_on(read: Reader) -> None:
    read.put("a", "".join(f"{n}\n" for n in range(1, 11)))
    keys = await read("a", offset="3", limit=2)
    assert keys["content"] == "3|3\n4|4"
    assert keys["truncated"] is True
    assert "offset 5" in keys["hint"]
    past = await read("a", offset=99)
    assert (past["content"], past["truncated"]) == ("", False)
    assert "10 lines" in past["hint"]


@pytest.mark.parametrize("offset", [-3, 0, None, "abc", [], 10**30, 1e400, True])
async def test_odd_numbers_are_clamped_and_never_an_error(read: Reader, offset: Any) -> None:
    read.put("a", "x\n")
    assert (await read("a", offset=offset, limit=offset))["total_lines"] == 1


@given(
    st.lists(st.text(alphabet="ab\r\x0b\u2028é", max_size=5), max_size=40),
    st.integers(1, 45),
    st.integers(1, 45),
    st.booleans(),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
@settings(max_examples=60)
async def test_any_page_of_any_text_is_those_lines(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[str],
    offset: int,
    limit: int,
    end: bool,
    codec: str,
) -> None:
    read = Reader(tmp_path_factory.mktemp("pages"))
    text = "\n".join(lines) + ("\n" if end and lines else "")
    read.put("a", text.encode(codec))
    keys = await read("a", offset=offset, limit=limit)
    whole = text.split("\n")
    whole = whole[:-1] if text.endswith("\n") or not text else whole
    page = whole[offset - 1 : offset - 1 + limit]
    assert keys["total_lines"] == len(whole)
    assert keys["content"] == "\n".join(f"{n}|{line}" for n, line in enumerate(page, offset))


async def test_a_line_longer_than_a_block_is_clamped_and_counted_once(read: Reader) -> None:
    read.put("a", b"x" * 3_000_000 + b"\nend\n")
    keys = await read("a")
    assert keys["total_lines"] == 2
    assert keys["truncated_lines"] is True
    assert keys["content"] == "1|" + "x" * 2000 + "... [truncated]\n2|end"


async def test_a_page_over_the_budget_ends_at_a_line_and_says_so(read: Reader) -> None:
    read.put("a", ("y" * 1500 + "\n") * 100)
    keys = await read("a")
    assert (keys["truncated"], keys["truncated_by"]) == (True, "bytes")
    assert keys["next_offset"] == keys["content"].count("\n") + 2
    assert len(keys["content"]) <= 100_000
    rest = await read("a", offset=keys["next_offset"])
    assert rest["content"].startswith(f"{keys['next_offset']}|y")
    assert rest["truncated"] is False


async def test_a_line_larger_than_the_budget_is_cut_and_not_left_out(tmp_path: Path) -> None:
    read = Reader(tmp_path, max_chars=100)
    read.put("a", "z" * 500 + "\nend\n")
    keys = await read("a")
    assert keys["content"] == "1|" + "z" * 100 + "... [truncated]"
    assert (keys["truncated_lines"], keys["next_offset"]) == (True, 2)


async def test_controls_are_shown_as_they_are(read: Reader) -> None:
    read.put("a", b"a\x07b\n\x1b]0;t\x07c\n\x0c\x0b\x01d\n")
    assert (await read("a"))["content"] == "1|a\x07b\n2|\x1b]0;t\x07c\n3|\x0c\x0b\x01d"


async def test_another_encoding_is_named(read: Reader) -> None:
    read.put("a.csv", "编号,姓名\n1,张伟\n".encode("gb18030"))
    keys = await read("a.csv", offset=2)
    assert keys["content"] == "2|1,张伟"
    assert "GB18030" in keys["hint"]
    read.put("b", b"caf\xe9\nkeep\n")
    keys = await read("b")
    assert (keys["content"], keys["is_binary"]) == ("1|café\n2|keep", False)
    assert "Windows-1252" in keys["hint"]
    read.put("c", "上\r\nĊ\n".encode("utf-16"))
    keys = await read("c")
    assert (keys["content"], keys["total_lines"]) == ("1|上\r\n2|Ċ", 2)
    assert "UTF-16 LE" in keys["hint"]


async def test_bytes_that_are_no_text_are_marks_far_in_the_file(read: Reader) -> None:
    read.put("a", b"x\n" * 40_000 + b"bad \xff\xfe and \0\n")
    assert (await read("a", offset=40_001))["content"] == "40001|bad \ufffd\ufffd and \0"


@pytest.mark.parametrize(
    "data",
    ["é\r\nb\n".encode(), b"caf\xe9\nx\n", "é漢漢\n".encode() + b"\xff\n", b"\xef\xbb\xbfx\n"],
)
async def test_what_is_shown_is_what_stands_in_the_file(read: Reader, data: bytes) -> None:
    read.put("a", data)
    rows = (await read("a"))["content"].split("\n")
    encoding = sniff(data, True)
    assert encoding is not None
    lines = encoding.decode(data).removesuffix("\n").split("\n")
    for row, line in zip(rows, lines, strict=True):
        shown = row.partition("|")[2]
        assert all(a in (b, "\ufffd") for a, b in zip(shown, line, strict=True))


async def test_what_is_no_text_file_is_refused_for_its_true_reason(read: Reader) -> None:
    read.put("binary", b"\x89PNG\r\n\x1a\n\0\0")
    (read.folder / "folder").mkdir()
    os.mkfifo(read.folder / "pipe")
    keys = await read("binary")
    assert (keys["is_binary"], keys["content"], keys["file_size"]) == (True, "", 10)
    assert "PNG" in keys["error"]
    assert "folder" in (await read("folder"))["error"]
    with anyio.fail_after(5):
        assert (await read("pipe"))["success"] is False
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(read.folder / "socket"))
        assert "socket" in (await read("socket"))["note"]
    assert (await read("/dev/null"))["success"] is False
    assert set(await read("picture.png")) > {"not_found", "error"}
    read.put("picture.png", b"\x89PNG")
    assert "image" in (await read("picture.png"))["error"]
    read.put("a.zip", "just text\n")
    assert set(await read("a.zip")) == {"error"}


@pytest.mark.parametrize(
    "path",
    [
        *("/dev/zero", "/dev/stdin", "/dev/fd/0", "/proc/self/environ", "/proc/self/task/../mem"),
        *("link", "\\\\?\\UNC\\h\\s\\x", "\\??\\C:\\x", "//./pipe/x"),
    ],
)
async def test_devices_and_process_memory_are_not_opened(read: Reader, path: str) -> None:
    (read.folder / "link").symlink_to("/proc/self/environ")
    with anyio.fail_after(5):
        assert set(await read(path)) == {"error"}


async def test_pseudo_files_are_read_truly(read: Reader) -> None:
    keys = await read("/proc/self/status")
    assert keys["content"].startswith("1|Name:")
    assert keys["file_size"] > 0


async def test_a_missing_file_names_what_is_near(read: Reader) -> None:
    read.put("Readme.md", "x")
    read.put("config.yaml", "x")
    keys = await read("readme.txt")
    assert keys["not_found"] is True
    assert keys["similar_files"] == [str(read.folder / "Readme.md")]
    assert (await read("config.yml"))["similar_files"] == [str(read.folder / "config.yaml")]
    assert "similar_files" not in await read("no-folder/x")
    read.put("a.txt", "x")
    assert (await read("a.txt "))["similar_files"] == [str(read.folder / "a.txt")]


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        ("caf\u00e9.txt", "cafe\u0301.txt"),
        ("cafe\u0301.txt", "caf\u00e9.txt"),
        ("Shot 9.41 PM.txt", "Shot 9.41\u202fPM.txt"),
        ("it's.txt", "it\u2019s.txt"),
    ],
)
async def test_a_name_that_only_looks_the_same_is_repaired_and_told(
    read: Reader, asked: str, there: str
) -> None:
    read.put(there, "x\n")
    keys = await read(asked)
    assert keys["content"] == "1|x"
    assert there in keys["hint"]


async def test_of_two_names_that_look_the_same_none_is_taken(read: Reader) -> None:
    read.put("a\u202fb", "1\n")
    read.put("a\u00a0b", "2\n")
    keys = await read("a b")
    assert keys["not_found"] is True
    assert len(keys["similar_files"]) == 2


async def test_secret_files_are_not_read_by_any_spelling(read: Reader) -> None:
    read.put(".env", "KEY=value")
    (read.folder / "link").symlink_to(".env")
    for path in (".env", "./x/../.env", "link", str(read.folder / ".env"), "~/work/.env"):
        assert set(await read(path)) == {"error"}
    read.put(".env.example", "A=1\n")
    assert (await read(".env.example"))["content"] == "1|A=1"


async def test_a_confined_reader_stays_in_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "outside").write_text("x", encoding="utf-8")
    (folder / "link").symlink_to("../outside")
    read = Reader(folder, confine=folder)
    read.put("inside", "y")
    assert (await read("inside"))["content"] == "1|y"
    for path in ("../outside", "link", "/etc/hostname"):
        assert "only files under" in (await read(path))["error"]


@pytest.mark.parametrize("path", ["", " ", None, 7, "a\0b"])
async def test_a_path_that_is_none_is_a_plain_error(read: Reader, path: Any) -> None:
    with pytest.raises(ToolError):
        await read(path)


@pytest.mark.parametrize("path", ["n" * 300, "a/" * 3000 + "x", "file/x", "\ud800"])
async def test_a_path_that_cannot_be_is_an_answer(read: Reader, path: str) -> None:
    read.put("file", "x")
    try:
        keys = await read(path)
    except ToolError:
        return
    assert keys["error"]


@pytest.mark.skipif(ROOT, reason="root may read everything")
async def test_no_permission_is_said(read: Reader) -> None:
    read.put("a", "x").chmod(0)
    assert "permission" in (await read("a"))["error"]


KEY = base64.encodebytes(random.Random(3).randbytes(1200)).decode().replace("\n", "").strip()
PEM = [
    "-----BEGIN RSA PRIVATE KEY-----",
    *(KEY[n : n + 64] for n in range(0, len(KEY), 64)),
    "-----END RSA PRIVATE KEY-----",
]


async def test_a_key_keeps_its_lines_and_the_gutter_its_numbers(read: Reader) -> None:
    read.put("a", "\n".join(["before", *PEM, "after", ""]))
    keys = await read("a")
    rows = keys["content"].split("\n")
    assert [row.partition("|")[0] for row in rows] == [str(n) for n in range(1, len(PEM) + 3)]
    assert (rows[0], rows[-1]) == ("1|before", f"{len(PEM) + 2}|after")
    assert not any(line in keys["content"] for line in PEM[1:-1])


@pytest.mark.parametrize("offset", range(1, len(PEM) + 2, 3))
async def test_a_part_of_a_key_on_a_page_is_masked(read: Reader, offset: int) -> None:
    read.put("a", "\n".join(["before", *PEM, "after", ""]))
    keys = await read("a", offset=offset, limit=4)
    assert keys["content"].startswith(f"{offset}|")
    assert keys["content"].count("\n") == min(4, len(PEM) + 3 - offset) - 1
    assert not any(line in keys["content"] for line in PEM[1:-1])


@pytest.mark.parametrize("place", [1960, 1980, 1999])
async def test_a_secret_across_the_cut_of_a_line_is_masked(read: Reader, place: int) -> None:
    read.put("a", "x " * (place // 2) + "ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345 " + "y" * 900 + "\n")
    assert "ghp_A" not in (await read("a"))["content"]


async def test_conflict_marks_are_counted(read: Reader) -> None:
    read.put("a", "x\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> br\n>>>>>>> stray\n")
    keys = await read("a")
    assert keys["conflict_blocks"] == 1
    assert "_hint" in keys


async def test_a_page_of_a_big_file_says_how_to_find_things(read: Reader) -> None:
    read.put("a", "line\n" * 200_000)
    assert "search_files" in (await read("a"))["_hint"]
    assert "_hint" not in await read("a", limit=10)


async def test_a_reader_waits_for_who_changes_the_file(read: Reader) -> None:
    read.put("a", "half")
    locks = read.tool._locks
    async with anyio.create_task_group() as group:
        async with locks.changing([str(read.folder / "a")]):
            with anyio.move_on_after(0.05) as waiting:
                await read("a")
            assert waiting.cancelled_caught
            read.put("a", "whole")
        group.start_soon(anyio.sleep, 0)
    assert (await read("a"))["content"] == "1|whole"


async def test_content_is_plain_json(read: Reader) -> None:
    read.put("a", 'é "quoted" \\ \t\n')
    assert json.loads(json.dumps(await read("a")))["content"] == '1|é "quoted" \\ \t'
