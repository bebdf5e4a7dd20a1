"""`write_file`, with `read_file` beside it, as a model meets them."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from hands import hands
from hermes.core.errors import ToolError
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.people import Origin
from hermes.ports.tool import SessionState, ToolContext
from hermes.safety.paths import PathPolicy
from hermes.safety.redact import Redactor

pytestmark = pytest.mark.anyio


class Files:
    """The tools in one session in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        policy = PathPolicy(home=folder.parent / "hermes-home", user=folder.parent)
        redactor = Redactor()
        tools = hands(
            policy,
            records=folder.parent / "records",
            redact=lambda text: redactor.redact(text, "file"),
        )
        self.tools = {"read": tools["read_file"], "write": tools["write_file"]}
        self.tools["patch"] = tools["patch"]
        self.context = ToolContext(
            session=SessionId("s"),
            turn=TurnId("t"),
            call=CallId("c"),
            origin=Origin(surface="cli"),
            state=SessionState(str(folder)),
        )

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        touches = await self.tools[tool].touches(arguments, self.context.state)
        context = dataclasses.replace(self.context, touches=touches)
        output = await self.tools[tool].run(arguments, context)
        keys: dict[str, Any] = json.loads(output.content)
        assert (output.outcome == "ok") is not ("error" in keys or keys.get("success") is False)
        return keys


@pytest.fixture
def files(tmp_path: Path) -> Files:
    folder = tmp_path / "work"
    folder.mkdir()
    return Files(folder)


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
    keys = await files("write", path=str(home / ".ssh/id_rsa"), content="x")
    assert "was not written" in keys["error"]
    for path in (home / "hermes-home/config.yaml", Path("/etc/x")):
        with pytest.raises(ToolError, match="was not written"):
            await files("write", path=str(path), content="x")
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
    assert "half a character" in (await files("write", path="a", content="\ud800"))["error"]
    assert not (files.folder / "a").exists()
