"""The stored form of what is said: pinned, for it outlives the classes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.calls import ToolCall, ToolResult
from hermes.core.content import Text, Thinking
from hermes.core.entries import AssistantEntry, Entry, ToolBatchEntry, UserEntry
from hermes.core.ids import CallId, TurnId
from hermes.core.inputs import Steer, Submit
from hermes.core.people import Origin
from hermes.core.usage import Usage
from hermes.system.codec import (
    BadBytes,
    entry_kind,
    pack_entry,
    pack_input,
    pack_result,
    unpack_entry,
    unpack_input,
    unpack_result,
)

TURN = TurnId("turn_1")
ANY = st.text(st.characters(), max_size=20)  # with lone surrogates

USER = UserEntry(
    turn=TURN, at=1.5, content=(Text(text="grüß 你好"),), origin=Origin(surface="cli", person=True)
)
REPLY = AssistantEntry(
    turn=TURN,
    at=2.5,
    content=(Thinking(text="hm", issuer="p", replay="sig"), Text(text="ok")),
    calls=(ToolCall(id=CallId("c1"), tool="t", arguments='{"a', fault="cut"),),
    model="p/m",
    usage=Usage(input=5, output=4, cached=3, cache_write=2, thinking=1, cost_usd=None),
    stop="calls",
)
BATCH = ToolBatchEntry(
    turn=TURN,
    at=3.5,
    results=(ToolResult(call=CallId("c1"), content="r", outcome="failed"),),
    steer="s",
    notice="n",
)
STORED: list[tuple[Entry, str]] = [
    (
        USER,
        '{"content":["grüß 你好"],'
        '"origin":{"surface":"cli","principal":"owner","trust":"owner","person":true}}',
    ),
    (
        REPLY,
        '{"content":[{"text":"hm","issuer":"p","replay":"sig"},"ok"],'
        '"calls":[{"id":"c1","tool":"t","arguments":"{\\"a","fault":"cut"}],"model":"p/m",'
        '"usage":{"input":5,"output":4,"cached":3,"cache_write":2,"thinking":1,"cost_usd":null},'
        '"stop":"calls"}',
    ),
    (
        BATCH,
        '{"results":[{"call":"c1","content":"r","outcome":"failed"}],"steer":"s","notice":"n"}',
    ),
]


@pytest.mark.parametrize(("entry", "stored"), STORED)
def test_the_stored_form_of_an_entry_does_not_change(entry: UserEntry, stored: str) -> None:
    assert pack_entry(entry) == (entry, stored.encode())
    assert unpack_entry(entry_kind(entry), TURN, entry.at, stored.encode()) == entry


@given(ANY, ANY)
def test_any_text_comes_back_as_it_was_packed(text: str, other: str) -> None:
    entry = UserEntry(
        turn=TURN,
        at=1.0,
        content=(Text(text=text), Thinking(text=other)),
        origin=Origin(surface="cli"),
    )
    packed, body = pack_entry(entry)
    body.decode()
    assert unpack_entry("user", TURN, 1.0, body) == packed
    assert pack_entry(packed) == (packed, body)
    result = unpack_result(pack_result(ToolResult(call=CallId("c"), content=text, outcome="ok")))
    assert result.content == packed.content[0].text
    assert unpack_input(pack_input(Steer(text=text, origin=entry.origin))).text == result.content


def test_inputs_come_back_with_what_they_do_to_a_busy_session() -> None:
    item = Submit(text="x", origin=Origin(surface="irc", trust="outside"), busy="interrupt")
    assert unpack_input(pack_input(item)) == item


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("user", b""),
        ("user", b"{}"),
        ("user", b'{"content":["x"],"origin":{"surface":1}}'),
        ("user", b"\xff\xfe"),
        ("assistant", b'{"results":[]}'),
        ("summary", b"{}"),
    ],
)
def test_bytes_that_are_something_else_are_refused(kind: str, body: bytes) -> None:
    with pytest.raises(BadBytes):
        unpack_entry(kind, TURN, 1.0, body)
