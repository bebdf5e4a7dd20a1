"""A file that is written anew keeps the ending of every line that stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.tools.files.endings import keep_endings

words = st.sampled_from(["a", "b", "c", "", "d d"])
ended = st.lists(st.tuples(words, st.sampled_from(["\n", "\r\n"])), max_size=12)
plain = st.lists(words, max_size=12).map("\n".join)


def text(rows: list[tuple[str, str]]) -> str:
    return "".join(word + end for word, end in rows)


@given(ended, plain)
def test_only_endings_are_added(rows: list[tuple[str, str]], new: str) -> None:
    assert keep_endings(text(rows), new).replace("\r\n", "\n") == new


@given(ended, words)
def test_what_is_written_back_as_read_is_the_same_bytes(
    rows: list[tuple[str, str]], last: str
) -> None:
    old = text(rows) + last
    assert keep_endings(old, old.replace("\r\n", "\n")) == old


@given(ended, ended, words)
def test_lines_around_a_changed_one_keep_theirs(
    head: list[tuple[str, str]], tail: list[tuple[str, str]], word: str
) -> None:
    old = text(head) + "old line\r\n" + text(tail)
    new = (text(head) + "new line\n" + text(tail)).replace("\r\n", "\n")
    kept = keep_endings(old, new)
    assert kept.startswith(text(head) + "new line")
    assert kept.endswith(text(tail))


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("x\r\ny\r\n", "a\nb\n", "a\r\nb\r\n"),
        ("x\ny\n", "a\nb\n", "a\nb\n"),
        ("x\r\ny\nz\n", "x\ny\nZ\n", "x\r\ny\nZ\n"),
        ("x\r\n", "a\r\nb\n", "a\r\nb\n"),
        ("a\rb\r\nc\r\n", "a\rb\nC\n", "a\rb\r\nC\r\n"),
        ("x\r\ny", "x\ny\nz", "x\r\ny\r\nz"),
    ],
)
def test_an_ending_is_that_of_the_line_or_the_usual_one(old: str, new: str, kept: str) -> None:
    assert keep_endings(old, new) == kept
