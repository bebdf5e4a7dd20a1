"""Tools by the schema union: what is asked for, and how replies are read."""

import itertools
import json
from pathlib import Path

import httpx2
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.calls import ToolCall, ToolResult
from hermes.core.content import Text, visible
from hermes.core.entries import AssistantEntry, Entry, ToolBatchEntry, UserEntry
from hermes.core.ids import CallId, CountingIds, TurnId
from hermes.core.people import Origin
from hermes.core.prompt import FrozenPrompt
from hermes.core.transcript import Epoch, ToolSchema
from hermes.core.usage import FREE, Usage
from hermes.models.dialects.schema_union import SchemaUnion
from hermes.models.local.server import LocalServer
from hermes.ports.model import CallBegun, Delta, Reply, Route

READ = ToolSchema(
    name="read_file",
    description="Read a text file.",
    parameters=json.dumps(
        {
            "type": "object",
            "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["path"],
            "additionalProperties": False,
        }
    ),
)
ROUTE = Route(
    name="local/demo",
    provider="local",
    model="demo",
    dialect="schema_union",
    base_url="http://127.0.0.1:1/v1",
    key="",
    window=8192,
    max_output=200,
    price=FREE,
    demo=True,
)
DIALECT = SchemaUnion()


def epoch(*tools: ToolSchema) -> Epoch:
    prompt = FrozenPrompt(text="You are a demo.")
    return Epoch(number=1, prompt=prompt, tools=tools, model="demo", opened_at=0.0, reason="new")


def user(text: str) -> UserEntry:
    origin = Origin(surface="cli")
    return UserEntry(turn=TurnId("t"), at=0.0, content=(Text(text=text),), origin=origin)


def assistant(text: str = "", *calls: ToolCall) -> AssistantEntry:
    return AssistantEntry(
        turn=TurnId("t"),
        at=0.0,
        content=(Text(text=text),) if text else (),
        calls=calls,
        model="local/demo",
        usage=Usage(),
        stop="calls" if calls else "end",
    )


def called(arguments: str = '{"path":"a.txt"}') -> ToolCall:
    return ToolCall(id=CallId("c1"), tool="read_file", arguments=arguments)


def answered(content: str) -> ToolBatchEntry:
    result = ToolResult(call=CallId("c1"), content=content, outcome="ok")
    return ToolBatchEntry(turn=TurnId("t"), at=0.0, results=(result,))


def body(of: Epoch, *entries: Entry, may_call: bool = True, closed: bool = True) -> bytes:
    made, carry = DIALECT.head(of, ROUTE)
    for entry in entries:
        more, carry = DIALECT.step(entry, carry)
        made += more
    return made + DIALECT.tail(of, may_call=may_call) if closed else made


def read(pieces: list[str], finish: str = "stop", of: Epoch | None = None) -> list[object]:
    reader = DIALECT.reader(of or epoch(READ), ROUTE, CountingIds(), ())
    chunks: list[object] = []
    for piece in pieces:
        event = {"choices": [{"index": 0, "delta": {"content": piece}}]}
        chunks += reader.feed(json.dumps(event).encode())
    event = {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    chunks += reader.feed(json.dumps(event).encode())
    return [*chunks, *reader.finish()]


def split(text: str, at: list[int]) -> list[str]:
    cuts = sorted({0, len(text), *(i % (len(text) + 1) for i in at)})
    return [text[a:b] for a, b in itertools.pairwise(cuts)]


@given(st.text(min_size=1).filter(str.strip), st.booleans(), st.lists(st.integers(min_value=0)))
def test_an_answer_is_shown_as_it_was_meant_however_it_is_cut(
    text: str, ascii_only: bool, at: list[int]
) -> None:
    sent = json.dumps({"answer": text}, ensure_ascii=ascii_only)
    *deltas, reply = read(split(sent, at))
    assert isinstance(reply, Reply)
    assert visible(reply.content) == text
    assert "".join(d.text for d in deltas if isinstance(d, Delta)) == text
    assert reply.stop == "end"


@given(st.text(), st.lists(st.integers(min_value=0)))
def test_a_call_is_a_call_however_it_is_cut(path: str, at: list[int]) -> None:
    sent = json.dumps({"tool": "read_file", "arguments": {"path": path}}, indent=1)
    begun, reply = read(split(sent, at))
    assert begun == CallBegun(tool="read_file")
    assert isinstance(reply, Reply)
    (call,) = reply.calls
    assert json.loads(call.arguments) == {"path": path}
    assert call.fault is None and reply.stop == "calls" and not reply.content


def test_an_answer_is_shown_while_it_is_being_made() -> None:
    reader = DIALECT.reader(epoch(READ), ROUTE, CountingIds(), ())
    event = {"choices": [{"index": 0, "delta": {"content": '{"answer": "Hel'}}]}
    assert list(reader.feed(json.dumps(event).encode())) == [Delta(text="Hel", channel="answer")]


def test_a_cut_answer_is_kept_and_called_cut() -> None:
    *_, reply = read(['{"answer": "Once upon'], finish="length")
    assert isinstance(reply, Reply)
    assert visible(reply.content) == "Once upon" and reply.stop == "length"


def test_a_cut_call_carries_its_fault() -> None:
    *_, reply = read(['{"tool": "read_file", "arguments": {"path": "a'], finish="length")
    assert isinstance(reply, Reply)
    (call,) = reply.calls
    assert call.fault == "cut" and call.arguments == '{"path": "a'


def test_a_server_that_ignores_the_schema_is_still_heard() -> None:
    *_, reply = read(["Hello ", "there"])
    assert isinstance(reply, Reply)
    assert visible(reply.content) == "Hello there" and not reply.calls


def test_without_tools_it_is_plain_chat() -> None:
    sent = json.loads(body(epoch(), user("Hi"), assistant("Hello"), user("Bye")))
    assert "response_format" not in sent
    assert [m["content"] for m in sent["messages"]] == ["You are a demo.", "Hi", "Hello", "Bye"]
    *_, reply = read(['{"answer": "x"}'], of=epoch())
    assert isinstance(reply, Reply)
    assert visible(reply.content) == '{"answer": "x"}'


def test_the_last_reply_of_a_turn_is_held_to_an_answer() -> None:
    sent = json.loads(body(epoch(READ), user("Hi"), may_call=False))
    assert list(sent["response_format"]["json_schema"]["schema"]["properties"]) == ["answer"]


def test_each_request_begins_with_the_one_before() -> None:
    entries = (user("What is in a.txt?"), assistant("", called()), answered("42"), assistant("42."))
    made = [body(epoch(READ), *entries[:n], closed=False) for n in range(len(entries) + 1)]
    assert all(later.startswith(sooner) for sooner, later in itertools.pairwise(made))
    messages = json.loads(body(epoch(READ), *entries))["messages"]
    assert json.loads(messages[-3]["content"])["arguments"] == {"path": "a.txt"}
    assert messages[-2] == {"role": "user", "content": "Result of read_file:\n42"}
    assert json.loads(messages[-1]["content"]) == {"answer": "42."}


def test_the_roles_alternate() -> None:
    messages = json.loads(body(epoch(READ), user("a"), assistant("b"), user("c")))["messages"]
    roles = [m["role"] for m in messages[1:]]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]


@pytest.mark.localmodel
async def test_the_demo_model_calls_a_tool_and_answers_in_words(
    demo_model: Path, tmp_path: Path
) -> None:
    local = LocalServer(
        demo_model, state_dir=tmp_path / "locks", log=tmp_path / "local.log", threads=1
    )
    try:
        async with local.use() as endpoint:
            for entries, may_call in (
                ((user("What does config.yaml contain?"),), True),
                ((user("Hello"),), False),
            ):
                request = msgspec.json.decode(body(epoch(READ), *entries, may_call=may_call))
                reader = DIALECT.reader(epoch(READ), ROUTE, CountingIds(), ())
                headers = {"Authorization": f"Bearer {endpoint.token}"}
                async with (
                    httpx2.AsyncClient(timeout=60, headers=headers) as client,
                    client.stream(
                        "POST",
                        f"{endpoint.base_url}/chat/completions",
                        json={**request, "temperature": 0},
                    ) as stream,
                ):
                    assert stream.status_code == 200
                    async for line in stream.aiter_lines():
                        if line.startswith("data: "):
                            list(reader.feed(line.removeprefix("data: ").encode()))
                *_, reply = reader.finish()
                assert isinstance(reply, Reply)
                assert reply.usage.input > 0
                if may_call:
                    (call,) = reply.calls
                    assert call.tool == "read_file" and "path" in json.loads(call.arguments)
                else:
                    assert visible(reply.content) and not reply.calls
    finally:
        await local.aclose()
