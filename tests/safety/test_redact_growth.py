"""The redactor's work grows with the length of a text and no faster, whatever the text is."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.safety.redact import Mode, Redactor

REDACTOR = Redactor(secrets=["literal-secret-1"])
MODES: tuple[Mode, ...] = ("text", "file", "log")

PIECES = [
    *("key", "token", "pass", "secret", "auth", "authorization", "sess", "cookie", "curl -u "),
    *("bearer ", "basic ", "PRIVATE KEY", "kind: Secret\n", "data:\n", "Comment: a", "login "),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "://", "@", "eyJ", "sk-", "SG."),
    *"=:\"'`\\&?./-_+;,|> \n\0\x1b[]{a1",
]


class _Count:
    """How many functions were called, ours and those of the language."""

    calls = 0

    def __call__(self, _frame: object, event: str, _argument: Any) -> None:
        self.calls += event in ("call", "c_call")


@contextmanager
def counted() -> Iterator[_Count]:
    count = _Count()
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield count
    finally:
        sys.setprofile(before)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join))
@pytest.mark.parametrize("mode", MODES)
def test_the_steps_of_the_search_grow_with_the_text_and_no_faster(mode: Mode, unit: str) -> None:
    REDACTOR.redact(unit * 8, mode)
    steps = []
    for size in (2_000, 16_000):
        text = unit * (size // len(unit))
        with counted() as count:
            REDACTOR.redact(text, mode)
        steps.append(count.calls)
    # Eight times the text; a second or third round over it may come on top.
    assert steps[1] < 24 * steps[0] + 200


def test_a_page_without_a_trigger_takes_a_fixed_number_of_steps() -> None:
    line = "Nothing to see here; the lazy dog moved on, as it does every evening.\n"
    steps = []
    for size in (100, 800):
        with counted() as count:
            REDACTOR.redact(line * size, "file")
        steps.append(count.calls)
    assert steps[0] == steps[1] < 150
