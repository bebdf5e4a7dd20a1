"""The hunks of a V4A patch: where they go, and what is refused in words."""

import pytest

from patches import after, refused


async def test_context_stays_and_lines_are_replaced() -> None:
    assert await after("one\ntwo\nthree\n", "@@ @@\n one\n-two\n+TWO\n three\n") == (
        "one\nTWO\nthree\n"
    )


async def test_a_line_without_a_mark_is_context() -> None:
    assert await after("one\ntwo\n", "one\n-two\n+TWO\n") == "one\nTWO\n"


async def test_a_bare_empty_line_is_context() -> None:
    assert await after("one\n\ntwo\n", " one\n\n-two\n+TWO\n") == "one\n\nTWO\n"


@pytest.mark.parametrize(
    "hunks", ["-one\n+ONE\n\n\n@@\n-three\n+THREE\n\n", "\n-one\n+ONE\n@@\n\n-three\n+THREE\n"]
)
async def test_bare_empty_lines_around_a_hunk_are_layout_if_the_file_has_none(hunks: str) -> None:
    assert await after("one\ntwo\nthree\n", hunks) == "ONE\ntwo\nTHREE\n"


async def test_only_whole_lines_match() -> None:
    assert await after("fix\nx\n", "-x\n+y\n") == "fix\ny\n"
    await refused("fix\nsix\n", "-x\n+y\n")
    await refused("fix\n", "-x\n+y\n")


@pytest.mark.parametrize("hint", ["@@ def b @@", "@@ def b():", "@@ -9,9 +9,9 @@ def b():"])
async def test_a_hint_says_which_of_several_places_is_meant(hint: str) -> None:
    text = "def a():\n    return 1\ndef b():\n    return 1\ndef c():\n    return 1\n"
    assert await after(text, f"{hint}\n-    return 1\n+    return 2\n") == (
        "def a():\n    return 1\ndef b():\n    return 2\ndef c():\n    return 1\n"
    )


async def test_a_hint_may_be_the_first_line_of_its_hunk() -> None:
    text = "def a():\n    return 1\ndef b():\n    return 1\n"
    hunk = "@@ def a():\n def a():\n-    return 1\n+    return 2\n"
    assert await after(text, hunk) == text.replace("1", "2", 1)


async def test_nested_hints_lead_from_the_outer_to_the_inner() -> None:
    one = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n"
    text = one + one.replace("A", "B")
    made = await after(text, "@@ class B\n@@ def f\n-        return 1\n+        return 2\n")
    assert made == one + one.replace("A", "B").replace("1", "2", 1)


async def test_a_section_with_two_such_places_is_not_guessed_at() -> None:
    text = "def a():\n    x()\n    y()\n    x()\ndef b():\n    x()\n"
    made = await refused(text, "@@ def a\n-    x()\n+    z()\n")
    assert made.code == "ambiguous"
    assert "lines 2, 4" in made.problems[0].message


async def test_a_hint_in_flat_text_leads_to_the_first_place_below_it() -> None:
    text = "# A\n- x\n# B\n- x\n# C\n- x\n"
    assert await after(text, "@@ # B\n-- x\n+- y\n") == "# A\n- x\n# B\n- y\n# C\n- x\n"


async def test_a_wrong_hint_does_no_harm_where_the_lines_stand_once() -> None:
    assert await after("one\ntwo\n", "@@ nowhere\n-two\n+TWO\n") == "one\nTWO\n"


async def test_a_later_hunk_is_looked_for_after_the_earlier() -> None:
    text = "x\n}\na\nx\n}\n"
    assert await after(text, "@@\n-a\n+A\n@@\n-x\n+y\n") == "x\n}\nA\ny\n}\n"


async def test_hunks_in_another_order_than_the_file_are_found_too() -> None:
    assert await after("a\nb\nc\n", "@@\n-c\n+C\n@@\n-a\n+A\n") == "A\nb\nC\n"


async def test_a_hunk_that_goes_back_is_made_even_if_its_new_line_stands_further_on() -> None:
    assert await after("a\nb\nc\nA\n", "@@\n-c\n+C\n@@\n-a\n+A\n") == "A\nb\nC\nA\n"


async def test_end_of_file_picks_the_last_place() -> None:
    assert await after("x\ny\nx\n", "@@\n-x\n+z\n*** End of File\n") == "x\ny\nz\n"
    assert await after("one\ntwo\n", "@@\n-two\n+TWO\n*** End of File\n") == "one\nTWO\n"


async def test_a_line_number_chooses_only_where_it_is_clear() -> None:
    text = "x\n" + "-\n" * 10 + "x\n"
    assert await after(text, "@@ -12,1 +12,1 @@\n-x\n+y\n") == "x\n" + "-\n" * 10 + "y\n"
    assert (await refused(text, "@@ -6,1 +6,1 @@\n-x\n+y\n")).code == "ambiguous"


async def test_line_numbers_count_what_the_hunks_before_have_added() -> None:
    text = "a\n" + "x\n\n\n" * 3
    hunks = "@@ -1 +1,4 @@\n-a\n+a\n+b\n+c\n+d\n@@ -5 +8 @@\n-x\n+y\n"
    assert await after(text, hunks) == "a\nb\nc\nd\nx\n\n\ny\n\n\nx\n\n\n"


async def test_two_places_and_nothing_to_choose_by_are_refused_with_their_lines() -> None:
    made = await refused("x\nx\n", "-x\n+y\n")
    assert made.code == "ambiguous"
    assert "twice, at lines 1, 2" in made.problems[0].message


async def test_additions_alone_go_to_the_end_or_below_their_hint() -> None:
    assert await after("one\n", "@@\n+tail\n") == "one\ntail\n"
    assert await after("one", "@@\n+tail\n") == "one\ntail"
    assert await after("", "@@ -0,0 +1 @@\n+tail\n") == "tail\n"
    assert await after("one\ntwo\n", "@@ one @@\n+new\n\n") == "one\nnew\ntwo\n"
    assert await after("one\r\ntwo\r\n", "@@ one\n+new\n") == "one\r\nnew\r\ntwo\r\n"


@pytest.mark.parametrize(
    ("text", "hunk", "code"),
    [
        ("one\n", "@@ -1,1 +1,2 @@\n+new\n", "no_place"),
        ("one\n", "@@ two\n+new\n", "no_place"),
        ("one\na\none\n", "@@ one\n+new\n", "ambiguous"),
    ],
)
async def test_additions_without_a_proven_place_are_refused(
    text: str, hunk: str, code: str
) -> None:
    assert (await refused(text, hunk)).code == code


@pytest.mark.parametrize(
    ("text", "hunk", "wanted"),
    [
        ("one\r\ntwo\r\n", " one\n-two\n+TWO\n", "one\r\nTWO\r\n"),
        ("one\r\ntwo\nthree\r\n", " one\n-two\n+TWO\n three\n", "one\r\nTWO\nthree\r\n"),
        ("one\ntwo\r\n", " one\n-two\n+2\n+3\n", "one\n2\r\n3\r\n"),
        ("one\ntwo\n", " one\r\n-two\r\n+TWO\r\n", "one\nTWO\n"),
        ("a\r\nb\rc\nd\n", "-d\n+D\n", "a\r\nb\rc\nD\n"),
        ("one\ntwo", "-two\n+TWO\n", "one\nTWO"),
        ("one\r\ntwo", "-one\n-two\n+TWO\n", "TWO"),
        ("one\ntwo", " one\n-two\n", "one"),
        ("one\ntwo\r", "-one\n+ONE\n", "ONE\ntwo\r"),
        ("one\ntwo", "-two\n+TWO\n\\ No newline at end of file\n", "one\nTWO"),
        ("one\ntwo\n", "-two\n+TWO\n\\ No newline at end of file\n", "one\nTWO"),
        ("one\ntwo", "-two\n\\ No newline at end of file\n+two\n", "one\ntwo\n"),
        ("hello", "-hello\n+bye\n", "bye"),
        ("hello\n", "-hello\n", ""),
    ],
)
async def test_endings_stay_unless_the_hunk_says_otherwise(
    text: str, hunk: str, wanted: str
) -> None:
    assert await after(text, hunk) == wanted


@pytest.mark.parametrize(
    ("text", "hunk"),
    [
        ("one\ntwo\n", " one\n-two\n+TWO\n"),
        ("one\ntwo\n", " one\n+mid\n two\n"),
        ("one\ntwo\n", " one\n+mid\n"),
        ("one\ntwo\n", "+mid\n two\n"),
        ("one\ntwo\nthree\n", " one\n-two\n three\n"),
        ("one\n", "@@\n+tail\n"),
        ("one\ntwo\n", "@@ one\n+mid\n"),
    ],
)
async def test_a_hunk_that_is_sent_again_changes_nothing(text: str, hunk: str) -> None:
    once = await after(text, hunk)
    assert once != text
    assert await after(once, hunk) == once


@pytest.mark.parametrize(
    ("text", "hunk"),
    [
        ("def a():\n    ret 1\ndef b():\n    ret 1\n", "@@ def b\n-    ret 1\n+    ret 2\n"),
        ("x\ny\nx\n", "-x\n+z\n*** End of File\n"),
        ("x\n\n\n\n\nx\n", "@@ -6 +6 @@\n-x\n+z\n"),
        ("x\na\nx\n", "@@\n-a\n+A\n@@\n-x\n+z\n"),
    ],
)
async def test_a_hunk_that_is_sent_again_does_not_take_the_next_best_place(
    text: str, hunk: str
) -> None:
    once = await after(text, hunk)
    assert once != text
    assert await after(once, hunk) == once


async def test_a_removal_whose_line_is_not_there_is_not_taken_for_done() -> None:
    assert (await refused("one\ntwo\n", " one\n-three\n")).code != "nothing_to_do"


async def test_a_patch_of_context_alone_is_refused() -> None:
    assert (await refused("one\ntwo\n", "@@\n one\n two\n")).code == "nothing_to_do"


async def test_lines_with_other_blanks_are_found_and_context_keeps_its_own() -> None:
    text = "class A:\n    def f():\n      return 1\n"
    hunk = "-def f():\n-  return 1\n+def f():\n+  return 2\n"
    assert await after(text, hunk) == text.replace("1", "2")
    assert await after("one  \ntwo\n", " one\n-two\n+TWO\n") == "one  \nTWO\n"


async def test_a_wrong_word_of_context_does_not_reach_a_row_that_looks_the_same() -> None:
    rows = [f"| item {n} | ready | {n * 10} units |\n" for n in range(1, 5)]
    hunk = " | item 2 | ready | 20 units |\n-| item 3 | done | 30 units |\n+| item 3 | late |\n"
    made = await refused("".join(rows), f"@@\n{hunk}")
    assert made.problems[0].regions


async def test_a_long_hunk_with_one_drift_is_answered_with_the_lines_that_are_there() -> None:
    rows = [f"value_{n} = compute({n})" for n in range(80)]
    hunk = "".join(f" {row}\n" for row in rows).replace("compute(40)", "compute(41)")
    made = await refused(
        "".join(f"{row}\n" for row in rows), hunk + "-value_79 = 1\n+value_79 = 2\n"
    )
    problem = made.problems[0]
    assert problem.code in ("not_found", "differs")
    assert problem.regions
    assert "_string" not in problem.message


async def test_a_mark_for_a_byte_that_is_no_text_is_not_written() -> None:
    assert (await refused("a\udc80b\nx\n", " x\n+a\ufffdb\n")).code == "masked"
    kept = await after("a\udc80b\nx\n", " a\ufffdb\n-x\n+y\n")
    assert kept == "a\udc80b\ny\n"


async def test_a_file_of_equal_lines_is_refused_quickly() -> None:
    made = await refused("x\n" * 200_000, "@@ x\n" + " x\n" * 500 + "-x\n+y\n")
    assert made.code == "ambiguous"


# Several files
