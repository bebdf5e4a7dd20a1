"""`read_file` and `write_file`, as a model meets them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.core.errors import ToolError
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.people import Origin
from hermes.ports.tool import SessionState, ToolContext
from hermes.safety.paths import PathPolicy
from hermes.safety.redact import Redactor
from hermes.tools.files.read import ReadFile
from hermes.tools.files.write import WriteFile

pytestmark = pytest.mark.anyio


class Files:
    """Both tools in one session in one folder."""

    def __init__(self, folder: Path, *, confine: Path | None = None) -> None:
        self.folder = folder
        home = folder.parent / "hermes-home"
        policy = PathPolicy(home=home, user=folder.parent, confine=confine)
        redactor = Redactor()
        self.tools = {
            "read": ReadFile(
                policy,
                lambda text: redactor.redact(text, "file"),
                max_lines=2000,
                max_line=2000,
                max_chars=100_000,
            ),
            "write": WriteFile(policy=policy),
        }
        self.context = ToolContext(
            session=SessionId("s"),
            turn=TurnId("t"),
            call=CallId("c"),
            origin=Origin(surface="cli"),
            state=SessionState(str(folder)),
        )

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        output = await self.tools[tool].run(arguments, self.context)
        keys: dict[str, Any] = json.loads(output.content)
        assert (output.outcome == "ok") is not ("error" in keys or keys.get("success") is False)
        return keys


@pytest.fixture
def files(tmp_path: Path) -> Files:
    folder = tmp_path / "work"
    folder.mkdir()
    return Files(folder)


async def test_lines_are_numbered_and_the_last_newline_is_not_a_line(files: Files) -> None:
    (files.folder / "a").write_bytes(b"one\r\n\ntwo")
    keys = await files("read", path="a")
    assert keys["content"] == "1|one\r\n2|\n3|two"
    assert (keys["total_lines"], keys["file_size"], keys["truncated"]) == (3, 9, False)


async def test_a_page_says_where_to_go_on(files: Files) -> None:
    (files.folder / "a").write_text("".join(f"{n}\n" for n in range(1, 11)), encoding="utf-8")
    keys = await files("read", path="a", offset="3", limit=2)
    assert keys["content"] == "3|3\n4|4"
    assert keys["truncated"] is True
    assert "offset 5" in keys["hint"]
    past = await files("read", path="a", offset=99)
    assert (past["content"], past["truncated"]) == ("", False)


@given(
    st.lists(st.text(alphabet="ab\r\x0b\u2028é", max_size=5), max_size=40),
    st.integers(1, 45),
    st.integers(1, 45),
    st.booleans(),
)
@settings(max_examples=60)
async def test_any_page_of_any_text_is_those_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], offset: int, limit: int, end: bool
) -> None:
    folder = tmp_path_factory.mktemp("pages")
    text = "\n".join(lines) + ("\n" if end and lines else "")
    (folder / "a").write_bytes(text.encode())
    keys = await Files(folder)("read", path="a", offset=offset, limit=limit)
    whole = text.split("\n")
    whole = whole[:-1] if text.endswith("\n") or not text else whole
    page = whole[offset - 1 : offset - 1 + limit]
    assert keys["total_lines"] == len(whole)
    assert keys["content"] == "\n".join(f"{n}|{line}" for n, line in enumerate(page, offset))


async def test_a_line_longer_than_a_block_is_clamped_and_counted_once(files: Files) -> None:
    (files.folder / "a").write_bytes(b"x" * 3_000_000 + b"\nend\n")
    keys = await files("read", path="a")
    assert keys["total_lines"] == 2
    assert keys["truncated_lines"] is True
    assert keys["content"].endswith("... [truncated]\n2|end")


async def test_a_page_over_the_budget_ends_at_a_line_and_says_so(files: Files) -> None:
    (files.folder / "a").write_text("y" * 1500 + "\n", encoding="utf-8")
    (files.folder / "a").write_text(("y" * 1500 + "\n") * 100, encoding="utf-8")
    keys = await files("read", path="a")
    assert (keys["truncated"], keys["truncated_by"]) == (True, "bytes")
    assert keys["next_offset"] == keys["content"].count("\n") + 2


async def test_what_is_no_text_file_is_refused_for_its_true_reason(files: Files) -> None:
    (files.folder / "binary").write_bytes(b"a\0b")
    (files.folder / "folder").mkdir()
    os.mkfifo(files.folder / "pipe")
    assert (await files("read", path="binary"))["is_binary"] is True
    assert "folder" in (await files("read", path="folder"))["error"]
    assert (await files("read", path="pipe"))["success"] is False
    assert (await files("read", path="/dev/zero"))["success"] is False


async def test_a_sample_that_cuts_a_character_is_no_binary_file(files: Files) -> None:
    (files.folder / "a").write_bytes(b"x" * 8191 + "é".encode() + b"\n")
    assert "is_binary" in (keys := await files("read", path="a"))
    assert keys["is_binary"] is False


async def test_a_missing_file_names_what_is_near(files: Files) -> None:
    (files.folder / "Readme.md").write_text("x", encoding="utf-8")
    keys = await files("read", path="readme.txt")
    assert keys["not_found"] is True
    assert keys["similar_files"] == [str(files.folder / "Readme.md")]


async def test_secret_files_are_not_read_by_any_spelling(files: Files) -> None:
    (files.folder / ".env").write_text("KEY=value", encoding="utf-8")
    (files.folder / "link").symlink_to(".env")
    for path in (".env", "./x/../.env", "link", str(files.folder / ".env")):
        assert "secrets" in (await files("read", path=path))["error"]


async def test_a_confined_reader_stays_in_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "outside").write_text("x", encoding="utf-8")
    (folder / "inside").write_text("y", encoding="utf-8")
    (folder / "link").symlink_to("../outside")
    files = Files(folder, confine=folder)
    assert (await files("read", path="inside"))["content"] == "1|y"
    for path in ("../outside", "link", "/etc/hostname"):
        assert "only files under" in (await files("read", path=path))["error"]
    assert "error" in await files("write", path="new", content="x")


async def test_a_new_file_is_written_whole_with_its_folders(files: Files) -> None:
    keys = await files("write", path="a/b/c.txt", content="text\n")
    assert (files.folder / "a/b/c.txt").read_text(encoding="utf-8") == "text\n"
    assert (keys["bytes_written"], keys["dirs_created"], keys["verified"]) == (5, True, True)
    again = await files("write", path="a/b/c.txt", content="more\n")
    assert (again["bytes_written"], again["dirs_created"]) == (5, False)


async def test_a_file_is_replaced_only_as_the_model_knows_it(files: Files) -> None:
    path = files.folder / "a"
    path.write_text("one\n", encoding="utf-8")
    assert (await files("write", path="a", content="x"))["stale_write_blocked"] is True
    await files("read", path="a")
    path.write_text("changed\n", encoding="utf-8")
    assert (await files("write", path="a", content="x"))["stale_write_blocked"] is True
    assert path.read_text(encoding="utf-8") == "changed\n"
    await files("read", path="a")
    assert (await files("write", path="a", content="x"))["bytes_written"] == 1


async def test_a_view_that_hid_a_secret_is_no_knowledge_of_the_file(files: Files) -> None:
    path = files.folder / "a"
    path.write_text("token sk-abcdefghijklmnopqrstuvwx\n", encoding="utf-8")
    shown = (await files("read", path="a"))["content"]
    assert "sk-abcdefghijklmnopqrstuvwx" not in shown
    assert (await files("write", path="a", content="x"))["stale_write_blocked"] is True
    masked = await files("write", path="b", content=shown.removeprefix("1|"))
    assert "masked secret" in masked["error"]
    assert not (files.folder / "b").exists()


async def test_own_files_and_credential_stores_are_not_written(files: Files) -> None:
    home = files.folder.parent
    for path in (home / "hermes-home/config.yaml", home / ".ssh/config", Path("/etc/x")):
        keys = await files("write", path=str(path), content="x")
        assert "was not written" in keys["error"]
        assert not path.exists()


@pytest.mark.parametrize("path", ["", " ", None, 7, "a\0b"])
async def test_a_path_that_is_none_is_a_plain_error(files: Files, path: Any) -> None:
    with pytest.raises(ToolError):
        await files("read", path=path)
    with pytest.raises(ToolError):
        await files("write", path=path, content="x")


async def test_content_must_be_text(files: Files) -> None:
    with pytest.raises(ToolError):
        await files("write", path="a", content={"x": 1})
    assert "surrogate" in (await files("write", path="a", content="\ud800"))["error"]
    assert not (files.folder / "a").exists()
