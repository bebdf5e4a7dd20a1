"""Arguments: strict, then repaired where one reading exists, else refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.models.arguments import decode_arguments

texts = st.text(max_size=10)
objects = st.dictionaries(
    texts,
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e3, 1e3) | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


@given(objects, st.sampled_from(["complete", "cut", "dropped"]), st.booleans())
def test_a_whole_object_is_taken_as_it_is_however_the_reply_ended(value, ending, escaped):
    text = json.dumps(value, ensure_ascii=escaped)
    decoded, fault = decode_arguments(f" {text}\n", ending)
    assert fault is None
    assert json.loads(decoded) == value


@given(objects, st.data())
def test_a_part_of_an_object_never_becomes_another_object(value, data):
    text = json.dumps({"first": value, "last": "end"})
    part = text[: data.draw(st.integers(1, len(text) - 1))]
    for ending in ("cut", "dropped"):
        assert decode_arguments(part, ending) == (part, ending)
    decoded, fault = decode_arguments(part, "complete")
    if fault is None:
        assert json.loads(decoded) == json.loads(part + closers(part))


def closers(part):
    stack, inside, escaped = [], False, False
    for c in part:
        if inside:
            inside, escaped = not (c == '"' and not escaped), c == "\\" and not escaped
        elif c == '"':
            inside = True
        elif c in "{[":
            stack.append("}" if c == "{" else "]")
        elif c in "}]":
            stack.pop()
    return "".join(reversed(stack))


@given(objects)
def test_python_notation_is_read_as_it_was_meant(value):
    decoded, fault = decode_arguments(python_notation(value), "complete")
    assert fault is None
    assert json.loads(decoded) == value


def python_notation(value):
    match value:
        case dict():
            return (
                "{"
                + "".join(f"{json.dumps(k)}: {python_notation(v)}, " for k, v in value.items())
                + "}"
            )
        case list():
            return "[" + "".join(f"{python_notation(v)}, " for v in value) + "]"
        case bool() | None:
            return repr(value)
        case _:
            return json.dumps(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"path": "a", "n": None,}', {"path": "a", "n": None}),
        ("{'path': 'it\\'s \"x\"'}", {"path": 'it\'s "x"'}),
        ('{"content":"one\ntwo\tthree"}', {"content": "one\ntwo\tthree"}),
        ('{"a":["b",{"c":"d"}', {"a": ["b", {"c": "d"}]}),
        ('"{\\"a\\":1}"', {"a": 1}),
    ],
)
def test_a_defect_with_one_reading_is_repaired(text, value):
    decoded, fault = decode_arguments(text, "complete")
    assert fault is None
    assert json.loads(decoded) == value


@pytest.mark.parametrize(
    "text",
    [
        '{"command":"echo "hi, there""}',
        '{"path":"a',
        '{"n":12',
        '{"a":1,',
        '{"a":1,,"b":2}',
        '{"a":}',
        '{"a":NaN}',
        '{"a":nothing}',
        "{path: 1}",
        '{"pattern":"\\d+"}',
        '{"a":1} and more',
        "[1]",
        "null",
        "7",
        "hello",
        '{"a":' * 5_000,
        '{"a":' * 500 + "1" + "}" * 500,
        "[" * 1_000_000,
    ],
)
def test_a_text_with_no_or_several_readings_is_refused_with_the_text_kept(text):
    assert decode_arguments(text, "complete") == (text, "malformed")


def test_empty_arguments_count_only_for_a_tool_that_needs_none_and_a_whole_reply():
    assert decode_arguments("", "complete", needs_nothing=True) == ("{}", None)
    assert decode_arguments("", "complete") == ("", "malformed")
    assert decode_arguments("", "cut", needs_nothing=True) == ("", "cut")
    assert decode_arguments("", "dropped", needs_nothing=True) == ("", "dropped")


@pytest.mark.parametrize("text", ['{"a":"\\ud83d"}', '{"a":"\ud83d"}', '{"a":"\\ud83d"'])
def test_lone_surrogates_never_reach_a_tool(text):
    decoded, fault = decode_arguments(text, "complete")
    assert fault is None
    assert json.loads(decoded) == {"a": "\N{REPLACEMENT CHARACTER}"}
