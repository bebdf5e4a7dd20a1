"""A bare HTTP client of a model server, and the messages it sends."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from hermes.sdk.testing import (
    ScriptedModel,
)

Json = dict[str, Any]

SYSTEM: Json = {"role": "system", "content": "Be brief."}
HI: Json = {"role": "user", "content": "hi"}
AGAIN: Json = {"role": "user", "content": "again"}
SAID: Json = {"role": "assistant", "content": "hello"}
TOOL: Json = {
    "type": "function",
    "function": {"name": "read_file", "description": "Reads.", "parameters": {"type": "object"}},
}


def call(identity: Any, arguments: Any = '{"path":"a"}', name: str = "read_file") -> Json:
    return {
        "id": identity,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def calling(*made: Json, **more: Any) -> Json:
    return {"role": "assistant", "content": None, "tool_calls": list(made), **more}


def result(identity: str, content: Any = "ok") -> Json:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def encode(*messages: Any, **more: Any) -> bytes:
    body = {"model": "m", "tools": [TOOL], "messages": list(messages), "stream": True}
    body["stream_options"] = {"include_usage": True}
    return json.dumps({**body, **more}, separators=(",", ":")).encode()


@contextmanager
def connected(model: ScriptedModel) -> Iterator[HTTPConnection]:
    connection = HTTPConnection(urlsplit(model.base_url).netloc, timeout=10)
    try:
        yield connection
    finally:
        connection.close()


def begin(connection: HTTPConnection, body: bytes) -> HTTPResponse:
    headers = {"content-type": "application/json", "Authorization": "Bearer k"}
    connection.request("POST", "/v1/chat/completions", body=body, headers=headers)
    return connection.getresponse()


def post(model: ScriptedModel, body: bytes) -> tuple[int, bytes]:
    with connected(model) as connection:
        response = begin(connection, body)
        return response.status, response.read()


def events(stream: bytes) -> list[Json]:
    lines = [part.removeprefix(b"data: ") for part in stream.split(b"\n\n") if part]
    assert lines.pop() == b"[DONE]"
    return [json.loads(line) for line in lines]


def deltas(stream: bytes) -> list[Json]:
    return [e["choices"][0]["delta"] for e in events(stream) if e["choices"]]
