"""Server-sent events, cut anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.models.sse import EventSplitter


def events(*chunks):
    splitter = EventSplitter()
    found = [data for chunk in chunks for data in splitter.feed(chunk)]
    return found + list(splitter.end())


payloads = st.lists(
    st.text(min_size=1, max_size=8).map(
        lambda t: b'{"t":"%s"}' % t.encode().replace(b"\r", b"").replace(b"\n", b"")
    ),
    max_size=5,
)


@given(payloads, st.sampled_from([b"\n", b"\r\n", b"\r"]), st.booleans(), st.data())
def test_any_line_end_and_any_cut_gives_the_same_events(wanted, end, closed, data):
    body = b"".join(b": ping" + end + b"event: x" + end + b"data: " + p + end + end for p in wanted)
    if not closed:
        body = body.rstrip(b"\r\n")
    edges = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=8)))
    pieces = [body[a:b] for a, b in zip([0, *edges], [*edges, len(body)], strict=True)]
    assert events(*pieces) == wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b"data:[DONE]\n\n", [b"[DONE]"]),
        (b'data: {"a":\ndata: 1}\n\n', [b'{"a":\n1}']),
        (b'data: {"a":1}\ndata: {"b":2}\ndata: [DONE]\n', [b'{"a":1}', b'{"b":2}', b"[DONE]"]),
        (b": only a comment\n\n\n\ndata:\n\n", []),
    ],
)
def test_odd_streams_are_read(body, wanted):
    assert events(body) == wanted


def test_the_size_of_an_unfinished_event_is_known():
    splitter = EventSplitter()
    assert not list(splitter.feed(b"data: " + b"x" * 100))
    assert splitter.size >= 100
