"""What the strictest vendors demand of a chat-completions request, as one check.

Each rule is one that some real endpoint answers with HTTP 400. No endpoint has all of them, so a
history that passes here is accepted everywhere.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NoReturn

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_ESCAPED_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class Refusal(Exception):
    """A request that a strict vendor refuses: `where` in the body, and the fault in words."""

    def __init__(self, where: str, fault: str) -> None:
        super().__init__(f"{where}: {fault}" if where else fault)
        self.where = where
        self.fault = fault

    def under(self, place: str) -> "Refusal":
        """The same, seen from outside of `place`."""
        return Refusal(place + self.where, self.fault)


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A parsed request body; `spans` are the byte offsets [start, end) of top-level values."""

    values: Mapping[str, Any]
    spans: Mapping[str, tuple[int, int]]


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_not_json)


def parse(body: bytes) -> Body:
    """The top level of `body` with the place of each value; raises Refusal if it is not JSON."""
    try:
        source = body.decode()
    except UnicodeDecodeError as error:
        raise Refusal("", f"the body is not UTF-8 at byte {error.start}") from None
    try:
        values, spans = _members(source)
    except (ValueError, IndexError, RecursionError) as error:
        raise Refusal("", f"the body is not a JSON object: {error}") from None
    if not source.isascii():
        spans = {key: (_bytes(source, a), _bytes(source, b)) for key, (a, b) in spans.items()}
    if _ESCAPED_SURROGATE.search(body):
        try:
            json.dumps(values, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Refusal("", "the body has a lone surrogate, which is no text") from None
    return Body(values=values, spans=spans)


def _bytes(source: str, characters: int) -> int:
    return len(source[:characters].encode())


def _members(source: str) -> tuple[dict[str, Any], dict[str, tuple[int, int]]]:
    values: dict[str, Any] = {}
    spans: dict[str, tuple[int, int]] = {}
    at = _expect(source, 0, "{")
    while source[at] != "}":
        if values:
            at = _expect(source, at, ",")
        key, at = _DECODER.raw_decode(source, at)
        if not isinstance(key, str) or key in values:
            raise ValueError(f"key {key!r} is no string or comes twice")
        start = _expect(source, at, ":")
        values[key], end = _DECODER.raw_decode(source, start)
        spans[key] = (start, end)
        at = _skip(source, end)
    if _skip(source, at + 1) != len(source):
        raise ValueError("there is more after the object")
    return values, spans


def _skip(source: str, at: int) -> int:
    match = _SPACE.match(source, at)
    return match.end() if match else at


def _expect(source: str, at: int, sign: str) -> int:
    """The place of what follows `sign`; raises ValueError if something else stands there."""
    at = _skip(source, at)
    if source[at] != sign:
        raise ValueError(f"{sign!r} expected at character {at}")
    return _skip(source, at + 1)


def check(request: Mapping[str, Any]) -> None:
    """Raise Refusal for the first fault of a chat-completions request."""
    model = request.get("model")
    if not isinstance(model, str) or not model:
        raise Refusal("model", "a non-empty string is required")
    if "stream" in request and not isinstance(request["stream"], bool):
        raise Refusal("stream", "true or false is required")
    if "tools" in request:
        _check_tools(request["tools"])
    elif "tool_choice" in request:
        raise Refusal("tool_choice", "allowed only when tools are given")
    _check_messages(request.get("messages"))


def _check_tools(tools: object) -> None:
    if not isinstance(tools, list) or not tools:
        raise Refusal("tools", "a non-empty array is required; leave the key out for no tools")
    names: set[str] = set()
    for index, tool in enumerate(tools):
        where = f"tools[{index}]"
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or tool.get("type") != "function":
            raise Refusal(where, 'an object of type "function" with a function is required')
        name = function.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise Refusal(where, f"bad function name {name!r}")
        if name in names:
            raise Refusal(where, f"function name {name!r} comes twice")
        names.add(name)
        if not isinstance(function.get("description", ""), str):
            raise Refusal(where, "description must be a string")
        schema = function.get("parameters", {"type": "object"})
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise Refusal(where, 'parameters must be a JSON Schema of type "object"')
        if not isinstance(schema.get("properties", {}), dict):
            raise Refusal(where, "parameters.properties must be an object")


def _check_messages(messages: object) -> None:
    if not isinstance(messages, list) or not messages:
        raise Refusal("messages", "a non-empty array is required")
    order = _Order()
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            raise Refusal(f"messages[{index}]", "an object is required")
        try:
            order.take(message, first=index == 0)
        except Refusal as refusal:
            raise refusal.under(f"messages[{index}]") from None
    order.end()


@lru_cache(maxsize=1024)
def _is_object(arguments: str) -> bool:
    try:
        return isinstance(_DECODER.decode(arguments), dict)
    except (ValueError, RecursionError):
        return False


class _Order:
    """The state between two messages: who spoke last, and which calls await their answer."""

    def __init__(self) -> None:
        self._last = "system"
        self._waiting: set[str] = set()
        self._answered: set[str] = set()
        self._seen: set[str] = set()

    def take(self, message: Mapping[str, Any], *, first: bool) -> None:
        role = message.get("role")
        if self._waiting and role != "tool":
            missing = ", ".join(sorted(self._waiting))
            raise Refusal("", f"tool calls without an answer before this message: {missing}")
        match role:
            case "system":
                if not first:
                    raise Refusal("", "a system message is allowed only at the start")
                _require_words(message)
                return
            case "user":
                if self._last == "user":
                    raise Refusal("", "two user messages in a row")
                _require_words(message)
            case "assistant":
                if self._last in ("assistant", "system"):
                    raise Refusal("", f"an assistant message cannot follow {self._last}")
                self._take_assistant(message)
            case "tool":
                self._take_result(message)
            case _:
                raise Refusal("", f"unknown role {role!r}")
        self._last = str(role)

    def end(self) -> None:
        if self._waiting:
            missing = ", ".join(sorted(self._waiting))
            raise Refusal("messages", f"tool calls without an answer at the end: {missing}")
        if self._last not in ("user", "tool"):
            raise Refusal("messages", f"the last message is of role {self._last}, not user or tool")

    def _take_assistant(self, message: Mapping[str, Any]) -> None:
        self._answered = set()
        if "tool_calls" not in message:
            _require_words(message)
            return
        if message.get("content") is not None:
            _read(message["content"])
        calls = message["tool_calls"]
        if not isinstance(calls, list) or not calls:
            raise Refusal("", "tool_calls must be a non-empty array or be left out")
        for index, call in enumerate(calls):
            try:
                self._take_call(call)
            except Refusal as refusal:
                raise refusal.under(f".tool_calls[{index}]") from None

    def _take_call(self, call: object) -> None:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict):
            raise Refusal("", "an object with a function is required")
        if call.get("type") != "function":
            raise Refusal("", 'type must be "function"')
        identity, name = call.get("id"), function.get("name")
        if not isinstance(identity, str) or not identity:
            raise Refusal("", "a non-empty id is required")
        if identity in self._seen:
            raise Refusal("", f"call id {identity!r} comes twice")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise Refusal("", f"bad function name {name!r}")
        arguments = function.get("arguments")
        if not isinstance(arguments, str) or not _is_object(arguments):
            raise Refusal("", "arguments must be a string with the JSON of an object")
        self._seen.add(identity)
        self._waiting.add(identity)

    def _take_result(self, message: Mapping[str, Any]) -> None:
        identity = message.get("tool_call_id")
        if not isinstance(identity, str) or not identity:
            raise Refusal("", "a non-empty tool_call_id is required")
        if identity in self._answered:
            raise Refusal("", f"a second answer to call {identity!r}")
        if identity not in self._waiting:
            raise Refusal("", f"no call {identity!r} directly before this tool message")
        _read(message.get("content"))
        self._waiting.discard(identity)
        self._answered.add(identity)


def _require_words(message: Mapping[str, Any]) -> None:
    if not _read(message.get("content")).strip():
        raise Refusal("", f"empty content in a message of role {message['role']}")


def _read(content: object) -> str:
    """The text of `content`; other parts count as `(type)`."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        raise Refusal("", "content must be a string or a non-empty array of parts")
    words = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str):
            raise Refusal("", "each part of content must be an object with a type")
        word = part.get("text") if kind == "text" else f"({kind})"
        if not isinstance(word, str):
            raise Refusal("", "a part of type text must have a text")
        words.append(word)
    return "".join(words)
