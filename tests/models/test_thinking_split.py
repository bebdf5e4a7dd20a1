"""Reasoning never reaches the answer, whatever the chunks; and nothing is lost on the way."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.models.thinking import TAGS, ThinkingSplitter


def split(*chunks):
    splitter = ThinkingSplitter()
    for chunk in chunks:
        for _ in splitter.feed(chunk):
            pass
    for _ in splitter.end():
        pass
    return splitter.visible, splitter.thinking


TAGS_SEEN = ["<think>", "</think>", "<THOUGHT>", "</thought>", "<思考>", "</思考>", "[think]"]
OTHERS = [
    "[/think]",
    "◁think▷",
    "a",
    "word",
    "```",
    "`",
    "~~~",
    "<",
    "</",
    "<thin",
    "\n",
    "\r\n",
    " ",
]
replies = st.lists(st.sampled_from(TAGS_SEEN + OTHERS) | st.text(max_size=3), max_size=10).map(
    "".join
)


@given(replies, st.data())
def test_any_chunks_split_like_the_whole(text, data):
    edges = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *edges], [*edges, len(text)], strict=True)]
    assert split(*pieces) == split(text)


@given(replies)
def test_no_character_is_lost_except_the_tags(text):
    visible, thinking = split(text)
    marks = re.compile("|".join(re.escape(m) for pair in TAGS for m in pair), re.IGNORECASE)

    def counted(*texts):
        return sorted(marks.sub("", "\0".join(texts)).replace("\0", ""))

    assert counted(visible, thinking) == counted(text)


@pytest.mark.parametrize(
    ("text", "visible", "thinking"),
    [
        ("<think>x</think>Hi", "Hi", "x"),
        ("<think>x\nHi", "", "x\nHi"),
        ("<THOUGHT>x</Thought>Hi", "Hi", "x"),
        ("<思考>x</思考>Hi", "Hi", "x"),
        ("\n <think>x</think>Hi", "\n Hi", "x"),
        ("One.\n<think>x</think>\nTwo.", "One.\n\nTwo.", "x"),
        ("why\n</think>\n\nHi", "\n\nHi", "why\n"),
        ("why</think>\nHi", "\nHi", "why"),
        ("<think>The answer is 4</think>", "", "The answer is 4"),
        ("use the <think> tag", "use the <think> tag", ""),
        ("close with `</think>` then", "close with `</think>` then", ""),
        ("```\n<think>\n```\nok", "```\n<think>\n```\nok", ""),
        ("<thinker>x</thinker>", "<thinker>x</thinker>", ""),
        ("a < b", "a < b", ""),
    ],
)
def test_a_tag_counts_only_where_a_block_can_begin(text, visible, thinking):
    assert split(text) == split(*text) == (visible, thinking)
