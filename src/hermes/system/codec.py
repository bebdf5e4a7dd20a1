"""Entries, epochs, inputs and results as canonical JSON bytes, and back.

Canonical: UTF-8 without escapes, no spaces, keys in the order written here, so equal values give
equal bytes. No lone surrogate passes in either direction: what is written was cleaned first, and
bytes that another program wrote are cleaned when they are read. The mapping is written by hand
because stored bytes outlive the classes they came from.
"""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, Literal, TypeVar

import msgspec

from hermes.core.calls import ToolCall, ToolResult
from hermes.core.content import Part, Text, Thinking
from hermes.core.entries import AssistantEntry, Entry, ToolBatchEntry, UserEntry
from hermes.core.errors import Bug
from hermes.core.ids import TurnId
from hermes.core.inputs import Redirect, Steer, Submit
from hermes.core.people import Origin, Principal
from hermes.core.text import clean
from hermes.core.transcript import ToolSchema
from hermes.core.usage import Usage

EntryKind = Literal["user", "assistant", "batch"]
Queued = Submit | Steer | Redirect
E = TypeVar("E", UserEntry, AssistantEntry, ToolBatchEntry)

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


class BadBytes(ValueError):
    """Bytes that are not what this module writes."""


def _cleaned(value: Any) -> Any:
    """`value` with every string in it cleaned."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): _cleaned(item) for key, item in value.items()}
    return value


def to_json(value: Any) -> bytes:
    """`value` (dicts, lists, strings, numbers) as canonical JSON, cleaned."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(_cleaned(value))


def from_json(data: bytes | str) -> Any:
    """What `data` says, cleaned; raises BadBytes."""
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError):
        pass
    try:
        # The strict decoder refuses lone surrogates, both escaped and as bytes: other programs
        # write them, and such a row must not make a whole session unreadable.
        text = data if isinstance(data, str) else data.decode("utf-8", "surrogatepass")
        return _cleaned(json.loads(text))
    except ValueError as e:
        raise BadBytes(str(e)) from e


# --- entries ---------------------------------------------------------------------------------


def _parts_out(parts: tuple[Part, ...]) -> list[dict[str, str]]:
    return [
        {"text": p.text}
        if isinstance(p, Text)
        else {"thinking": p.text, "issuer": p.issuer, "replay": p.replay}
        for p in parts
    ]


def _parts_in(raw: list[dict[str, str]]) -> tuple[Part, ...]:
    return tuple(
        [
            Text(text=p["text"])
            if "text" in p
            else Thinking(text=p["thinking"], issuer=p["issuer"], replay=p["replay"])
            for p in raw
        ]
    )


def _origin_out(origin: Origin) -> dict[str, object]:
    return {
        "surface": origin.surface,
        "principal": origin.principal,
        "trust": origin.trust,
        "person": origin.person,
    }


@lru_cache(maxsize=64)
def _origin(surface: str, principal: str, trust: Any, person: bool) -> Origin:
    return Origin(surface=surface, principal=Principal(principal), trust=trust, person=person)


def _origin_in(raw: dict[str, Any]) -> Origin:
    return _origin(raw["surface"], raw["principal"], raw["trust"], raw["person"])


def _result_out(result: ToolResult) -> dict[str, str]:
    return {"call": result.call, "content": result.content, "outcome": result.outcome}


def _result_in(raw: dict[str, Any]) -> ToolResult:
    return ToolResult(call=raw["call"], content=raw["content"], outcome=raw["outcome"])


def _call_out(call: ToolCall) -> dict[str, object]:
    raw: dict[str, object] = {"id": call.id, "tool": call.tool, "arguments": call.arguments}
    return {**raw, "fault": call.fault} if call.fault else raw


def _user_out(entry: UserEntry) -> dict[str, Any]:
    return {"content": _parts_out(entry.content), "origin": _origin_out(entry.origin)}


def _user_in(turn: TurnId, at: float, raw: dict[str, Any]) -> UserEntry:
    content, origin = _parts_in(raw["content"]), _origin_in(raw["origin"])
    return UserEntry(turn=turn, at=at, content=content, origin=origin)


def _assistant_out(entry: AssistantEntry) -> dict[str, Any]:
    used = entry.usage
    return {
        "content": _parts_out(entry.content),
        "calls": [_call_out(call) for call in entry.calls],
        "model": entry.model,
        "usage": [
            used.input,
            used.output,
            used.cached,
            used.cache_write,
            used.thinking,
            used.cost_usd,
        ],
        "stop": entry.stop,
    }


def _assistant_in(turn: TurnId, at: float, raw: dict[str, Any]) -> AssistantEntry:
    given, got, cached, cache_write, thinking, cost = raw["usage"]
    return AssistantEntry(
        turn=turn,
        at=at,
        content=_parts_in(raw["content"]),
        calls=tuple(
            [
                ToolCall(id=c["id"], tool=c["tool"], arguments=c["arguments"], fault=c.get("fault"))
                for c in raw["calls"]
            ]
        ),
        model=raw["model"],
        usage=Usage(
            input=given,
            output=got,
            cached=cached,
            cache_write=cache_write,
            thinking=thinking,
            cost_usd=cost,
        ),
        stop=raw["stop"],
    )


def _batch_out(entry: ToolBatchEntry) -> dict[str, Any]:
    results = [_result_out(result) for result in entry.results]
    return {"results": results, "steer": entry.steer, "notice": entry.notice}


def _batch_in(turn: TurnId, at: float, raw: dict[str, Any]) -> ToolBatchEntry:
    return ToolBatchEntry(
        turn=turn,
        at=at,
        results=tuple([_result_in(result) for result in raw["results"]]),
        steer=raw["steer"],
        notice=raw["notice"],
    )


_READERS: Final[dict[str, Callable[[TurnId, float, dict[str, Any]], Entry]]] = {
    "user": _user_in,
    "assistant": _assistant_in,
    "batch": _batch_in,
}


def entry_kind(entry: Entry) -> EntryKind:
    """The word under which an entry of this class is stored."""
    match entry:
        case UserEntry():
            return "user"
        case AssistantEntry():
            return "assistant"
        case ToolBatchEntry():
            return "batch"


def pack_entry(entry: E) -> tuple[E, bytes]:
    """`entry` as it is stored, and its body's bytes; its kind, turn and time are kept beside them.

    The entry that comes back is the one given unless it held a lone surrogate. It is the one to go
    on with: it equals what `unpack_entry` will give.
    """
    raw = _entry_out(entry)
    try:
        return entry, _encode(raw)
    except UnicodeEncodeError:
        raw = _cleaned(raw)
    same = unpack_entry(entry_kind(entry), entry.turn, entry.at, body := _encode(raw))
    if not isinstance(same, type(entry)):
        raise Bug(f"{type(entry).__name__} came back as {type(same).__name__}")
    return same, body


def _entry_out(entry: Entry) -> dict[str, Any]:
    match entry:
        case UserEntry():
            return _user_out(entry)
        case AssistantEntry():
            return _assistant_out(entry)
        case ToolBatchEntry():
            return _batch_out(entry)


def unpack_entry(kind: str, turn: str, at: float, body: bytes) -> Entry:
    """The entry whose stored form this is; raises BadBytes."""
    try:
        return _READERS[kind](TurnId(turn), at, from_json(body))
    except (KeyError, TypeError, ValueError) as e:
        raise BadBytes(f"a stored {kind} entry cannot be read: {e!r}") from e


# --- inputs, results, tools ------------------------------------------------------------------


def pack_input(item: Queued) -> bytes:
    """An input that waits in an inbox."""
    raw: dict[str, Any] = {"kind": type(item).__name__.lower(), "text": item.text}
    if isinstance(item, Submit):
        raw["busy"] = item.busy
    return to_json({**raw, "origin": _origin_out(item.origin)})


def unpack_input(body: bytes) -> Queued:
    """The input whose stored form this is; raises BadBytes."""
    try:
        raw = from_json(body)
        text, origin = raw["text"], _origin_in(raw["origin"])
        match raw["kind"]:
            case "submit":
                return Submit(text=text, origin=origin, busy=raw["busy"])
            case "steer":
                return Steer(text=text, origin=origin)
            case "redirect":
                return Redirect(text=text, origin=origin)
            case other:
                raise BadBytes(f"no input is called {other!r}")
    except (KeyError, TypeError) as e:
        raise BadBytes(f"a stored input cannot be read: {e!r}") from e


def pack_result(result: ToolResult) -> bytes:
    """The result of a call whose batch is not sealed yet."""
    return to_json(_result_out(result))


def unpack_result(body: bytes) -> ToolResult:
    """The result whose stored form this is; raises BadBytes."""
    try:
        return _result_in(from_json(body))
    except (KeyError, TypeError) as e:
        raise BadBytes(f"a stored result cannot be read: {e!r}") from e


def pack_tools(tools: tuple[ToolSchema, ...]) -> bytes:
    """The tool list of an epoch."""
    return to_json(
        [{"name": s.name, "description": s.description, "parameters": s.parameters} for s in tools]
    )


def unpack_tools(body: bytes) -> tuple[ToolSchema, ...]:
    """The tool list whose stored form this is; raises BadBytes."""
    try:
        return tuple(
            ToolSchema(name=s["name"], description=s["description"], parameters=s["parameters"])
            for s in from_json(body)
        )
    except (KeyError, TypeError) as e:
        raise BadBytes(f"a stored tool list cannot be read: {e!r}") from e
