"""`search_files`: sorted, whole, and the same with ripgrep as without."""

import dataclasses
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.core.clock import SystemClock
from hermes.core.errors import ToolError
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.people import Origin
from hermes.ports.tool import SessionState, ToolContext
from hermes.safety.paths import PathPolicy
from hermes.safety.redact import Redactor
from hermes.terminals.local_files import LocalFiles
from hermes.terminals.ripgrep import Ripgrep
from hermes.tools.files.path_locks import PathLocks
from hermes.tools.files.search import SearchFiles

pytestmark = pytest.mark.anyio


class NoRipgrep(Ripgrep):
    """A machine without ripgrep."""

    program = None  # type: ignore[assignment]


class Search:
    """The tool in one session, with ripgrep (which tests have beside Python) or without."""

    def __init__(
        self,
        folder: Path,
        *,
        ripgrep: bool = True,
        redact: Callable[[str], str] = lambda text: text,
    ) -> None:
        self.folder = folder
        kind = Ripgrep if ripgrep else NoRipgrep
        files = LocalFiles(
            home=None, records=folder.parent / "records", clock=SystemClock(), ripgrep=kind("")
        )
        policy = PathPolicy(home=folder.parent / "hermes", user=folder.parent)
        self.tool = SearchFiles(files, policy, redact, locks=PathLocks())
        self.context = ToolContext(
            session=SessionId("s"),
            turn=TurnId("t"),
            call=CallId("c"),
            origin=Origin(surface="cli"),
            state=SessionState(str(folder)),
        )

    async def __call__(self, pattern: str, *, turn: str = "", **rest: Any) -> dict[str, Any]:
        context = dataclasses.replace(self.context, turn=TurnId(turn or os.urandom(4).hex()))
        output = await self.tool.run({"pattern": pattern, **rest}, context)
        keys: dict[str, Any] = json.loads(output.content)
        assert (output.outcome == "ok") is ("error" not in keys)
        return keys


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture(params=["ripgrep", "python"])
def search(request: pytest.FixtureRequest, tmp_path: Path) -> Search:
    folder = tmp_path / "work"
    folder.mkdir()
    return Search(folder, ripgrep=request.param == "ripgrep")


def test_the_packaged_ripgrep_is_there_for_these_tests() -> None:
    assert Ripgrep("").program == str(Path(sys.executable).parent / "rg")


async def test_pages_neither_repeat_nor_skip_and_the_total_is_true(search: Search) -> None:
    write(search.folder, {f"d{n % 7}/f{n}.txt": "hit\nno\nhit\n" for n in range(60)})
    rows: list[tuple[str, int]] = []
    for offset in range(0, 120, 4):
        keys = await search("hit", limit=4, offset=offset)
        assert keys["total_count"] == 120
        assert keys.get("truncated", False) is (offset < 116)
        rows += [(row["path"], row["line"]) for row in keys["matches"]]
    assert rows == sorted(set(rows))
    assert len(rows) == 120


async def test_more_hits_than_are_kept_are_still_counted(search: Search) -> None:
    write(search.folder, {"big.txt": "hit\n" * 50_200})
    keys = await search("hit", limit=2)
    assert (keys["total_count"], keys["truncated"]) == (50_200, True)


@pytest.mark.parametrize("glob", ["*", "*conf*", "**/*", "x/*"])
async def test_one_rule_for_hidden_files_whatever_the_glob(search: Search, glob: str) -> None:
    write(search.folder, {".x/conf": "t\n", "x/conf": "t\n", ".conf": "t\n"})
    keys = await search(glob, target="files")
    assert not any("/." in path for path in keys["files"])
    named = await search(".x/*", target="files")
    assert named["files"] == [str(search.folder / ".x/conf")]


async def test_a_hidden_folder_above_the_root_hides_nothing(tmp_path: Path) -> None:
    folder = tmp_path / ".x" / "repo"
    write(folder, {"a.py": "TOKEN\n"})
    for ripgrep in (True, False):
        assert (await Search(folder, ripgrep=ripgrep)("TOKEN"))["total_count"] == 1


async def test_a_link_that_is_named_is_followed(search: Search) -> None:
    write(search.folder, {"real.md": "WORD\n"})
    (search.folder / "link.md").symlink_to("real.md")
    keys = await search("WORD", path="link.md")
    assert keys["matches"][0]["path"] == str(search.folder / "link.md")


async def test_a_broken_glob_is_an_error_and_not_an_empty_list(search: Search) -> None:
    assert "not closed" in (await search("[abc", target="files"))["error"]
    assert "not closed" in (await search("x", file_glob="*.{py"))["error"]


async def test_the_same_search_again_is_told_then_refused_unless_the_result_changed(
    search: Search,
) -> None:
    write(search.folder, {"a": "hit\n"})
    answers = [await search("hit", turn="one") for _ in range(4)]
    assert "_warning" in answers[2]
    assert answers[3]["guardrail_refusal"] is True
    write(search.folder, {"a": "hit\nhit\n"})
    assert (await search("hit", turn="one"))["total_count"] == 2


async def test_what_may_not_be_read_is_left_out_and_counted(search: Search) -> None:
    write(search.folder, {"a": "SECRET\n", "x/.env": "SECRET=1\n"})
    keys = await search("SECRET", file_glob="{a,.env}")
    assert (keys["total_count"], "1 in files" in keys["_omitted"]) == (1, True)


async def test_zero_says_where_the_text_is_after_all(search: Search) -> None:
    write(search.folder, {"a": "Word\n", ".h": "hidden\n", "c": "f(x)\n"})
    assert "another case" in (await search("word"))["warning"]
    assert "hidden or ignored" in (await search("hidden"))["warning"]
    assert "plain text" in (await search("f(x)"))["warning"]
    assert "warning" not in await search("nowhere")


async def test_what_may_not_be_read_is_not_hinted_at_either(search: Search) -> None:
    write(search.folder, {"a": "x\n", ".env": "KEY=hunter2\n"})
    assert await search("hunter2") == {"total_count": 0}


async def test_a_key_of_several_lines_is_masked_in_each(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    body = "MIIEpAIBAAKCAQEA75x1\nq8Zb0hXy2LkTn4Vw9sRd\n"
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n"
    write(folder, {"k.txt": f"before\n{key}after\n"})
    keys = await Search(folder, redact=lambda text: Redactor().redact(text, "file"))(".")
    assert "MIIEpAIBAAKCAQEA75x1" not in keys["matches_text"]
    assert "  1: before\n" in keys["matches_text"]
    assert keys["matches_text"].endswith("  6: after")


@pytest.mark.parametrize("pattern", ["a\0b", "\ud800"])
async def test_a_pattern_that_no_text_can_hold_is_an_error(search: Search, pattern: str) -> None:
    with pytest.raises(ToolError, match="pattern has"):
        await search(pattern)


async def test_a_pattern_that_takes_for_ever_holds_nothing_up(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    write(folder, {"a": "a" * 40 + "!\n"})
    with anyio.fail_after(30), anyio.move_on_after(3) as scope:
        await Search(folder, ripgrep=False)("(a+)+$")
    assert scope.cancelled_caught


async def test_a_missing_path_is_an_error_with_names_like_it(search: Search) -> None:
    write(search.folder, {"readme.md": "x\n"})
    keys = await search("x", path="README.md")
    assert keys["similar_files"] == [str(search.folder / "readme.md")]


async def test_a_pipe_is_refused_at_once(search: Search) -> None:
    os.mkfifo(search.folder / "p")
    with anyio.fail_after(10):
        assert "is a fifo" in (await search("x", path="p"))["error"]


LINES = st.sampled_from(["foo", "foo bar", "a1", "-x", "Foo\r", "é", "", "a.b", "x\ty"])
NAMES = st.sampled_from(
    ["a.py", "b.txt", "d/a.py", "d/e/c.md", ".h/a.py", "d/.h", "ign/x", "d/ign/y", "[x].py"]
)
TREES = st.dictionaries(NAMES, st.lists(LINES, max_size=5).map("\n".join), max_size=7)
PATTERNS = st.sampled_from(["foo", "fo+", "^a", r"\d", "-x", "foo$", "é", "x|b", ".", r"a\.b", "("])
GLOBS = st.sampled_from([None, "*.py", "d/*", "**/*.md", "{a,b}.*", ".h/*", "[[]*"])
RULES = st.sampled_from(["", "ign/\n", "*.py\n!a.py\n", "/b.txt\n", "d/e\n", "**/y\n", "d/\n"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES, PATTERNS, GLOBS, RULES, st.integers(0, 2), st.booleans())
async def test_both_engines_give_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    tree: dict[str, str],
    pattern: str,
    glob: str | None,
    rules: str,
    context: int,
    git: bool,
) -> None:
    folder = tmp_path_factory.mktemp("tree") / "work"
    folder.mkdir()
    write(folder, tree | {".gitignore": rules})
    if git:
        (folder / ".git").mkdir()
        (folder / ".git" / "config").write_text("foo\n", encoding="utf-8")
    rest = {"context": context, "limit": 1000} | ({"file_glob": glob} if glob else {})
    with_rg = await Search(folder)(pattern, **rest)
    without = await Search(folder, ripgrep=False)(pattern, **rest)
    for keys in (with_rg, without):
        if "error" in keys:
            keys["error"] = "error"
    assert with_rg == without
