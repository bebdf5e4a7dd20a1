"""Foreign text on a terminal: what is left out, what is spelled, where lines break."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from hermes.surfaces.kit.columns import width, wrapped
from hermes.surfaces.kit.plain import printable, spelled

BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\x1b\x9b\r" + BIDI))


@given(TEXTS)
def test_nothing_that_steers_a_terminal_is_left(text: str) -> None:
    for shown in (printable(text), spelled(text)):
        left = {c for c in shown if unicodedata.category(c) == "Cc" or c in BIDI}
        assert left <= {"\n", "\t"}


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"], exclude_characters="\\")))
def test_other_text_stays_as_it_is(text: str) -> None:
    assert printable(text) == spelled(text) == text


@given(st.integers(0, 8), st.lists(st.text("ab漢", min_size=1), min_size=1), st.integers(10, 40))
def test_lines_break_at_spaces_and_keep_their_indent(
    indent: int, words: list[str], columns: int
) -> None:
    lines = wrapped(" " * indent + " ".join(words), columns).split("\n")
    assert [word for line in lines for word in line.split()] == words
    for line in lines:
        assert line.startswith(" " * indent)
        assert width(line) <= columns or len(line.split()) == 1
