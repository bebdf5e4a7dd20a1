"""OpenAI chat completions, as nearly every server speaks it.

Requests: https://platform.openai.com/docs/api-reference/chat/create. What replies do differently
from that page is in `ReplyParts`, `hermes.models.assembly` and `hermes.models.thinking`.
"""

import re
from collections.abc import Collection
from typing import Any, Final, assert_never

import msgspec

from hermes.core.calls import ToolCall
from hermes.core.content import visible
from hermes.core.entries import AssistantEntry, Entry, ToolBatchEntry, UserEntry
from hermes.core.ids import IdSource
from hermes.core.text import clean
from hermes.core.transcript import Epoch, ToolSchema
from hermes.models.reading import ChatReader
from hermes.models.wire import Carry, chat_headers, chat_url
from hermes.ports.model import Route

UNPARSED: Final = 2_000
"""Characters that are sent back of arguments that were no JSON object."""

STEER_OPENS: Final = "[user, while you worked]"
STEER_CLOSES: Final = "[end]"
NO_ANSWER: Final = "(no answer)"
STOPPED: Final = "(stopped before an answer)"
EMPTY: Final = "(empty message)"

_STARTED: Final = Carry(started=True)

_encode: Final = msgspec.json.Encoder().encode

_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")
"""What a function's name may not hold; a stricter server refuses the whole request for it."""


class ChatCompletions:
    """The dialect; it holds nothing."""

    @property
    def name(self) -> str:
        return "chat_completions"

    def url(self, route: Route) -> str:
        return chat_url(route)

    def headers(self, route: Route) -> dict[str, str]:
        return chat_headers(route)

    def head(self, epoch: Epoch, route: Route) -> tuple[bytes, Carry]:
        body: dict[str, Any] = {
            "model": clean(route.model),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if route.max_output is not None:
            body["max_tokens"] = route.max_output
        if route.temperature is not None:
            body["temperature"] = route.temperature
        if epoch.tools:
            body["tools"] = [_tool(schema) for schema in epoch.tools]
        prompt = clean(epoch.prompt.text)
        body["messages"] = [{"role": "system", "content": prompt}] if prompt.strip() else []
        return _encode(body)[: -len("]}")], Carry(started=bool(body["messages"]))

    def step(self, entry: Entry, carry: Carry) -> tuple[bytes, Carry]:
        messages = [_encode(message) for message in _messages(entry)]
        if carry.started:
            messages.insert(0, b"")
        return b",".join(messages), _STARTED

    def tail(self, epoch: Epoch, *, may_call: bool) -> bytes:
        return b"]}" if may_call or not epoch.tools else b'],"tool_choice":"none"}'

    def reader(
        self, epoch: Epoch, route: Route, ids: IdSource, taken: Collection[str]
    ) -> ChatReader:
        return ChatReader(epoch, route, ids, taken)


def _tool(schema: ToolSchema) -> dict[str, Any]:
    function = {
        "name": schema.name,
        "description": clean(schema.description),
        "parameters": msgspec.Raw(clean(schema.parameters).encode()),
    }
    return {"type": "function", "function": function}


def _messages(entry: Entry) -> list[dict[str, Any]]:
    match entry:
        case UserEntry():
            return [{"role": "user", "content": _words(visible(entry.content), EMPTY)}]
        case AssistantEntry():
            return [_assistant(entry)]
        case ToolBatchEntry():
            return _batch(entry)
    assert_never(entry)


def _words(text: str, instead: str) -> str:
    return clean(text) if text.strip() else instead


def _assistant(entry: AssistantEntry) -> dict[str, Any]:
    text = visible(entry.content)
    if entry.calls:
        calls = [_call(call) for call in entry.calls]
        return {"role": "assistant", "content": clean(text), "tool_calls": calls}
    instead = STOPPED if entry.stop == "cancelled" else NO_ANSWER
    return {"role": "assistant", "content": _words(text, instead)}


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = clean(call.arguments)
    if call.fault is not None:
        arguments = _encode({"unparsed": arguments[:UNPARSED]}).decode()
    name = _NAME.sub("_", call.tool)[:64] or "_"
    return {
        "id": clean(call.id),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def _batch(entry: ToolBatchEntry) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": clean(result.call), "content": clean(result.content)}
        for result in entry.results
    ]
    said = [clean(entry.notice)] if entry.notice.strip() else []
    if entry.steer.strip():
        said.append(f"{STEER_OPENS}\n{clean(entry.steer)}\n{STEER_CLOSES}")
    if said:
        messages.append({"role": "user", "content": "\n\n".join(said)})
    return messages
