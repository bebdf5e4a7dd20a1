"""V4A patches of every kind: any text has an answer, and a made patch makes what it was made of."""

import time
from dataclasses import dataclass
from difflib import SequenceMatcher

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hermes.ports.files import FileKind
from hermes.tools.files.v4a import headers, parse
from hermes.tools.files.v4a_hunks import update
from hermes.tools.files.v4a_plan import (
    MoveEntry,
    Planned,
    PlanProblem,
    RemoveEntry,
    WriteText,
    plan,
)
from hermes.tools.files.v4a_types import Parsed, PatchFault, UpdateFile

NO_NEWLINE = "\\ No newline at end of file\n"

PIECES = [
    "*** Begin Patch\n", "*** End Patch\n", "*** End of File\n", "*** Update File: a\n",
    "*** Update File: b\r\n", "*** Add File: n\n", "*** Delete File: b\n", "*** Move to: m\n",
    "*** Move File: a -> b\n", "*** Move File: b -> z\n", "***", "*** Foo: x\n", "@@\n", "@@ one\n",
    "@@ -1,2 +1,2 @@ two\n", NO_NEWLINE, " one\n", "-one\n", "-two\n", "+three\n", "+\n", "\n",
    " two\n", "x\n", "+*** End Patch\n", "  *** Add File: q\n", "--- a/x\n", "\r\n", "\ud800", "..",
]  # fmt: skip

SIGNS = ["}", "    return x", " ", "+x", "-", "@@", "*** End Patch", "*** Update File: z"]
ROWS = st.sampled_from(
    ["", "", "a", "a", "b", "\\ No newline", "\u2028", "x\x85y", "\ufffd", *SIGNS]
)


@dataclass
class Tree:
    """Files in memory."""

    files: dict[str, str]

    async def locate(self, path: str, *, entry: bool) -> str | PlanProblem:
        return path

    async def kind(self, path: str) -> FileKind | None:
        return "file" if path in self.files else None

    async def text(self, path: str) -> str | PlanProblem:
        return self.files[path]

    def made(self, planned: Planned) -> "Tree":
        files = dict(self.files)
        seen: list[str] = []
        for change in planned.changes:
            match change:
                case WriteText():
                    assert change.created == (change.path not in self.files)
                    files[change.path] = change.text
                    seen.append(change.path)
                case RemoveEntry():
                    del files[change.path]
                    seen.append(change.path)
                case MoveEntry():
                    assert change.target not in self.files
                    files[change.target] = files.pop(change.source)
                    seen += [change.source, change.target]
        assert len(seen) == len(set(seen))
        return Tree(files)


def lines(text: str) -> list[str]:
    rows = [row + "\n" for row in text.split("\n")]
    rows[-1] = rows[-1][:-1]
    return rows if rows[-1] else rows[:-1]


def hunks(before: str, after: str, context: int, *, numbers: bool, bare: bool) -> str:
    """The hunks that make `after` of `before`, both with `\\n` endings."""
    a, b = lines(before), lines(after)
    parts: list[str] = []
    for group in SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(context):
        i, j = group[0][1], group[-1][2]
        parts.append(f"@@ -{i + (j > i)},{j - i} +1,1 @@\n" if numbers else "@@\n")
        for tag, i1, i2, j1, j2 in group:
            rows = [(" ", row) for row in a[i1:i2]] if tag == "equal" else []
            if tag != "equal":
                rows = [("-", row) for row in a[i1:i2]] + [("+", row) for row in b[j1:j2]]
            for kind, row in rows:
                lead = "" if bare and kind == " " and row == "\n" else kind
                parts.append(lead + row + ("" if row.endswith("\n") else "\n" + NO_NEWLINE))
        if j == len(a) and not numbers:
            parts.append("*** End of File\n")
    return "".join(parts)


@st.composite
def texts(draw: st.DrawFn, *, unique: bool) -> tuple[str, str]:
    """A text and a changed one, with `\\n` endings; each may lack the last."""
    before = draw(st.lists(ROWS, max_size=14))
    if unique:
        before = [f"{row} {n}" for n, row in enumerate(before)]
    after = list(before)
    for n in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(after)))
        removed = draw(st.integers(0, 2))
        added = draw(st.lists(ROWS, max_size=2))
        after[at : at + removed] = (
            [f"{row} new {n}.{k}" for k, row in enumerate(added)] if unique else added
        )
    ends = draw(st.tuples(st.booleans(), st.booleans()))
    made = ["".join(f"{row}\n" for row in rows) for rows in (before, after)]
    one, two = (
        text[:-1] if end and len(text) > 1 and not text.endswith("\n\n") else text
        for text, end in zip(made, ends, strict=True)
    )
    return one, two


@example(
    pair=(False, ("\n\n\n\n\n\nb\na\n", "b\n\n\n\n\n\n\nb\n\n")),
    context=1,
    crlf=False,
    crlf_patch=False,
    bare=False,
)
@settings(max_examples=300, deadline=None)
@given(
    pair=st.booleans().flatmap(lambda unique: st.tuples(st.just(unique), texts(unique=unique))),
    context=st.integers(1, 4),
    crlf=st.booleans(),
    crlf_patch=st.booleans(),
    bare=st.booleans(),
)
def test_a_patch_made_of_two_texts_makes_the_one_of_the_other_and_back(
    pair: tuple[bool, tuple[str, str]], context: int, crlf: bool, crlf_patch: bool, bare: bool
) -> None:
    unique, sides = pair
    for before, after in (sides, sides[::-1]):
        if before == after:
            continue
        patch = "*** Update File: a\n" + hunks(
            before, after, context, numbers=not unique, bare=bare
        )
        parsed = parse(patch.replace("\n", "\r\n") if crlf_patch else patch)
        assert isinstance(parsed, Parsed), (patch, parsed)
        (operation,) = parsed.operations
        assert isinstance(operation, UpdateFile)
        # An empty text has no ending to keep.
        ending = "\r\n" if crlf and "\n" in before and before else "\n"
        made = update(before.replace("\n", ending), operation.hunks, "a")
        assert not made.problems, (patch, made)
        assert made.text == after.replace("\n", ending), patch


@settings(max_examples=100, deadline=None)
@given(
    ends=st.lists(st.sampled_from(["\n", "\r\n"]), min_size=3, max_size=12),
    at=st.integers(0, 11),
    final=st.booleans(),
)
def test_a_change_of_one_line_changes_no_other_byte(ends: list[str], at: int, final: bool) -> None:
    rows = [f"line {n}{end}" for n, end in enumerate(ends)]
    if not final:
        rows[-1] = rows[-1].rstrip("\r\n")
    at %= len(rows)
    context = [f" line {n}\n" for n in range(len(rows))]
    body = "".join([*context[:at], f"-line {at}\n", "+new\n", *context[at + 1 :]])
    parsed = parse("*** Update File: a\n" + body)
    assert isinstance(parsed, Parsed)
    (operation,) = parsed.operations
    assert isinstance(operation, UpdateFile)
    made = update("".join(rows), operation.hunks, "a")
    rows[at] = rows[at].replace(f"line {at}", "new")
    assert made.text == "".join(rows)


TREES = st.dictionaries(
    st.sampled_from(["a", "b", "d/c", "e f"]),
    st.lists(st.sampled_from(["x", "y", "", "+z"]), max_size=6).map(
        lambda rows: "".join(f"{row}\n" for row in rows)
    ),
    max_size=4,
)


def between(before: dict[str, str], after: dict[str, str]) -> str:
    parts: list[str] = []
    for path in sorted(before.keys() | after.keys()):
        if path not in after:
            parts.append(f"*** Delete File: {path}\n")
        elif path not in before:
            rows = "".join("+" + row for row in lines(after[path]))
            parts.append(f"*** Add File: {path}\n{rows}")
        elif before[path] != after[path]:
            body = hunks(before[path], after[path], 2, numbers=True, bare=True)
            parts.append(f"*** Update File: {path}\n{body}")
    return f"*** Begin Patch\n{''.join(parts)}*** End Patch\n"


@settings(max_examples=150, deadline=None)
@given(before=TREES, after=TREES)
async def test_a_patch_and_its_inverse_restore_every_file(
    before: dict[str, str], after: dict[str, str]
) -> None:
    if before == after:
        return
    tree = Tree(before)
    for one, two in ((before, after), (after, before)):
        patch = between(one, two)
        parsed = parse(patch)
        assert isinstance(parsed, Parsed)
        planned = await plan(parsed, tree)
        assert isinstance(planned, Planned), (patch, planned)
        assert set(planned.modified) == set(headers(patch))
        tree = tree.made(planned)
        assert tree.files == two


@settings(max_examples=100, deadline=None)
@given(before=TREES, after=TREES, bad=st.integers(1, 3), first=st.booleans())
async def test_one_wrong_operation_spoils_the_whole_patch(
    before: dict[str, str], after: dict[str, str], bad: int, first: bool
) -> None:
    wrong = "".join(f"*** Delete File: gone{n}\n" for n in range(bad))
    good = between(before, after).removeprefix("*** Begin Patch\n").removesuffix("*** End Patch\n")
    parsed = parse(wrong + good if first else good + wrong)
    assert isinstance(parsed, Parsed)
    planned = await plan(parsed, Tree(before))
    assert isinstance(planned, PatchFault)
    assert [problem.code for problem in planned.problems] == ["missing"] * bad


@settings(max_examples=600, deadline=None)
@given(
    patch=st.one_of(
        st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
        st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=10).map("".join),
        st.text(max_size=60),
    ),
    text=st.lists(st.sampled_from(["one", "two", "three", ""]), max_size=5).map("\n".join),
)
async def test_any_text_is_a_patch_or_is_refused_in_words(patch: str, text: str) -> None:
    parsed = parse(patch)
    if isinstance(parsed, PatchFault):
        assert all(problem.message and problem.line >= 1 for problem in parsed.problems)
        assert parsed.problems
        headers(patch)
        return
    named = headers(patch)
    tree = Tree({"a": text, "b": "one\r\ntwo"})
    planned = await plan(parsed, tree)
    if isinstance(planned, Planned):
        assert planned.changes or planned.notes
        assert set(planned.modified) <= set(named)
        tree.made(planned)
    else:
        assert all(problem.message for problem in planned.problems)


@pytest.mark.parametrize(
    "patch",
    [
        "*** " * 200_000,
        "@@ " * 200_000,
        "*** Update File: a\n" + "@@ x\n" * 100_000 + "-x\n+y\n",
        "*** Update File: a\n" + "\n" * 200_000,
        "*** Add File: a\n" + "+x\n\n" * 100_000,
        "*** Move File: " + "a -> " * 100_000,
        "*** Update File: a\n" + "*** A: b\n" * 50_000,
        "\r" * 500_000,
    ],
)
async def test_a_very_long_patch_is_read_in_a_moment(patch: str) -> None:
    begin = time.process_time()
    parsed = parse(patch)
    headers(patch)
    if isinstance(parsed, Parsed):
        await plan(parsed, Tree({"a": "x\nx\n"}))
    assert time.process_time() - begin < 5
