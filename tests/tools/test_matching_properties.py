"""What must hold for every text and every edit of it."""

import re
from typing import Final

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hermes.tools.files.edits import Edit, NoChange, Outcome, Refusal, splice
from hermes.tools.files.matching.find import find_edit

LINES: Final = st.sampled_from(
    [
        *("", "a", "  a", "\ta", "a ", "a  b", "a b", "x = 1", "x = 10", "x  = 1", "if not ab:"),
        *("    return long_name", "\treturn long_name", "    return lang_name", "}", "é…"),
        *("“q” — r", '"q" -- r', "caf\udce9 b", "caf\ufffd b", "\\ta", "a\\nb", "a\rb"),
        *("say(\\'a\\')", "say('a')"),
    ]
)
ENDINGS: Final = st.sampled_from(["\n", "\n", "\r\n"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Texts of lines that are much like each other, with mixed endings."""
    lines = draw(st.lists(st.tuples(LINES, ENDINGS), max_size=8))
    return "".join(line + ending for line, ending in lines) + draw(LINES)


@st.composite
def parts(draw: st.DrawFn) -> str:
    return "\n".join(draw(st.lists(LINES, min_size=1, max_size=4))) + draw(
        st.sampled_from(["", "", "\n"])
    )


@st.composite
def documents_with_a_part(draw: st.DrawFn) -> tuple[str, str]:
    """A text, and some of its lines as they are or with other blanks."""
    text = draw(documents())
    lines = flat(text).split("\n")
    first = draw(st.integers(0, len(lines) - 1))
    old = "\n".join(lines[first : first + draw(st.integers(1, 3))])
    old = draw(st.sampled_from([old, old.replace("  ", " "), old.strip(), old.replace("—", "--")]))
    return text, old if old.strip() else draw(parts())


ANY: Final = st.text(st.characters(exclude_categories=[]), max_size=40)


def applied(text: str, outcome: Outcome) -> str:
    return splice(text, outcome.pieces) if isinstance(outcome, Edit) else text


def flat(text: str) -> str:
    return text.replace("\r\n", "\n")


@settings(max_examples=150, deadline=None)
@given(st.one_of(documents(), ANY), st.one_of(parts(), ANY), st.one_of(parts(), ANY), st.booleans())
def test_every_edit_of_every_text_has_an_answer(
    text: str, old: str, new: str, everywhere: bool
) -> None:
    outcome = find_edit(text, old, new, replace_all=everywhere)
    if isinstance(outcome, Refusal):
        assert outcome.message.endswith(".")
        assert all(1 <= r.line <= text.count("\n") + 1 for r in outcome.regions)
    if isinstance(outcome, Edit):
        assert applied(text, outcome) != text or not outcome.pieces


@settings(max_examples=150, deadline=None)
@given(documents(), parts(), parts(), st.booleans())
def test_pieces_are_in_order_and_hold_characters_of_the_new_text_only(
    text: str, old: str, new: str, everywhere: bool
) -> None:
    outcome = find_edit(text, old, new, replace_all=everywhere)
    if isinstance(outcome, Edit):
        at = 0
        for piece in outcome.pieces:
            assert at <= piece.start <= piece.end <= len(text)
            assert flat(piece.text) in flat(new)
            at = piece.end


@settings(max_examples=150, deadline=None)
@given(documents(), parts(), parts(), st.data())
def test_matches_lie_within_the_limits_that_are_set(
    text: str, old: str, new: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    outcome = find_edit(text, old, new, within=(start, end))
    if isinstance(outcome, Edit):
        assert outcome.pieces[0].start >= start
        assert outcome.pieces[-1].end <= end


@settings(max_examples=150, deadline=None)
@given(documents(), parts(), st.data())
def test_a_text_that_occurs_once_is_replaced_and_nothing_else(
    text: str, new: str, data: st.DataObject
) -> None:
    plain = flat(text)
    start = data.draw(st.integers(0, len(plain)))
    end = data.draw(st.integers(start, len(plain)))
    old = plain[start:end]
    assume(old.strip() and "\ufffd" not in old + new)
    assume(plain.find(old) == plain.rfind(old))
    outcome = find_edit(text, old, new)
    if isinstance(outcome, Edit):
        assert flat(applied(text, outcome)) == plain.replace(old, new, 1)
        # Endings outside of the place stay as they are.
        assert applied(text, outcome).startswith(_as_in(text, plain[:start]))
        assert applied(text, outcome).endswith(_as_in(text[::-1], plain[end:][::-1])[::-1])
    else:
        assert new == old or old in new


def _as_in(text: str, plain: str) -> str:
    """The beginning of `text` that is `plain` but for line endings, without a last ending."""
    length = len(plain.rstrip("\n"))
    found = re.match(f"(?:\r\n|\n\r|.|\n){{{length}}}", text, re.DOTALL)
    return found[0].rstrip("\r\n") if found else ""


@settings(max_examples=150, deadline=None)
@given(st.data(), parts(), st.booleans())
def test_an_edit_that_is_sent_twice_is_made_once(
    data: st.DataObject, new: str, everywhere: bool
) -> None:
    text, old = data.draw(documents_with_a_part())
    new += "\nand the end of it"
    everywhere = everywhere and old not in new
    first = find_edit(text, old, new, replace_all=everywhere)
    after = applied(text, first)
    rest = flat(after).replace(flat(new), "\0")
    # Where the old text stands elsewhere too, or only now, that is another edit.
    if isinstance(first, Edit) and flat(old) not in rest and not _grown(flat(after), old, new):
        assert not isinstance(find_edit(after, old, new, replace_all=everywhere), Edit)


def _grown(after: str, old: str, new: str) -> bool:
    """Whether old stands across an edge of new."""
    places = len(re.findall(f"(?={re.escape(old)})", after))
    return places > after.count(new) * len(re.findall(f"(?={re.escape(old)})", new))


@settings(max_examples=150, deadline=None)
@given(st.data(), parts())
def test_an_edit_and_its_inverse_restore_the_text(data: st.DataObject, new: str) -> None:
    text, old = data.draw(documents_with_a_part())
    new = f"<{new}>".replace("\udce9", "e")
    first = find_edit(text, old, new)
    after = applied(text, first)
    if isinstance(first, Edit) and first.strategy == "exact" and "\r\n" not in text:
        back = find_edit(after, new, old)
        assert applied(after, back) == text or old in new


@settings(max_examples=150, deadline=None)
@given(documents(), st.data())
def test_lines_as_they_are_shown_can_be_used_as_old_text(text: str, data: st.DataObject) -> None:
    shown = re.sub("[\ud800-\udfff]", "\ufffd", flat(text)).split("\n")
    first = data.draw(st.integers(0, len(shown) - 1))
    last = data.draw(st.integers(first, len(shown) - 1))
    old = "\n".join(shown[first : last + 1])
    assume(old.strip())
    outcome = find_edit(text, old, old + "\nanother line of it")
    if isinstance(outcome, Refusal):
        assert outcome.code == "ambiguous"
    else:
        assert not isinstance(outcome, NoChange)
        kept = re.findall("[\ud800-\udfff]", text)
        assert re.findall("[\ud800-\udfff]", applied(text, outcome)) == kept
