"""Families edit-refuses, edit-corrupts, encoding, fs-views, redaction, rollback: about files."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from hands import hands
from hermes.core.errors import ToolError
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.people import Origin
from hermes.ports.tool import SessionState, ToolContext
from hermes.safety.paths import PathPolicy
from hermes.safety.redact import Redactor
from undo_place import UndoPlace

pytestmark = pytest.mark.anyio


class Desk:
    """The file tools in one session; the working folder is not that of the process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.user = folder / "user"
        self.folder.mkdir()
        self.user.mkdir()
        policy = PathPolicy(home=folder / "hermes", user=self.user)
        redactor = Redactor()
        self.tools = hands(
            policy, records=folder / "records", redact=lambda text: redactor.redact(text, "file")
        )
        self.context = ToolContext(
            session=SessionId("s"),
            turn=TurnId("t"),
            call=CallId("c"),
            origin=Origin(surface="cli"),
            state=SessionState(str(self.folder)),
        )

    async def __call__(self, name: str, **arguments: Any) -> dict[str, Any]:
        tool = self.tools[name]
        touches = await tool.touches(arguments, self.context.state)
        context = dataclasses.replace(self.context, touches=touches)
        keys: dict[str, Any] = json.loads((await tool.run(arguments, context)).content)
        return keys

    async def edit(self, old: str, new: str, path: str = "f") -> dict[str, Any]:
        return await self("patch", path=path, old_string=old, new_string=new)

    def put(self, data: bytes, path: str = "f") -> None:
        (self.folder / path).write_bytes(data)

    def get(self, path: str = "f") -> bytes:
        return (self.folder / path).read_bytes()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_an_edit_that_is_sent_five_times_is_there_once(desk: Desk) -> None:
    desk.put(b"# A\n\nrest\n")
    for _ in range(5):
        keys = await desk.edit("# A\n", "# A\n\nA paragraph of its own.\n")
        assert keys["success"]
    assert desk.get().count(b"paragraph") == 1


async def test_a_row_that_only_looks_alike_is_not_taken(desk: Desk) -> None:
    table = "".join(f"| item {n} | open | 10{n} |\n" for n in range(1, 5)).encode()
    desk.put(table)
    keys = await desk(
        "patch",
        mode="patch",
        patch="*** Begin Patch\n*** Update File: f\n@@\n | item 2 | closed | 102 |\n"
        "-| item 3 | opened | 103 |\n+| item 3 | done | 103 |\n*** End Patch\n",
    )
    assert (keys["success"], "line " in keys["error"], desk.get()) == (False, True, table)


@pytest.mark.parametrize(
    ("before", "old", "new"),
    [
        (b"a\nb\nc\n", "a\\nb", "a\\nB"),
        (b"| 1 |\n| 2 |\n| 3 |\n", "|  1 |\n|  2 |", "| 1 |\\n| two |"),
    ],
)
async def test_escapes_never_become_two_characters_of_a_file_by_guessing(
    desk: Desk, before: bytes, old: str, new: str
) -> None:
    desk.put(before)
    keys = await desk.edit(old, new)
    after = desk.get()
    assert after == before if not keys["success"] else b"\\n" not in after or new.encode() in after


async def test_backslashes_and_quotes_reach_the_disk_as_they_were_sent(desk: Desk) -> None:
    desk.put(b"echo $'it\\'s'\n")
    new = "echo $'that\\'s \\\\ all'"
    assert (await desk.edit("echo $'it\\'s'", new))["success"]
    assert desk.get() == new.encode() + b"\n"


async def test_a_backslash_and_r_in_a_crlf_table_is_data(desk: Desk) -> None:
    desk.put(b"a | dir\\run_x.bat\r\nb | two\r\nc\r\n")
    assert (await desk.edit("a | dir\\run_x.bat\nb | two", "a | dir\\run_y.bat"))["success"]
    assert desk.get() == b"a | dir\\run_y.bat\r\nc\r\n"


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
async def test_an_edit_of_one_line_is_a_diff_of_one_line(desk: Desk, ending: bytes) -> None:
    lines = [b"one", b"two", "drei ü".encode(), b"four"]
    desk.put(ending.join([*lines, b""]))
    assert (await desk.edit("one\ntwo", "one\nTWO"))["success"]
    assert desk.get() == ending.join([b"one", b"TWO", *lines[2:], b""])


async def test_a_read_crlf_file_is_not_stale_however_its_path_is_spelled(desk: Desk) -> None:
    desk.put(b"one\r\ntwo\r\n")
    await desk("read_file", path="f")
    spelled = str(desk.folder / "." / "f")
    keys = await desk("write_file", path=spelled, content="one\nTWO\n")
    assert (keys["verified"], desk.get()) == (True, b"one\r\nTWO\r\n")


async def test_text_without_a_last_newline_matches(desk: Desk) -> None:
    desk.put(b"hello")
    desk.put(b"hello")
    assert (await desk.edit("hello", "bye"))["success"]
    assert desk.get() == b"bye"


async def test_each_refusal_has_a_code_and_the_place_that_is_near(desk: Desk) -> None:
    desk.put(b"def f():\n\treturn 1\n")
    missed = await desk.edit("def f():\n    return 2", "x")
    assert missed["error"].split(":")[0] in ("not_found", "differs")
    assert "1|def f():" in missed["error"]
    with pytest.raises(ToolError, match="path must be"):
        await desk.edit("a", "b", path="")
    assert "folder" in (await desk.edit("a", "b", path="."))["error"]
    headless = await desk("patch", mode="patch", patch="*** Begin Patch\n-a\n+b\n*** End Patch")
    assert "stray_line" in headless["error"]


async def test_guessing_on_one_file_is_answered_with_read_it(desk: Desk) -> None:
    desk.put(b"alpha\n")
    for _ in range(2):
        await desk.edit("qwertyuiop", "x")
    assert "read_file" in (await desk.edit("qwertyuiop", "x"))["_hint"]


async def test_no_edit_takes_for_ever(desk: Desk) -> None:
    desk.put(b"".join(b"value_%d = compute(a, b)\n" % n for n in range(20_000)))
    with anyio.fail_after(20):
        await desk.edit("value_x = compute(c, d)\nnothing()", "x")


async def test_a_legacy_file_is_read_edited_and_stays_what_it_was(desk: Desk) -> None:
    text = "姓名,城市\n张三,北京\n李四,上海\n" * 5
    desk.put(text.encode("gb18030"))
    assert "张三" in (await desk("read_file", path="f"))["content"]
    desk.put("one\ntwo é\n".encode("utf-16"))
    assert (await desk.edit("one", "ONE"))["success"]
    assert desk.get() == "ONE\ntwo é\n".encode("utf-16")


async def test_paths_are_of_the_session_and_home_is_the_persons(desk: Desk) -> None:
    made = await desk("write_file", path="SOUL2.md", content="x\n")
    assert made["resolved_path"] == str(desk.folder / "SOUL2.md")
    await desk("write_file", path="~/a.txt", content="x\n")
    assert (desk.user / "a.txt").exists()
    assert not (desk.folder / "~").exists()


async def test_a_masked_view_is_never_written_back(desk: Desk) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" * 2
    desk.put(f"TOKEN={secret}\n".encode())
    shown = (await desk("read_file", path="f"))["content"].removeprefix("1|")
    assert secret not in shown
    assert "error" in await desk("write_file", path="f", content=shown + "\nmore\n")
    assert not (await desk.edit(shown, "x"))["success"]
    assert desk.get() == f"TOKEN={secret}\n".encode()


async def test_what_a_user_asked_to_store_is_stored_as_it_is(desk: Desk) -> None:
    token = "123456:ABC" + "dEf" * 12
    await desk("write_file", path="bot.conf", content=f"BOT_TOKEN={token}\n")
    assert token.encode() in desk.get("bot.conf")


@pytest.mark.parametrize("path", ["~/.ssh/id_rsa", ".env"])
async def test_an_edit_that_misses_shows_nothing_of_a_file_that_is_not_read(
    desk: Desk, path: str
) -> None:
    secret = "the very secret line\n"
    (desk.user / ".ssh").mkdir()
    for file in (desk.user / ".ssh/id_rsa", desk.folder / ".env"):
        file.write_text(secret, encoding="utf-8")
    header = f"*** Begin Patch\n*** Update File: {path}\n"
    for keys in (
        await desk.edit("the very secret lime", "x", path=path),
        await desk.edit("the very secret line", "x", path=path),
        await desk("patch", mode="patch", patch=f"{header}-the very secret lime\n+x\n"),
        await desk("patch", mode="patch", patch=f"{header}-the very secret line\n+x\n"),
    ):
        assert not keys["success"]
        assert "was not read" in keys["error"]
        assert "secret line" not in json.dumps(keys)


async def test_a_link_is_asked_about_by_its_own_name_too(desk: Desk) -> None:
    desk.put(b"one\n", "notes.txt")
    (desk.folder / "CLAUDE.md").symlink_to("notes.txt")
    both = (str(desk.folder / "notes.txt"), str(desk.folder / "CLAUDE.md"))
    for arguments in (
        {"path": "CLAUDE.md", "old_string": "one", "new_string": "two"},
        {"mode": "patch", "patch": "*** Update File: CLAUDE.md\n-one\n+two\n"},
    ):
        assert await desk.tools["patch"].touches(arguments, desk.context.state) == both
    written = {"path": "CLAUDE.md", "content": "x"}
    assert await desk.tools["write_file"].touches(written, desk.context.state) == both


@pytest.fixture
def undo(tmp_path: Path) -> UndoPlace:
    place = UndoPlace(tmp_path).make()
    place.put("a", b"one\n")
    return place


async def test_a_rollback_removes_no_file_that_was_too_large_to_capture(undo: UndoPlace) -> None:
    undo.put("app.log", b"x" * (11 << 20))
    undo.put("idle.log", b"x" * (11 << 20))
    async with undo.store() as store:
        await undo.command(store, 1, "echo two > a; echo more >> app.log")
        undo.put("made-later.log", b"x" * (11 << 20))
        done = await store.restore(undo.root, 1, overwrite=True)
    assert [(Path(o.path).name, o.deed, o.hindrance) for o in done.outcomes] == [
        ("a", "written", None),
        ("app.log", None, "not_covered"),
    ]
    sizes = [(undo.work / n).stat().st_size for n in ("app.log", "idle.log", "made-later.log")]
    assert sizes == [(11 << 20) + 5, 11 << 20, 11 << 20]


async def test_a_rollback_leaves_files_alone_that_no_repository_knows(undo: UndoPlace) -> None:
    await undo.git("init -q", "add a", "-c user.name=x -c user.email=x commit -qm x")
    undo.put(".gitignore", b"ignored\n")
    undo.put("ignored", b"theirs\n")
    undo.put("out.csv", b"theirs\n")
    async with undo.store() as store:
        await undo.edit(store, 1, {"made": b"x\n"})
        await undo.command(store, 1, "echo two > a; touch made-by-command")
        undo.put("later.csv", b"theirs\n")
        assert (await store.restore(undo.root, 1)).complete
    names = {path.name for path in undo.work.iterdir()} - {".git", "pyproject.toml"}
    assert names == {"a", ".gitignore", "ignored", "out.csv", "later.csv"}
    assert undo.get("a") == b"one\n"


async def test_a_hand_edit_is_kept_whatever_path_the_agent_came_by(undo: UndoPlace) -> None:
    undo.put("sub/b", b"one\n")
    (undo.folder / "by-link").symlink_to(undo.work / "sub")
    by_link = undo.origin(1, cwd=str(undo.folder / "by-link"))
    async with undo.store() as store:
        path = str(undo.folder / "by-link/b")
        await store.before(by_link, [path])
        undo.put("sub/b", b"two\n")
        await store.after(by_link, {path: hashlib.sha256(b"two\n").digest()})
        undo.put("sub/b", b"mine\n")
        roots = {await store.root(str(undo.folder / p)) for p in ("by-link", "work/sub", "work")}
        assert roots == {undo.root}
        for paths in ([], [path], [undo.at("sub/b")], [undo.at("sub")]):
            done = await store.restore(undo.root, 1, paths=paths)
            assert [o.hindrance for o in done.outcomes] == ["edited_after"]
    assert undo.get("sub/b") == b"mine\n"


async def test_a_snapshot_says_what_it_has_and_counts_no_folder_it_leaves_out(
    undo: UndoPlace,
) -> None:
    undo.listed = 50
    many = undo.work / "node_modules"
    many.mkdir()
    for number in range(60):
        (many / str(number)).touch()
    async with undo.store() as store:
        await undo.command(store, 1, "echo two > a")
        (row,) = await store.checkpoints(undo.root)
        assert (row.files, row.gaps) == (1, ())
        many.rename(undo.work / "data")
        await undo.command(store, 2, "echo three > a")
        row = (await store.checkpoints(undo.root))[0]
        assert (row.files, [gap.code for gap in row.gaps]) == (0, ["too_many"])
