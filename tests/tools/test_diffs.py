"""The diff that an edit shows: exact, and at the cost of what changed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.tools.files import diffs
from hermes.tools.files.diffs import unified

lines = st.lists(st.sampled_from(["a", "b", "c", "", "d d", "e\r", "f\x0c", "\u2028"]), max_size=20)
texts = lines.map("\n".join)


def apply(text: str, diff: str) -> str:
    """`text` after `diff`, every line of which must fit."""
    old, new, at = diffs.lines(text), [], 0
    rows = diffs.lines(diff)[2:]
    for number, row in enumerate(rows):
        bare = rows[number + 1 : number + 2] == [diffs.NO_NEWLINE]
        line = row[1:].removesuffix("\n") if bare else row[1:]
        match row[0]:
            case "@":
                found = re.match(r"@@ -(\d+)(?:,(\d+))? ", row)
                assert found is not None
                start = int(found[1]) - (found[2] != "0")
                new += old[at:start]
                at = start
            case " ":
                assert old[at] == line
                new.append(line)
                at += 1
            case "-":
                assert old[at] == line
                at += 1
            case "+":
                new.append(line)
    return "".join(new + old[at:])


@given(texts, texts)
def test_a_diff_leads_from_one_text_to_the_other(before: str, after: str) -> None:
    diff = unified(before, after, path="/w/f")
    assert (diff == "") is (before == after)
    assert apply(before, diff) == after if diff else True


@given(texts, texts, st.integers(0, 3000))
def test_a_long_stretch_is_told_as_a_whole_and_still_exactly(
    before: str, after: str, padding: int
) -> None:
    long_before = before + "x\n" * (diffs.COMPARED + 1) + before
    long_after = after + "y\n" * padding + after
    if len(diff := unified(long_before, long_after, path="/w/f")) <= diffs.LONGEST:
        assert apply(long_before, diff) == long_after


def test_context_is_three_lines_on_each_side() -> None:
    before = "".join(f"{n}\n" for n in range(50))
    diff = unified(before, before.replace("25\n", "x\n"), path="/w/f")
    rows = ["@@ -23,7 +23,7 @@", " 22", " 23", " 24", "-25", "+x", " 26", " 27", " 28", ""]
    assert diff.split("\n")[2:] == rows


def test_a_missing_final_newline_is_marked() -> None:
    assert unified("a\nb", "a\nB", path="/w/f") == (
        "--- a//w/f\n+++ b//w/f\n@@ -1,2 +1,2 @@\n a\n"
        "-b\n\\ No newline at end of file\n+B\n\\ No newline at end of file\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        (None, "a\n", "--- /dev/null\n+++ b//w/f\n@@ -0,0 +1 @@\n+a\n"),
        ("a\n", None, "--- a//w/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
    ],
)
def test_a_file_that_is_not_there_is_dev_null(
    before: str | None, after: str | None, names: str
) -> None:
    assert unified(before, after, path="/w/f") == names


def test_a_moved_file_names_both_places() -> None:
    diff = unified("a\n", "b\n", path="/w/new", was="/w/old")
    assert diff.startswith("--- a//w/old\n+++ b//w/new\n")


def test_what_is_left_out_of_a_huge_diff_is_said() -> None:
    diff = unified("", "line\n" * 50_000, path="/w/f")
    assert len(diff) < diffs.LONGEST + 100
    assert re.search(r"\[\d+ more lines of this diff are not shown\]\n$", diff)
