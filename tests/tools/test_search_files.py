"""`search_files`: sorted, whole, and the same with ripgrep as without."""

import os
import sys
from pathlib import Path

import anyio
import pytest

from hermes.core.errors import ToolError
from hermes.safety.redact import Redactor
from hermes.terminals.ripgrep import Ripgrep
from search_rig import Search, write

pytestmark = pytest.mark.anyio


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


async def test_the_first_hits_are_kept_and_an_offset_beyond_them_is_refused(
    search: Search,
) -> None:
    write(search.folder, {f"{n}.txt": "hit\n" * 5_100 for n in "fbadchgeji"})
    keys = await search("hit", limit=5, offset=49_998)
    assert keys["total_count"] == 51_000
    assert [row["path"][-5:] for row in keys["matches"]] == ["j.txt"] * 2
    assert [row["line"] for row in keys["matches"]] == [4_099, 4_100]
    assert "not kept" in keys["_hint"]
    keys = await search("hit", offset=50_000)
    assert "beyond the first 50000" in keys["error"]


async def test_a_hit_over_lines_counts_where_it_begins(search: Search) -> None:
    write(search.folder, {"a": "x\ny\nx\ny\n", "b": "x\r\ny\r\n"})
    keys = await search(r"x\ny")
    assert keys["total_count"] == 3
    assert keys["matches_text"].count(": x") == 3
    assert keys["matches_text"].count("- y") == 3
    counted = await search(r"x\ny", output_mode="count")
    assert [*counted["counts"].values()] == [2, 1]


@pytest.mark.parametrize("pattern", ["hit", r"hit\n"])
async def test_a_binary_file_is_told_if_it_was_named_and_left_out_if_not(
    search: Search, pattern: str
) -> None:
    write(search.folder, {"late": "hit\n" + "z\n" * 50_000 + "\0\nhit\n", "early": "\0\nhit\n"})
    for name in ("late", "early"):
        for mode in ("content", "count"):
            keys = await search(pattern, path=name, output_mode=mode)
            assert "it is binary" in keys["error"]
            assert "read_file" in keys["error"]
    assert (await search(pattern))["total_count"] == 0


async def test_a_text_that_turns_out_binary_late_is_told(search: Search) -> None:
    write(search.folder, {"late": "hit\n" + "z\n" * 50_000 + "\0\n", "a": "hit\n"})
    keys = await search("hit")
    assert (keys["total_count"], "late: there is a NUL" in keys["warning"]) == (1, True)


@pytest.mark.parametrize("target", ["content", "files"])
async def test_what_lies_below_two_paths_counts_once(search: Search, target: str) -> None:
    write(search.folder, {"d/a": "a\n", "d/e/a": "a\n", ".h/a": "a\n"})
    (search.folder / "l").symlink_to("d")
    keys = await search("a", path="., d, d, l, .h", target=target)
    assert keys["total_count"] == 3


@pytest.mark.parametrize(
    ("glob", "names"),
    [
        ("!*.md", ["a,b.txt", "a.py", "d/c.py"]),
        ("*.py,*.md", ["a.py", "b.md", "d/c.py"]),
        ("*.py *.md", ["a.py", "b.md", "d/c.py"]),
        ("*.{py,md}", ["a.py", "b.md", "d/c.py"]),
        ("{a,b}.*", ["a.py", "b.md"]),
        ("a,b.txt", ["a,b.txt"]),
        ("*,!*.py", ["a,b.txt", "b.md"]),
        ("d/", ["d/c.py"]),
        ("/a.py", ["a.py"]),
        (["*.md", "d/*"], ["b.md", "d/c.py"]),
    ],
)
async def test_a_glob_is_taken_as_people_write_it(
    search: Search, glob: object, names: list[str]
) -> None:
    write(search.folder, dict.fromkeys(["a.py", "b.md", "d/c.py", "a,b.txt"], "hit\n"))
    keys = await search("hit", file_glob=glob, output_mode="files_only")
    assert keys["files"] == [str(search.folder / name) for name in names]
    inside = f"{search.folder}/d/*.py"
    assert (await search("hit", file_glob=inside))["total_count"] == 1


async def test_a_glob_that_fits_no_file_is_told(search: Search) -> None:
    write(search.folder, {"a.py": "hit\n", ".git/x": "hit\n", "ign/b.c": "hit\n", ".ignore": "ign"})
    assert "No file fits" in (await search("hit", file_glob="*.zzz"))["warning"]
    assert "path=.git" in (await search("hit", file_glob=".git/*"))["warning"]
    assert "hidden or ignored" in (await search("no", file_glob="*.c"))["warning"]
    assert await search("no", file_glob="*.py") == {"total_count": 0}


async def test_a_name_that_is_not_found_is_explained(search: Search) -> None:
    write(search.folder, {"Readme.md": "", "ign/b.c": "", ".ignore": "ign", ".git/x": ""})
    for pattern, why in {
        "readme*": "1 with another case",
        "b.c": "1 hidden or ignored",
        "eadme": "1 if you search for *eadme*",
        r".*\.md$": "1 if you search for *.md",
        ".git/*": "path=.git",
    }.items():
        assert why in (await search(pattern, target="files"))["warning"]
    assert await search("*.zzz", target="files") == {"total_count": 0}


@pytest.mark.parametrize("target", ["content", "files"])
async def test_a_folder_of_links_is_told(search: Search, target: str) -> None:
    (search.folder / "only").mkdir()
    (search.folder / "only/link").symlink_to("/")
    keys = await search("*" if target == "files" else "x", target=target, path="only")
    assert "only links (1)" in keys["warning"]


async def test_an_ignore_file_does_not_show_what_is_hidden(search: Search) -> None:
    write(search.folder, {".gitignore": "!.keep\n", ".keep": "hit\n", ".git/HEAD": ""})
    assert (await search("hit", output_mode="count"))["total_count"] == 0
    assert (await search("hit", file_glob=".keep"))["total_count"] == 1


async def test_what_only_git_knows_hides_nothing(search: Search) -> None:
    write(search.folder, {".git/info/exclude": "*\n", "a": "hit\n", "b": "hit\n", ".rgignore": "b"})
    assert (await search("hit", output_mode="count"))["counts"] == {str(search.folder / "a"): 1}


async def test_the_window_is_around_the_hit_in_characters(search: Search) -> None:
    write(search.folder, {"a": "é" * 3_000 + "needle" + "ü" * 50_000 + "\n"})
    content = (await search("needle"))["matches"][0]["content"]
    assert (content[:1], content[100:106], len(content)) == ("é", "needle", 500)


async def test_a_page_is_cut_by_characters_and_says_how_to_go_on(search: Search) -> None:
    write(search.folder, {"a": ("hit" + "x" * 600 + "\n") * 400})
    lines: list[str] = []
    while True:
        keys = await search("hit", limit=1_000, offset=len(lines))
        assert len(keys["matches_text"]) < 90_000
        lines += keys["matches_text"].split("\n")[1:]
        if "truncated" not in keys:
            break
        assert f"The page is full (80000 characters). {400 - len(lines)} more" in keys["_hint"]
    assert [int(line.split(":")[0]) for line in lines] == [*range(1, 401)]


async def test_a_newline_in_a_path_is_no_line(search: Search) -> None:
    write(search.folder, {"a\n  1: b": "hit\n" * 6})
    keys = await search("hit")
    assert {row["path"] for row in keys["matches"]} == {str(search.folder / "a\n  1: b")}
    assert len(keys["matches"]) == 6
