"""What the scripted model refuses, as the strictest vendors do, and when a prefix is broken."""

import json
import socket
from urllib.parse import urlsplit

import pytest

from hermes.sdk.testing import (
    ScriptedModel,
)
from wire_client import (
    AGAIN,
    HI,
    SAID,
    SYSTEM,
    TOOL,
    call,
    calling,
    encode,
    post,
    result,
)

ONE = call("c1")
TWO = call("c2")
FAULTY: dict[str, bytes] = {
    "array is required": encode(),
    "only at the start": encode(HI, SAID, SYSTEM, AGAIN),
    "two user messages in a row": encode(HI, AGAIN),
    "cannot follow assistant": encode(HI, SAID, SAID, AGAIN),
    "cannot follow system": encode(SYSTEM, SAID, HI),
    "unknown role": encode({"role": "developer", "content": "x"}, HI),
    "empty content in a message of role assistant": encode(
        HI, {"role": "assistant", "content": ""}, AGAIN
    ),
    "empty content in a message of role user": encode({"role": "user", "content": " \n"}),
    "content must be a string": encode(HI, {"role": "assistant", "content": None}, AGAIN),
    "last message is of role assistant": encode(HI, SAID),
    "tool_calls must be a non-empty array": encode(HI, calling(content="x"), AGAIN),
    "a non-empty id": encode(HI, calling(call("")), result("")),
    "'c1' comes twice": encode(HI, calling(ONE, ONE), result("c1")),
    "call id 'c1' comes twice": encode(HI, calling(ONE), result("c1"), calling(ONE), result("c1")),
    "JSON of an object": encode(HI, calling(call("c1", '{"a')), result("c1")),
    "must be a string with the JSON": encode(HI, calling(call("c1", "[]")), result("c1")),
    "arguments must be a string": encode(HI, calling(call("c1", {})), result("c1")),
    "bad function name 'a b'": encode(HI, calling(call("c1", "{}", "a b")), result("c1")),
    "without an answer before this message: c2": encode(HI, calling(ONE, TWO), result("c1"), AGAIN),
    "without an answer before this message: c1": encode(HI, calling(ONE), AGAIN, result("c1")),
    "without an answer at the end: c1": encode(HI, calling(ONE)),
    "a second answer to call 'c1'": encode(HI, calling(ONE), result("c1"), result("c1")),
    "no call 'c9'": encode(HI, result("c9")),
    "no call 'c1' directly before": encode(
        HI, calling(ONE), result("c1"), AGAIN, SAID, AGAIN, result("c1")
    ),
    "object with a type": encode({"role": "user", "content": ["x"]}),
    "function name 'read_file' comes twice": encode(HI, tools=[TOOL, TOOL]),
    'of type "function" with': encode(HI, tools=[{"name": "x"}]),
    "leave the key out": encode(HI, tools=[]),
    'JSON Schema of type "object"': encode(
        HI, tools=[{"type": "function", "function": {"name": "x", "parameters": {}}}]
    ),
    "non-empty string is required": encode(HI, model=""),
    "true or false": encode(HI, stream=1),
    "not UTF-8 at byte 0": b"\xff" + encode(HI),
    "not a JSON object": encode(HI)[:-1],
    "more after the object": encode(HI) + b"{}",
    "NaN is not JSON": encode(HI, temperature=float("nan")),
    "'model' is no string or comes twice": b'{"model":"a",' + encode(HI)[1:],
    "lone surrogate": encode({"role": "user", "content": "a\ud83d"}),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_a_strict_vendor_refuses_and_names_the_fault(fault: str) -> None:
    with ScriptedModel(["kept"], allow_violations=True) as model:
        status, body = post(model, FAULTY[fault])
        assert b"kept" in post(model, encode(HI))[1]
    assert status == 400
    error = json.loads(body)["error"]
    assert fault in error["message"]
    assert error["type"] == "invalid_request_error"
    [violation] = model.violations
    assert violation.request == 1
    assert fault in violation.fault


@pytest.mark.parametrize(
    "body",
    [
        encode(SYSTEM, HI),
        encode(HI, SAID, AGAIN),
        encode(HI, calling(ONE, TWO), result("c2"), result("c1", "")),
        encode(HI, calling(ONE, content=""), result("c1"), calling(TWO), result("c2")),
        encode(HI, calling(ONE), result("c1"), AGAIN, SAID, AGAIN),
        encode({"role": "user", "content": [{"type": "text", "text": "a"}]}),
        encode({"role": "user", "content": "a\U0001f600"}),
    ],
)
def test_a_legal_request_is_accepted(body: bytes) -> None:
    with ScriptedModel() as model:
        assert post(model, body)[0] == 200


def test_the_place_of_a_fault_is_named() -> None:
    bad = encode(HI, calling(ONE, call("c2", "x")), result("c1"), result("c2"))
    with ScriptedModel(allow_violations=True) as model:
        error = json.loads(post(model, bad)[1])["error"]
    assert error["param"] == "messages[1].tool_calls[1]"


def test_a_violation_fails_the_test_that_caused_it() -> None:
    with pytest.raises(AssertionError, match="request 1 was refused: messages"):  # noqa: SIM117
        with ScriptedModel() as model:
            post(model, encode())


def test_a_violation_is_noted_on_the_error_that_ends_the_block() -> None:
    with pytest.raises(RuntimeError) as caught:  # noqa: SIM117
        with ScriptedModel() as model:
            post(model, encode())
            raise RuntimeError("the real reason")
    assert "request 1 was refused" in caught.value.__notes__[0]


def test_without_strict_anything_is_answered() -> None:
    with ScriptedModel(strict=False) as model:
        assert post(model, encode(HI, HI))[0] == 200
        assert post(model, b"\xff")[0] == 200
    assert model.violations == []


BROKEN_PREFIX: dict[str, bytes] = {
    "rewritten history": encode(SYSTEM, HI, {**SAID, "content": "Hello"}, AGAIN, SAID, HI),
    "changed system prompt": encode({**SYSTEM, "content": "Now"}, HI, SAID, AGAIN, SAID, HI),
    "changed tools": encode(
        SYSTEM, HI, SAID, AGAIN, SAID, HI, tools=[TOOL, {**TOOL, "function": {"name": "b"}}]
    ),
    "other white space": json.dumps(json.loads(encode(SYSTEM, HI, SAID, AGAIN, SAID, HI))).encode(),
    "shrunk history": encode(SYSTEM, HI, calling(ONE), result("c1")),
}


@pytest.mark.parametrize("fault", BROKEN_PREFIX)
def test_a_changed_prefix_is_caught(fault: str) -> None:
    with ScriptedModel(check_prefix=False) as model:
        old, new = encode(SYSTEM, HI, SAID, AGAIN), BROKEN_PREFIX[fault]
        post(model, old)
        post(model, new)
    [found] = model.prefix_breaks
    assert (found.request, found.previous) == (2, 1)
    assert old[: found.offset] == new[: found.offset]
    assert old[found.offset] != new[found.offset]
    assert found.was in old
    assert found.now in new
    with pytest.raises(AssertionError, match="request 2 does not extend request 1"):
        model.assert_prefix_stable()


def test_tools_that_come_after_the_messages_are_part_of_the_prefix() -> None:
    other = {**TOOL, "function": {"name": "other"}}
    head = {"model": "m", "messages": [HI, SAID, AGAIN]}
    with ScriptedModel(check_prefix=False) as model:
        for tools in ([TOOL], [TOOL], [other]):
            post(model, json.dumps({**head, "tools": tools}).encode())
    assert [(b.request, b.previous) for b in model.prefix_breaks] == [(3, 2)]


def test_a_changed_prefix_fails_the_test_that_caused_it() -> None:
    with pytest.raises(AssertionError, match="does not extend"):  # noqa: SIM117
        with ScriptedModel() as model:
            post(model, encode(HI, SAID, AGAIN))
            post(model, encode(HI, {**SAID, "content": "other"}, AGAIN))


def test_growing_repeating_another_tail_and_another_model_are_no_break() -> None:
    with ScriptedModel() as model:
        post(model, encode(HI))
        post(model, encode(HI))
        post(model, encode(HI, SAID, AGAIN, tool_choice="none"))
        post(model, encode(HI, SAID, AGAIN, SAID, HI))
        post(model, encode(HI, {**SAID, "content": "other"}, AGAIN, model="m2"))
    assert model.prefix_breaks == []


def test_what_is_not_http_is_refused() -> None:
    with ScriptedModel() as model:
        address = urlsplit(model.base_url)
        with socket.create_connection((address.hostname, address.port)) as client:
            client.sendall(b"nonsense\r\n\r\n")
            assert client.makefile("rb").readline() == b"HTTP/1.1 400 Bad Request\r\n"
