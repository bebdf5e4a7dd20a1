"""Tools for models that have no calls of their own: every reply is one JSON object.

The server is made to constrain the reply to a union, `{"answer": text}` or one
`{"tool": name, "arguments": {...}}` for each tool, by `response_format` of chat completions. Tools
are told of in the system text, and a few turns in front of the conversation show how it goes: with
six of them SmolLM2-135M picks tool or answer rightly 9 times in 10, with four 5 times. Results go
back as user messages. A conversation without tools is plain chat.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, assert_never

import msgspec

from hermes.core.calls import ToolCall
from hermes.core.content import Part, Text, Thinking, visible
from hermes.core.entries import AssistantEntry, Entry, ToolBatchEntry, UserEntry
from hermes.core.ids import IdSource
from hermes.core.text import clean
from hermes.core.transcript import Epoch, ToolSchema
from hermes.models.assembly import CallAssembler
from hermes.models.reading import ChatReader
from hermes.models.wire import Carry, ReplyReader, chat_headers, chat_url
from hermes.ports.model import CallBegun, Delta, ModelChunk, Reply, Route

_HOW: Final = (
    "Reply with one JSON object and nothing else.\n"
    'To answer: {"answer": "your text"}\n'
    'To use a tool: {"tool": "name", "arguments": {...}}\n'
    "Tools:\n"
)
_ANSWER: Final = re.compile(r'\s*\{\s*"answer"\s*:\s*"')
_TOOL: Final = re.compile(r'\s*\{\s*"tool"\s*:\s*("(?:[^"\\]|\\.)*")')
_ARGUMENTS: Final = re.compile(r'\s*,\s*"arguments"\s*:\s*')
_WHOLE_CHARACTERS: Final = re.compile(
    r'(?:[^"\\]|\\["\\/bfnrt]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4}'
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*"
)
"""A JSON string up to its end, or to an escape of which the rest has not come yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Carry(Carry):
    """Whether replies are objects, and the tools of the calls that wait for results."""

    objects: bool
    waiting: tuple[str, ...] = ()


class SchemaUnion:
    """The dialect; it holds nothing."""

    @property
    def name(self) -> str:
        return "schema_union"

    def url(self, route: Route) -> str:
        return chat_url(route)

    def headers(self, route: Route) -> dict[str, str]:
        return chat_headers(route)

    def head(self, epoch: Epoch, route: Route) -> tuple[bytes, Carry]:
        body: dict[str, Any] = {
            "model": clean(route.model),
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0,
        }
        if route.max_output is not None:
            body["max_tokens"] = route.max_output
        told = [_HOW + "\n".join(_told(tool) for tool in epoch.tools)] if epoch.tools else []
        system = "\n\n".join(text for text in (clean(epoch.prompt.text).strip(), *told) if text)
        body["messages"] = [{"role": "system", "content": system}] if system else []
        if epoch.tools:
            body["messages"] += _shown(epoch.tools)
        carry = _Carry(started=bool(body["messages"]), objects=bool(epoch.tools))
        return msgspec.json.encode(body)[: -len("]}")], carry

    def step(self, entry: Entry, carry: Carry) -> tuple[bytes, Carry]:
        objects = isinstance(carry, _Carry) and carry.objects
        waiting: tuple[str, ...] = ()
        match entry:
            case UserEntry():
                role, content = "user", visible(entry.content) or "(empty message)"
            case AssistantEntry():
                role, content = "assistant", _said(entry, objects=objects)
                waiting = tuple(call.tool for call in entry.calls)
            case ToolBatchEntry():
                names = carry.waiting if isinstance(carry, _Carry) else ()
                role, content = "user", _results(entry, names)
            case _:
                assert_never(entry)
        message = msgspec.json.encode({"role": role, "content": clean(content)})
        after = _Carry(started=True, objects=objects, waiting=waiting)
        return (b"," if carry.started else b"") + message, after

    def tail(self, epoch: Epoch, *, may_call: bool) -> bytes:
        if not epoch.tools:
            return b"]}"
        schema = {"anyOf": [_answer(), *map(_call, epoch.tools)]} if may_call else _answer()
        wanted = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
        return b'],"response_format":' + msgspec.json.encode(wanted) + b"}"

    def reader(
        self, epoch: Epoch, route: Route, ids: IdSource, taken: Collection[str]
    ) -> ReplyReader:
        plain = ChatReader(replace(epoch, tools=()), route, ids, taken)
        return _ObjectReader(plain, epoch, ids, taken) if epoch.tools else plain


class _ObjectReader:
    """Reads a reply that is one object, and shows an answer while it is being made."""

    def __init__(
        self, plain: ChatReader, epoch: Epoch, ids: IdSource, taken: Collection[str]
    ) -> None:
        self._plain = plain
        self._calls = CallAssembler({t.name: _needs_nothing(t) for t in epoch.tools}, ids, taken)
        self._text = ""
        self._at: int | None = None
        """Where in the text the answer's string goes on, once it is known to be an answer."""
        self._answer = ""
        self._tool = ""

    @property
    def complete(self) -> bool:
        return self._plain.complete

    @property
    def ended(self) -> bool:
        return self._plain.ended

    def feed(self, data: bytes) -> Iterator[Delta | CallBegun]:
        """Take one payload."""
        for chunk in self._plain.feed(data):
            yield from self._take(chunk)

    def finish(self) -> Iterator[ModelChunk]:
        """What was held back, then the reply."""
        for chunk in self._plain.finish():
            if isinstance(chunk, Reply):
                yield from self._finish(chunk)
            else:
                yield from self._take(chunk)

    def _take(self, chunk: Delta | CallBegun) -> Iterator[Delta | CallBegun]:
        if not isinstance(chunk, Delta) or chunk.channel != "answer":
            yield chunk
            return
        self._text += chunk.text
        if self._at is None and not self._tool:
            if opened := _ANSWER.match(self._text):
                self._at = opened.end()
            elif called := _TOOL.match(self._text):
                self._tool = json.loads(called.group(1), strict=False)
                yield CallBegun(tool=clean(self._tool))
        if self._at is not None and (whole := _WHOLE_CHARACTERS.match(self._text, self._at)):
            self._at = whole.end()
            yield from self._show(json.loads(f'"{whole.group()}"', strict=False))

    def _show(self, text: str) -> Iterator[Delta]:
        if text:
            self._answer += text
            yield Delta(text=text, channel="answer")

    def _finish(self, reply: Reply) -> Iterator[ModelChunk]:
        calls: tuple[ToolCall, ...] = ()
        if self._tool and (called := _TOOL.match(self._text)):
            self._calls.feed(index=0, name=self._tool, arguments=self._arguments(called.end()))
            calls = self._calls.finish("cut" if reply.stop == "length" else "complete")
        elif self._at is None:
            # The server does not constrain replies: what came is the answer.
            yield from self._show(self._text)
        content: list[Part] = [p for p in reply.content if isinstance(p, Thinking)]
        if self._answer.strip():
            content.append(Text(text=clean(self._answer)))
        stop = "calls" if calls and reply.stop == "end" else reply.stop
        yield replace(reply, content=tuple(content), calls=calls, stop=stop)

    def _arguments(self, start: int) -> str:
        """The arguments' text in a call: all of it, or what came before the reply was cut."""
        try:
            value = json.loads(self._text)
        except (ValueError, RecursionError):
            opened = _ARGUMENTS.match(self._text, start)
            return self._text[opened.end() :] if opened else ""
        arguments = value.get("arguments", {})
        return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _answer() -> dict[str, Any]:
    return _object({"answer": {"type": "string", "minLength": 1}})


def _call(tool: ToolSchema) -> dict[str, Any]:
    arguments = msgspec.Raw(clean(tool.parameters).encode())
    return _object({"tool": {"const": tool.name}, "arguments": arguments})


def _needs_nothing(tool: ToolSchema) -> bool:
    return not msgspec.json.decode(tool.parameters).get("required")


def _told(tool: ToolSchema) -> str:
    """One tool in a line: `read_file(path, offset?): what it does`; the schema holds the types."""
    schema = msgspec.json.decode(tool.parameters)
    required = schema.get("required", ())
    names = (n if n in required else f"{n}?" for n in schema.get("properties", {}))
    return f"{tool.name}({', '.join(names)}): {clean(tool.description)}"


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _said(entry: AssistantEntry, *, objects: bool) -> str:
    if entry.calls:
        call = entry.calls[0]
        if call.fault is None:
            arguments: Any = json.loads(call.arguments)
        else:
            arguments = {"unparsed": call.arguments[:2_000]}
        return _json({"tool": call.tool, "arguments": arguments})
    text = visible(entry.content).strip() or "(no answer)"
    return _json({"answer": text}) if objects else text


def _results(entry: ToolBatchEntry, names: tuple[str, ...]) -> str:
    parts = [
        f"Result of {name}:\n{result.content}"
        for name, result in zip(names, entry.results, strict=True)
    ]
    if entry.notice.strip():
        parts.append(entry.notice)
    if entry.steer.strip():
        parts.append(f"[user, while you worked]\n{entry.steer}\n[end]")
    return "\n\n".join(parts)


_GREETING: Final = ("Hello", {"answer": "Hello! How can I help you?"})
_FACT: Final = ("What is the capital of Italy?", {"answer": "The capital of Italy is Rome."})
_THANKS: Final = ("Thank you", {"answer": "You are welcome!"})


def _shown(tools: tuple[ToolSchema, ...]) -> list[dict[str, str]]:
    """Turns that show the form; `read_file` stands for all tools, if the model has it."""
    turns: list[tuple[str, dict[str, Any]]] = [_GREETING, _FACT, _THANKS]
    if any(tool.name == "read_file" for tool in tools):
        setup = _reading("What does setup.cfg say?", "setup.cfg", "name = demo", "It names demo.")
        source = _reading("Show me src/main.py", "src/main.py", "print('hi')", "It prints hi.")
        turns = [_GREETING, *setup, _FACT, *source, _THANKS]
    return [
        {"role": role, "content": content}
        for question, reply in turns
        for role, content in (("user", question), ("assistant", _json(reply)))
    ]


def _reading(question: str, path: str, line: str, answer: str) -> list[tuple[str, dict[str, Any]]]:
    result = f"Result of read_file:\n{_json({'content': f'1|{line}'})}"
    return [
        (question, {"tool": "read_file", "arguments": {"path": path}}),
        (result, {"answer": answer}),
    ]
