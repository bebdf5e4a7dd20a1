"""Replies as bytes of HTTP/1.1: server-sent events in chunks, or one JSON object."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from hermes.sdk.testing.replies import Answer, Call, Event, Message, Reply, compact

STREAM_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)
_STREAM_END: Final = b"0\r\n\r\n"
_DONE: Final = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a message's encoding takes from its request.

    `calls_before` is how many calls this server has made, `cached` the bytes shared with the
    request before. Usage goes into a stream only if `wants_usage`, as `stream_options` says.
    """

    number: int
    model: str
    streamed: bool
    wants_usage: bool
    size: int
    cached: int
    calls_before: int


def pieces(reply: Reply, setting: Setting) -> list[bytes]:
    """The parts of `reply` as they go out, one event each; the last one closes a complete reply."""
    body = reply.body
    if isinstance(body, Answer):
        return [response(body)]
    if isinstance(body, Message):
        if not setting.streamed:
            whole = compact(_completion(body, setting))
            return [response(Answer(status=200, body=whole, headers=_JSON))]
        events: list[Event] = [*_deltas(body, setting), _DONE]
    else:
        events = [*body.events, *([_DONE] if body.done else [])]
    parts = [in_chunk(event) for event in events]
    if reply.ending == "complete":
        parts = [*parts[:-1], (parts[-1] if parts else b"") + _STREAM_END]
    if parts:
        parts[0] = STREAM_HEAD + parts[0]
    return parts


def in_chunk(event: Event) -> bytes:
    """One event as one HTTP chunk; an empty one is left out, since it would end the stream."""
    data = event if isinstance(event, bytes) else b"data: " + compact(event) + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def response(answer: Answer) -> bytes:
    """A whole HTTP answer with its length."""
    try:
        reason = HTTPStatus(answer.status).phrase
    except ValueError:
        reason = "Unknown"
    lines = [f"HTTP/1.1 {answer.status} {reason}", f"content-length: {len(answer.body)}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + answer.body


_JSON: Final = {"content-type": "application/json"}


def error(status: int, message: str, param: str | None, code: str) -> Answer:
    """An error in the shape of OpenAI's."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    fault = {"message": message, "type": kind, "param": param, "code": code}
    return Answer(status=status, body=compact({"error": fault}), headers=_JSON)


def listing(model: str, context_length: int) -> Answer:
    """The answer to `GET /v1/models`."""
    entry = {
        "id": model,
        "object": "model",
        "created": 0,
        "owned_by": "scripted",
        "context_length": context_length,
    }
    return Answer(status=200, body=compact({"object": "list", "data": [entry]}), headers=_JSON)


def _usage(message: Message, setting: Setting) -> Mapping[str, Any]:
    if message.usage is not None:
        return message.usage
    said = len(message.text) + len(message.thinking) + sum(len(c.arguments) for c in message.calls)
    made = max(1, said // 4)
    return {
        "prompt_tokens": setting.size // 4,
        "completion_tokens": made,
        "total_tokens": setting.size // 4 + made,
        "prompt_tokens_details": {"cached_tokens": setting.cached // 4},
    }


def _call(call: Call, position: int, setting: Setting) -> dict[str, Any]:
    return {
        "id": f"call_{setting.calls_before + position + 1}",
        "type": "function",
        "function": {"name": call.tool, "arguments": call.arguments},
    }


def _completion(message: Message, setting: Setting) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if message.thinking:
        said["reasoning_content"] = message.thinking
    if message.calls:
        said["tool_calls"] = [_call(c, i, setting) for i, c in enumerate(message.calls)]
    whole: dict[str, Any] = {
        "id": f"chatcmpl-{setting.number}",
        "object": "chat.completion",
        "created": 0,
        "model": setting.model,
        "choices": [{"index": 0, "message": said, "finish_reason": message.finish}],
    }
    usage = _usage(message, setting)
    return {**whole, "usage": usage} if usage else whole


def _deltas(message: Message, setting: Setting) -> Iterator[dict[str, Any]]:
    base = {
        "id": f"chatcmpl-{setting.number}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": setting.model,
    }

    def event(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield event({"role": "assistant", "content": ""})
    for piece in _split(message.thinking, message.chunks):
        yield event({"reasoning_content": piece})
    for piece in _split(message.text, message.chunks):
        yield event({"content": piece})
    for index, call in enumerate(message.calls):
        made = _call(call, index, setting)
        function = {"name": call.tool, "arguments": ""}
        if message.chunks == 1:
            yield event({"tool_calls": [{"index": index, **made}]})
            continue
        yield event({"tool_calls": [{"index": index, **made, "function": function}]})
        for piece in _split(call.arguments, message.chunks):
            yield event({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    if message.finish is not None:
        yield event({}, message.finish)
    usage = _usage(message, setting)
    if usage and (setting.wants_usage or message.usage is not None):
        yield {**base, "choices": [], "usage": usage}


def _split(content: str, parts: int) -> Iterator[str]:
    size = max(1, -(-len(content) // parts))
    return (content[i : i + size] for i in range(0, len(content), size))
