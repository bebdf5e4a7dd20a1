"""What an edit finds, what it leaves alone, and what it refuses with which words."""

import time

import pytest

from hermes.tools.files.edits import Edit, NoChange, Outcome, Refusal, splice
from hermes.tools.files.matching.find import find_edit


def after(text: str, old: str, new: str, *, replace_all: bool = False) -> str:
    outcome = find_edit(text, old, new, replace_all=replace_all)
    assert isinstance(outcome, Edit), outcome
    return splice(text, outcome.pieces)


def refusal(outcome: Outcome) -> Refusal:
    assert isinstance(outcome, Refusal), outcome
    return outcome


@pytest.mark.parametrize(
    ("text", "old", "new", "strategy", "result"),
    [
        ("a\nb\nc\n", "b", "B", "exact", "a\nB\nc\n"),
        ("a\nb\nc\n", "b\n", "", "exact", "a\nc\n"),
        ("a\nb", "\nb", "", "exact", "a"),
        ("a\n\udce9\nkeep", "keep", "KEEP", "exact", "a\n\udce9\nKEEP"),
        ("a\0b\nkeep", "keep", "KEEP", "exact", "a\0b\nKEEP"),
        ("\ta = 1\n", "\ta = 1", "\\ta = 2", "exact", "\\ta = 2\n"),
        # Line endings: each line keeps its own, a new one has that of its neighbour.
        ("a\r\nb\r\nc\r\n", "a\nb", "A\nB", "exact", "A\r\nB\r\nc\r\n"),
        ("a\r\nb\r\n", "b", "b\nc", "exact", "a\r\nb\r\nc\r\n"),
        ("a\r\nb\nc\n", "c", "C", "exact", "a\r\nb\nC\n"),
        ("a\r\nb\nc\r\nd\n", "b\nc\nd\n", "b\nX\nc\nD\n", "exact", "a\r\nb\nX\r\nc\r\nD\n"),
        ("a\rb\r\nc\r\n", "c", "C", "exact", "a\rb\r\nC\r\n"),
        ("a\nb\n", "a\r\nb", "A\r\nb", "exact", "A\nb\n"),
        (
            "|dir\\run_x.bat|\r\n|y|\r\n",
            "|dir\\run_x.bat|\n|y|",
            "|dir\\run_y.bat|",
            "exact",
            "|dir\\run_y.bat|\r\n",
        ),
        ("hello", "hello\n", "bye\n", "line_trimmed", "bye"),
        # Blanks: what is not changed keeps its own.
        (
            "def f():   \n    return 1  \n",
            "def f():\n    return 1",
            "def f():\n    return 2",
            "line_trimmed",
            "def f():   \n    return 2\n",
        ),
        (
            "class A:\n        def f(self):\n            return 1\n",
            "def f(self):\n    return 1 ",
            "def f(self):\n    return 2",
            "line_trimmed",
            "class A:\n        def f(self):\n            return 2\n",
        ),
        (
            "\tif x:\n\t\ty()\n",
            "    if x:\n        y()",
            "    if x:\n        z()",
            "line_trimmed",
            "\tif x:\n\t\tz()\n",
        ),
        ("  foo\nbar\n  baz\n", "foo\nbar\nbaz", "1\n2\n3", "line_trimmed", "  1\n2\n  3\n"),
        ("  foo \n  bar\n baz\n", "foo\n  bar\nbaz", "X", "line_trimmed", "  X\n"),
        ("x  =   1\n", "x = 1", "x = 2", "whitespace_normalized", "x = 2\n"),
        (
            "foo(a,  b)   # c\n",
            "foo(a, b) # c",
            "foo(c) # c",
            "whitespace_normalized",
            "foo(c) # c\n",
        ),
        # Escapes find, but never write.
        ("one\ntwo\n", "one\\ntwo", "1\n2", "escape_normalized", "1\n2\n"),
        ("\tab = 1\n", "\\tab = 1", "\\tab = 2", "escape_normalized", "\tab = 2\n"),
        ("print('hi')\n", "print(\\'hi\\')", "print(\\'bye\\')", "exact", "print('bye')\n"),
        ("p = 'a\\b'\n", "p = 'a\\\\b'", "p = None", "exact", "p = None\n"),
        # Typography and bytes that are no text stay where nothing changes.
        ("a—b c\n", "a--b c", "a--b d", "unicode_normalized", "a—b d\n"),
        ("a\u00a0b\n", "a b", "a c", "unicode_normalized", "a\u00a0c\n"),
        ("  “a”… b \n", '"a"... b  ', '"a"... c  ', "unicode_normalized", "  “a”… c \n"),
        ("a—b\n", "a--b", "a-b", "unicode_normalized", "a-b\n"),
        ("caf\udce9\n", "caf\ufffd", "th\ufffd", "exact", "th\udce9\n"),
        ("caf\udce9 one\n", "caf\ufffd one", "caf\ufffd two", "exact", "caf\udce9 two\n"),
        ("\udce2\udc82 one\r\n", "\ufffd one\n", "\ufffd two\n", "exact", "\udce2\udc82 two\r\n"),
        # Nearly, where nothing that carries the meaning differs.
        (
            "# recieve the message\nsend(message)\n",
            "# receive the message\nsend(message)",
            "# receive it\nsend(message)",
            "context_aware",
            "# receive it\nsend(message)\n",
        ),
        (
            "begin\nold words of a comment here\nfinish\n",
            "begin\nold words of a remark here\nfinish",
            "begin\nother\nfinish",
            "block_anchor",
            "begin\nother\nfinish\n",
        ),
    ],
)
def test_an_edit_changes_only_what_differs_between_old_and_new(
    text: str, old: str, new: str, strategy: str, result: str
) -> None:
    outcome = find_edit(text, old, new)
    assert isinstance(outcome, Edit), outcome
    assert (outcome.strategy, splice(text, outcome.pieces)) == (strategy, result)


@pytest.mark.parametrize(
    ("text", "old", "new", "code"),
    [
        ("a\n", "", "x", "empty_old"),
        ("a\n \n", " ", "x", "empty_old"),
        ("a\nb\n", "b", "b", "identical"),
        ("a\r\nb\r\n", "a\nb", "a\r\nb", "identical"),
        ("a\nb\n", "zzz", "B", "not_found"),
        ("", "a", "b", "not_found"),
        ("b\nb\n", "b", "c", "ambiguous"),
        ("aaa", "aa", "b", "ambiguous"),
        ("begin\nend\nx\nbegin\nend\n", "begin \nend ", "Q", "ambiguous"),
        ("start\naaaa\nbbbb\nend\n", "start\nzzzz\nqqqq\nend", "X", "not_found"),
        ("timeout = 30\n", "timeout = 60", "timeout = 90", "differs"),
        ("if not user.is_admin:\n    deny()\n", "if user.is_admin:\n    deny()", "X", "differs"),
        ("if count_of <= limit:\n", "if count_of < limit:", "X", "differs"),
        ("return lookup(key, 'prod')\n", "return lookup(key, 'test')", "X", "differs"),
        ("def is_available(item):\n", "def is_unavailable(item):", "X", "differs"),
        ("compute(first, a)\n", "compute(first, b)", "X", "differs"),
        ("one\ntwo\n", "one\\ntwo", "1\\n2", "escapes"),
        (
            "print('hi', \"x\")\n",
            "print(\\'hi\\', \"x\")",
            "print(\\'bye\\', \\\"x\\\")",
            "escapes",
        ),
        ("say('a')\n", "say(\\'a\\')", "say(\\'a\\', \\'b\\')", "escapes"),
        ("p = 'a\\b'\n", "p = 'a\\\\b'", "p = 'c\\\\d'", "escapes"),
        ("caf\udce9\n", "caf\ufffd", "th\ufffd\ufffd", "masked"),
        ("caf\udce9\nkeep\n", "keep", "keep \ufffd", "masked"),
        ("value = 1000\n", "value = 10", "value = 100", "ambiguous"),
    ],
)
def test_a_refusal_has_a_code(text: str, old: str, new: str, code: str) -> None:
    assert refusal(find_edit(text, old, new)).code == code


def test_new_lines_are_not_indented_by_guessing() -> None:
    text = "class A:\n\tdef f(self):\n\t\treturn 1\n"
    old = "    def f(self):\n        return 1"
    answer = refusal(find_edit(text, old, old + "\n        # done"))
    assert answer.code == "indentation"
    assert [(r.line, r.text) for r in answer.regions] == [(2, "\tdef f(self):\n\t\treturn 1")]
    # The lines as shown are the way out.
    shown = answer.regions[0].text
    assert after(text, shown, shown + "\n\t\t# done").endswith("return 1\n\t\t# done\n")


def test_new_text_that_is_indented_as_the_file_is_is_written_as_it_is() -> None:
    text = "if x:\n\tfoo(a)\n\tbar(b)\n"
    new = "\tfoo(c)\n\tbar(d)\n\tbaz(e)"
    assert after(text, "foo(a) \n    bar(b)", new) == f"if x:\n{new}\n"


def test_a_miss_shows_the_nearest_lines_and_how_they_differ() -> None:
    text = "".join(f"line {n}\n" for n in range(1, 9)) + "\tsend(first, second)\nend\n"
    cases = {
        "send(first, 2nd)\n": "words differ: 2nd is second in the file",
        "SEND(first, SECOND)": "upper and lower case differ",
        "send[first, second]": "punctuation differs: [ is ( in the file; ] is ) in the file",
    }
    for old, difference in cases.items():
        answer = refusal(find_edit(text, old, "completely else"))
        nearest = answer.regions[0]
        assert (nearest.line, nearest.difference) == (7, difference)
        assert nearest.text == "line 7\nline 8\n\tsend(first, second)\nend\n"


def test_blanks_that_differ_are_made_visible() -> None:
    answer = refusal(find_edit("a = [\n\t1,\n]x\n", "a = [\n    1,\n]  x", "y"))
    assert "indentation differ: sent ····1,, the file has →1," in answer.regions[0].difference


def test_places_that_are_too_many_are_listed_up_to_five() -> None:
    answer = refusal(find_edit("x = 1\n" * 9, "x = 1", "y"))
    assert "9 places" in answer.message
    assert [region.line for region in answer.regions] == [1, 1, 2, 3, 4]


def test_candidates_that_are_alike_are_listed_and_none_is_taken() -> None:
    text = "".join(f"| {name} | ready for review | today |\n" for name in ("ann", "bob", "cyd"))
    answer = refusal(find_edit(text, "| bob | waits for review | today |", "| bob | done |"))
    assert answer.code == "ambiguous"
    assert len(answer.regions) == 3


def test_an_edit_that_is_sent_again_is_not_made_again() -> None:
    text = "# A\n\nrest\n"
    once = after(text, "# A", "# A\n\npara")
    again = find_edit(once, "# A", "# A\n\npara")
    assert isinstance(again, NoChange)
    assert "line 1" in again.note


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("value = 100\n", "value = 10", "value = 100"),
        ("the new long text\n", "the old long text", "the new long text"),
        ("x = 2\n", "x = 1", "x = 2"),
        ("x  = 1\ny = 2\n", "x = 1", "x = 1\ny = 2"),
        ("a\r\nb\r\n", "a\n", "a\nb\n"),
    ],
)
def test_an_edit_that_is_there_already_is_no_change(text: str, old: str, new: str) -> None:
    assert isinstance(find_edit(text, old, new), NoChange)


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        ("long text to shorten\n", "long text to shorten", "long text", "long text\n"),
        ("a = 1\nb = 1\n", "a = 1\n", "", "b = 1\n"),
        ("return None\nif bad: pass\n", "if bad: pass", "return None", "return None\n" * 2),
        ("import os\nimport re\n", "import re", "import os\nimport re", None),
        ("f(x)\nvalue = 1.5\n", "f(x)", "value = 1", "value = 1\nvalue = 1.5\n"),
    ],
)
def test_an_edit_that_is_not_there_is_made_though_its_new_text_occurs(
    text: str, old: str, new: str, result: str | None
) -> None:
    outcome = find_edit(text, old, new)
    if result is None:
        assert isinstance(outcome, NoChange)
    else:
        assert isinstance(outcome, Edit)
        assert splice(text, outcome.pieces) == result


def test_old_text_with_other_blanks_beside_the_new_text_is_asked_about() -> None:
    answer = refusal(
        find_edit("return foo(1)\n\n\treturn  bar(2)\n", "return bar(2)", "return foo(1)")
    )
    assert answer.code == "ambiguous"
    assert [region.line for region in answer.regions] == [1, 3]


def test_replace_all_takes_every_place_that_does_not_overlap() -> None:
    assert after("x\nx\nax\n", "x", "y", replace_all=True) == "y\ny\nay\n"
    assert after("aaaa\n", "aa", "b", replace_all=True) == "bb\n"


def test_replace_all_leaves_alone_what_is_replaced_already() -> None:
    text = "log(a)\nself.log(b)\nlog(c)\n"
    outcome = find_edit(text, "log", "self.log", replace_all=True)
    assert isinstance(outcome, Edit)
    assert splice(text, outcome.pieces) == "self.log(a)\nself.log(b)\nself.log(c)\n"
    assert outcome.note is not None
    assert "1 of 3" in outcome.note
    done = splice(text, outcome.pieces)
    assert isinstance(find_edit(done, "log", "self.log", replace_all=True), NoChange)


def test_replace_all_takes_no_places_that_are_only_alike() -> None:
    text = "S\nalpha one\nE\nS\nalpha two\nE\n"
    answer = refusal(find_edit(text, "S\nalpha ten\nE", "X", replace_all=True))
    assert answer.code == "ambiguous"


def test_a_match_lies_within_the_limits() -> None:
    text = "head\r\nx = 1\r\n\r\nx = 1\r\n"
    outcome = find_edit(text, "x = 1", "x = 1\ny = 2", within=(13, len(text)))
    assert isinstance(outcome, Edit)
    assert splice(text, outcome.pieces) == "head\r\nx = 1\r\n\r\nx = 1\r\ny = 2\r\n"
    answer = refusal(find_edit(text, "x == 1", "y", within=(13, len(text))))
    assert answer.regions[0].line == 3


def _seconds(text: str, old: str) -> float:
    start = time.perf_counter()
    find_edit(text, old, "x")
    return time.perf_counter() - start


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("word " * 200_000, "word worm word " * 500),
        ("word\n" * 200_000, "word\n" * 100_000 + "z\nword\n"),
        ("{\n x\n y\n}\n" * 20_000, "{\n a1\n b\n}"),
        ("}\n" * 100_000, "}\n" * 5_000 + "]"),
        (" " * 1_000_000, " x y"),
        ("a " * 100_000, "a  " * 9_000 + "b"),
        ("—" * 100_000, "-" * 9_999 + "x"),
        ("ab" * 500_000, "ba" * 1_000 + "c"),
    ],
)
def test_no_text_takes_long_to_miss(text: str, old: str) -> None:
    # About 0.5 s at most on a quiet machine; a square of these sizes takes minutes.
    assert _seconds(text, old) < 10


def test_a_miss_that_could_not_be_compared_says_so() -> None:
    text = "".join(f"value_{n} = compute(alpha, beta, {n})\n" for n in range(5_000))
    answer = refusal(find_edit(text, "value_x = compute(alpha, gamma, delta)", "y"))
    assert "too uniform" in answer.message
