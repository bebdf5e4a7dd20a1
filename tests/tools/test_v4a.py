"""V4A patches: what is parsed, what it comes to, and what is refused in words."""

import pytest

from hermes.tools.files.v4a import headers
from hermes.tools.files.v4a_plan import (
    MoveEntry,
    Planned,
    RemoveEntry,
    WriteText,
)
from hermes.tools.files.v4a_types import (
    AddFile,
    DeleteFile,
    MoveFile,
    PatchFault,
    UpdateFile,
)
from patches import Tree, fault, operations, planned, wrap


def test_each_kind_of_operation_is_read_in_order() -> None:
    patch = wrap(
        "*** Add File: n\n+x\n*** Delete File: d\n*** Move File: a -> b\n"
        "*** Update File: u\n*** Move to: v\n@@ class A\n@@ def f\n a\n-b\n+c\n*** End of File\n"
    )
    add, delete, move, update = operations(patch)
    assert add == AddFile(path="n", content="x\n", line=2)
    assert delete == DeleteFile(path="d", line=4)
    assert move == MoveFile(source="a", target="b", line=5)
    assert isinstance(update, UpdateFile)
    assert (update.path, update.move_to) == ("u", "v")
    (hunk,) = update.hunks
    assert hunk.hints == ("class A", "def f")
    assert hunk.lines == ((" ", "a"), ("-", "b"), ("+", "c"))
    assert hunk.at_end
    assert hunk.line == 8


@pytest.mark.parametrize(
    ("row", "hints", "at"),
    [
        ("@@", (), None),
        ("@@ @@", (), None),
        ("@@ def b @@", ("def b",), None),
        ("@@ def b():", ("def b():",), None),
        ("@@ -3,2 +4,2 @@", (), 3),
        ("@@ -3 +4 @@ def b():", ("def b():",), 3),
    ],
)
def test_a_hunk_line_gives_its_hint(row: str, hints: tuple[str, ...], at: int | None) -> None:
    (update,) = operations(wrap(f"*** Update File: a\n{row}\n-x\n+y\n"))
    assert isinstance(update, UpdateFile)
    assert (update.hunks[0].hints, update.hunks[0].at) == (hints, at)


@pytest.mark.parametrize(
    ("lines", "content"),
    [
        ("+a\n+b\n", "a\nb\n"),
        ("+a\n+\n", "a\n\n"),
        ("+a\n\n+b\n\n", "a\n\nb\n"),
        ("+a\n\\ No newline at end of file\n", "a"),
        ("", ""),
        ("\n", ""),
        ("+*** End Patch\n+*** Update File: x\n", "*** End Patch\n*** Update File: x\n"),
        ("@@ -0,0 +1 @@\n+a\n*** End of File\n", "a\n"),
    ],
)
def test_each_plus_line_is_one_line_of_a_new_file(lines: str, content: str) -> None:
    assert operations(wrap(f"*** Add File: n\n{lines}")) == (
        AddFile(path="n", content=content, line=2),
    )


@pytest.mark.parametrize(
    "patch",
    [
        "*** Update File: a\n-x\n+y",
        "*** Begin Patch\n*** Update File: a\n-x\n+y\n",
        "*** Update File: a\n-x\n+y\n*** End Patch\n",
        "Here it is:\n*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patch\nThat is all.",
        "***Begin Patch\n***Update File:a\n-x\n+y\n***End Patch",
        "*** Begin Patch\r\n*** Update File: a\r\n-x\r\n+y\r\n*** End Patch\r\n",
    ],
)
def test_a_patch_is_read_whatever_is_around_it(patch: str) -> None:
    (update,) = operations(patch)
    assert isinstance(update, UpdateFile)
    assert update.path == "a"
    assert update.hunks[0].lines == (("-", "x"), ("+", "y"))


@pytest.mark.parametrize(
    ("patch", "code", "line"),
    [
        ("", "no_operations", 1),
        ("hello world\n", "no_operations", 1),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "unified_diff", 1),
        ("diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n", "unified_diff", 1),
        (wrap("  *** Update File: a\n-a\n+A\n"), "indented_header", 2),
        (wrap("*** Create File: a\n+A\n"), "unknown_header", 2),
        (wrap("*** Update File a\n-a\n+A\n"), "unknown_header", 2),
        (wrap("*** Update File: a\n-a\n+A\n*** Rename to: b\n"), "unknown_header", 5),
        (wrap("-a\n*** Update File: a\n-a\n+A\n"), "stray_line", 2),
        (wrap("*** Update File: a\n-a\n+A\n") + "*** Delete File: b\n", "stray_line", 6),
        ("*** Begin Patch\n*** Delete File: a\n" + wrap(""), "nested_begin", 3),
        (wrap("*** Update File: \n-a\n+A\n"), "bad_path", 2),
        (wrap("*** Update File: sub/../a\n-a\n+A\n"), "bad_path", 2),
        (wrap("*** Move File: a -> ../b\n"), "bad_path", 2),
        (wrap("*** Update File: a\n*** Move to: ../b\n"), "bad_path", 3),
        (wrap("*** Move File: a\n"), "bad_move", 2),
        (wrap("*** Move File: a -> b -> c\n"), "bad_move", 2),
        (wrap("*** Update File: a\n"), "no_hunks", 2),
        (wrap("*** Update File: a\n@@ def b\n"), "empty_hunk", 3),
        (wrap("*** Add File: a\nl1\nl2\n"), "not_added", 3),
        (wrap("*** Add File: a\n+l1\nl2\n"), "not_added", 4),
        (wrap("*** Delete File: a\n+x\n"), "has_lines", 3),
        (wrap("*** Move File: a -> b\n@@\n-x\n+y\n"), "has_lines", 3),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(patch: str, code: str, line: int) -> None:
    assert (fault(patch).code, fault(patch).line) == (code, line)


def test_all_that_cannot_be_read_is_told_at_once() -> None:
    patch = wrap("*** Add File: a\nx\n*** Update File: b\n*** Move File: c\n")
    assert [problem.code for problem in fault(patch).problems] == [
        "not_added",
        "no_hunks",
        "bad_move",
    ]


def test_the_headers_name_both_ends_of_a_move_and_no_text_of_a_file() -> None:
    patch = wrap(
        "*** Add File: n\n+*** Add File: no\n*** Move File: a -> b\n"
        "*** Update File: u\n*** Move to: v\n x\n-y\n"
    )
    assert headers(patch) == ("n", "a", "b", "u", "v")
    assert headers("*** Update File: q\r\n*** Bad: z\r\n") == ("q",)


# One file


async def test_operations_build_on_those_before() -> None:
    made = await planned(
        "*** Move File: a -> d/b\n*** Update File: ./d/b\n-m\n+M\n"
        "*** Add File: n\n+1\n*** Update File: n\n-1\n+2\n"
        "*** Delete File: c\n*** Add File: c\n+new\n"
        "*** Update File: t\n-x\n+X\n*** Update File: t\n-y\n+Y\n",
        Tree({"a": "m\n", "c": "old\n", "t": "x\ny\n"}),
    )
    assert isinstance(made, Planned)
    assert set(made.changes) == {
        WriteText(path="d/b", text="M\n", created=True, like="a"),
        RemoveEntry(path="a"),
        WriteText(path="n", text="2\n", created=True),
        WriteText(path="c", text="new\n", created=False),
        WriteText(path="t", text="X\nY\n", created=False),
    }
    assert made.modified == ("a", "d/b", "n", "c", "t")
    assert made.created == ("n",)
    assert made.deleted == ()
    assert made.moved == (("a", "d/b"),)


async def test_a_pure_rename_is_a_rename() -> None:
    tree = Tree({"a": "bin\0", "u": "m\n"})
    made = await planned("*** Move File: a -> b\n*** Update File: u\n*** Move to: v\n", tree)
    assert isinstance(made, Planned)
    assert made.changes == (
        MoveEntry(source="a", target="b"),
        MoveEntry(source="u", target="v"),
    )
    assert made.moved == (("a", "b"), ("u", "v"))


async def test_an_update_that_moves_is_a_new_file_like_the_old() -> None:
    made = await planned("*** Update File: a\n*** Move to: b\n@@\n-m\n+M\n", Tree({"a": "m\n"}))
    assert isinstance(made, Planned)
    assert made.changes == (
        WriteText(path="b", text="M\n", created=True, like="a"),
        RemoveEntry(path="a"),
    )


async def test_no_path_occurs_twice_when_names_are_swapped() -> None:
    made = await planned(
        "*** Move File: a -> t\n*** Move File: b -> a\n*** Move File: t -> b\n",
        Tree({"a": "1\n", "b": "2\n"}),
    )
    assert isinstance(made, Planned)
    assert set(made.changes) == {
        WriteText(path="a", text="2\n", created=False, like="b"),
        WriteText(path="b", text="1\n", created=False, like="a"),
    }


async def test_a_link_is_deleted_itself_and_updated_through() -> None:
    tree = Tree({"t": "x\n"}, links={"l": "t", "k": "t"})
    made = await planned("*** Update File: l\n-x\n+y\n*** Delete File: k\n", tree)
    assert isinstance(made, Planned)
    assert set(made.changes) == {
        WriteText(path="t", text="y\n", created=False),
        RemoveEntry(path="k"),
    }
    moved = await planned("*** Update File: l\n*** Move to: m\n-x\n+y\n", tree)
    assert isinstance(moved, Planned)
    assert set(moved.changes) == {
        WriteText(path="t", text="y\n", created=False),
        MoveEntry(source="l", target="m"),
    }


async def test_everything_that_is_wrong_is_told_together() -> None:
    made = await planned(
        "*** Update File: a\n@@\n-one\n+ONE\n@@\n-nowhere near\n+x\n@@\n-d\n+e\n"
        "*** Delete File: gone\n*** Add File: b\n+x\n*** Move File: a -> b\n"
        "*** Update File: sub\n-x\n+y\n*** Update File: bin\n-x\n+y\n",
        Tree({"a": "one\nd\nd\n", "b": "here\n", "sub/k": "1", "bin": "\0"}),
    )
    assert isinstance(made, PatchFault)
    assert [(problem.code, problem.line) for problem in made.problems] == [
        ("not_found", 6),
        ("ambiguous", 9),
        ("missing", 12),
        ("exists", 13),
        ("exists", 15),
        ("not_a_file", 16),
        ("unreadable", 19),
    ]


async def test_a_patch_that_is_sent_again_says_that_all_is_so_already() -> None:
    made = await planned(
        "*** Update File: a\n-one\n+ONE\n*** Add File: n\n+x\n", Tree({"a": "ONE\n", "n": "x\n"})
    )
    assert isinstance(made, Planned)
    assert made.changes == ()
    assert len(made.notes) == 2


async def test_a_patch_that_undoes_itself_is_refused() -> None:
    made = await planned("*** Move File: a -> b\n*** Move File: b -> a\n", Tree({"a": "one\n"}))
    assert isinstance(made, PatchFault)
    assert made.code == "nothing_to_do"
