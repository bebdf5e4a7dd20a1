"""Entries, inputs, results and tool lists as canonical JSON bytes, and back.

Canonical: UTF-8 without escapes, no spaces, keys in the order of the classes, so equal values give
equal bytes. No lone surrogate passes in either direction: what is written was cleaned first, and
bytes that another program wrote are cleaned when they are read.

Stored bytes outlive the classes they came from. A field that is added to a class named here needs
a default, and one that goes needs a schema step; tests pin the bytes.
"""

import json
from typing import Any, Final, Generic, Literal, TypeVar, final

import msgspec

from hermes.core.calls import ToolCall, ToolResult
from hermes.core.content import Part, Text, Thinking
from hermes.core.entries import AssistantEntry, Entry, Stop, ToolBatchEntry, UserEntry
from hermes.core.errors import Bug
from hermes.core.ids import TurnId
from hermes.core.inputs import Busy, Redirect, Steer, Submit
from hermes.core.people import Origin
from hermes.core.text import clean
from hermes.core.transcript import ToolSchema
from hermes.core.usage import Usage

EntryKind = Literal["user", "assistant", "batch"]
Queued = Submit | Steer | Redirect
T = TypeVar("T")
E = TypeVar("E", UserEntry, AssistantEntry, ToolBatchEntry)

_encode: Final = msgspec.json.Encoder().encode


class BadBytes(ValueError):
    """Bytes that are not what this module writes."""


class _User(msgspec.Struct):
    content: tuple[str | Thinking, ...]
    origin: Origin


class _Assistant(msgspec.Struct):
    content: tuple[str | Thinking, ...]
    calls: tuple[ToolCall, ...]
    model: str
    usage: Usage
    stop: Stop


class _Batch(msgspec.Struct):
    results: tuple[ToolResult, ...]
    steer: str
    notice: str


class _Input(msgspec.Struct):
    kind: Literal["submit", "steer", "redirect"]
    text: str
    origin: Origin
    busy: Busy


@final
class _Reader(Generic[T]):
    """Reads one kind of bytes; the types of all that is in them are checked."""

    def __init__(self, kind: type[T]) -> None:
        self._decode = msgspec.json.Decoder(kind).decode

    def __call__(self, data: bytes) -> T:
        try:
            return self._decode(data)
        except msgspec.DecodeError:
            pass
        try:
            # The decoder refuses lone surrogates, escaped or as bytes. Other programs write them,
            # and one such row must not make a whole session unreadable.
            return self._decode(
                _encode(_cleaned(json.loads(data.decode("utf-8", "surrogatepass"))))
            )
        except ValueError as e:
            raise BadBytes(str(e)) from e


_read_user: Final = _Reader(_User)
_read_assistant: Final = _Reader(_Assistant)
_read_batch: Final = _Reader(_Batch)
_read_input: Final = _Reader(_Input)
_read_result: Final = _Reader(ToolResult)
_read_tools: Final = _Reader(tuple[ToolSchema, ...])


def _cleaned(value: Any) -> Any:
    """`value`, as JSON knows it, with every string in it cleaned."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): _cleaned(item) for key, item in value.items()}
    return value


def _write(value: object) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(_cleaned(msgspec.to_builtins(value)))


def _parts_out(parts: tuple[Part, ...]) -> tuple[str | Thinking, ...]:
    return tuple([p.text if isinstance(p, Text) else p for p in parts])


def _parts_in(parts: tuple[str | Thinking, ...]) -> tuple[Part, ...]:
    return tuple([Text(text=p) if isinstance(p, str) else p for p in parts])


def entry_kind(entry: Entry) -> EntryKind:
    """The word under which an entry of this class is stored."""
    match entry:
        case UserEntry():
            return "user"
        case AssistantEntry():
            return "assistant"
        case ToolBatchEntry():
            return "batch"


def _body(entry: Entry) -> _User | _Assistant | _Batch:
    match entry:
        case UserEntry():
            return _User(_parts_out(entry.content), entry.origin)
        case AssistantEntry():
            content = _parts_out(entry.content)
            return _Assistant(content, entry.calls, entry.model, entry.usage, entry.stop)
        case ToolBatchEntry():
            return _Batch(entry.results, entry.steer, entry.notice)


def pack_entry(entry: E) -> tuple[E, bytes]:
    """`entry` as it is stored, and its body's bytes; its kind, turn and time are kept beside them.

    The entry that comes back is the one given unless it held a lone surrogate. It is the one to go
    on with: it equals what `unpack_entry` will give.
    """
    body = _body(entry)
    try:
        return entry, _encode(body)
    except UnicodeEncodeError:
        data = _write(body)
    same = unpack_entry(entry_kind(entry), entry.turn, entry.at, data)
    if not isinstance(same, type(entry)):
        raise Bug(f"{type(entry).__name__} came back as {type(same).__name__}")
    return same, data


def unpack_entry(kind: str, turn: TurnId, at: float, body: bytes) -> Entry:
    """The entry whose stored form this is; raises BadBytes."""
    match kind:
        case "user":
            user = _read_user(body)
            content = _parts_in(user.content)
            return UserEntry(turn=turn, at=at, content=content, origin=user.origin)
        case "assistant":
            reply = _read_assistant(body)
            return AssistantEntry(
                turn=turn,
                at=at,
                content=_parts_in(reply.content),
                calls=reply.calls,
                model=reply.model,
                usage=reply.usage,
                stop=reply.stop,
            )
        case "batch":
            batch = _read_batch(body)
            return ToolBatchEntry(
                turn=turn, at=at, results=batch.results, steer=batch.steer, notice=batch.notice
            )
        case _:
            raise BadBytes(f"no entry is called {kind!r}")


def pack_input(item: Queued) -> bytes:
    """An input that waits in an inbox."""
    match item:
        case Submit():
            return _write(_Input("submit", item.text, item.origin, item.busy))
        case Steer():
            return _write(_Input("steer", item.text, item.origin, "steer"))
        case Redirect():
            return _write(_Input("redirect", item.text, item.origin, "redirect"))


def unpack_input(body: bytes) -> Queued:
    """The input whose stored form this is; raises BadBytes."""
    raw = _read_input(body)
    match raw.kind:
        case "submit":
            return Submit(text=raw.text, origin=raw.origin, busy=raw.busy)
        case "steer":
            return Steer(text=raw.text, origin=raw.origin)
        case "redirect":
            return Redirect(text=raw.text, origin=raw.origin)


def pack_result(result: ToolResult) -> bytes:
    """The result of a call whose batch is not sealed yet."""
    return _write(result)


def unpack_result(body: bytes) -> ToolResult:
    """The result whose stored form this is; raises BadBytes."""
    return _read_result(body)


def pack_tools(tools: tuple[ToolSchema, ...]) -> bytes:
    """The tool list of an epoch."""
    return _write(tools)


def unpack_tools(body: bytes) -> tuple[ToolSchema, ...]:
    """The tool list whose stored form this is; raises BadBytes."""
    return _read_tools(body)
