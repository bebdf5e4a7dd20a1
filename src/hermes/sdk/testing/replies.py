"""What a scripted model may answer: plain functions, each of which describes a reply.

[calls(("read_file", {"path": "a.txt"})), text("It says hello.", chunks=3)]
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Event = bytes | Mapping[str, Any]
"""One server-sent event: an object becomes `data: {json}` and a blank line, bytes go out as they
are, so that comments, half events and invalid UTF-8 can be sent too."""

Ending = Literal["complete", "drop", "stall", "forever"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call; `arguments` is sent as it is, valid JSON or not."""

    tool: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A reply in the model's own terms, streamed or whole as the request asks.

    Call ids are `call_1`, `call_2`, ... counted over all replies of one server. `usage` None is
    filled in by the server, and an empty mapping leaves it out.
    """

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    chunks: int = 1
    finish: str | None = "stop"
    usage: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """A stream of exactly these events, then `[DONE]` if `done`."""

    events: tuple[Event, ...]
    done: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole HTTP answer that is no stream."""

    status: int
    body: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of the scripted model; made by the functions of this module.

    `ending` says what follows the body: a proper end, a closed socket, silence, or the last event
    again and again. `gap_seconds` lies between any two events. `held_after` is the number of
    events after which the reply waits for `ScriptedModel.release`, or None.
    """

    body: Message | Events | Answer
    ending: Ending = "complete"
    gap_seconds: float = 0.0
    held_after: int | None = None

    def hold(self, after: int = 0) -> "Reply":
        """This reply, but it waits for `ScriptedModel.release` after its first `after` events.

        With 0 not even the status line is sent. A streamed message's first event names the role,
        the second is the first piece of thinking, text or call.
        """
        return replace(self, held_after=after)


def text(
    content: str,
    *,
    chunks: int = 1,
    finish: str | None = "stop",
    usage: Mapping[str, Any] | None = None,
) -> Reply:
    """A text, streamed in at most `chunks` pieces; `finish` None leaves the reason out."""
    return Reply(body=Message(text=content, chunks=chunks, finish=finish, usage=usage))


def thinking(thought: str, content: str, *, chunks: int = 1, finish: str | None = "stop") -> Reply:
    """Reasoning in the field `reasoning_content`, then a text."""
    return Reply(body=Message(thinking=thought, text=content, chunks=chunks, finish=finish))


def calls(
    *wanted: tuple[str, Mapping[str, Any] | str],
    text: str = "",
    chunks: int = 1,
    finish: str | None = "tool_calls",
    usage: Mapping[str, Any] | None = None,
) -> Reply:
    """Tool calls, each a name with its arguments; a string is sent as it is, even if broken.

    With `chunks` above 1 text and arguments come in pieces.
    """
    made = tuple(
        Call(tool=tool, arguments=args if isinstance(args, str) else compact(args).decode())
        for tool, args in wanted
    )
    return Reply(body=Message(text=text, calls=made, chunks=chunks, finish=finish, usage=usage))


def chunk(delta: Mapping[str, Any], finish: str | None = None, **extra: Any) -> dict[str, Any]:
    """One `chat.completion.chunk` object for `raw_events`, `drop` and `stall`."""
    return {
        "id": "chatcmpl-raw",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish}],
        **extra,
    }


def raw_events(events: Sequence[Event], *, done: bool = True) -> Reply:
    """Exactly these events; without `done` the stream ends cleanly but lacks its end marker."""
    return Reply(body=Events(events=tuple(events), done=done))


def json_body(content: Mapping[str, Any], *, status: int = 200) -> Reply:
    """A plain JSON answer, whether or not a stream was asked for."""
    return http(status, compact(content), {"content-type": "application/json"})


def http(
    status: int,
    body: bytes | Mapping[str, Any] = b"",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Any HTTP answer; an object as `body` is sent as JSON."""
    given = dict(headers or {})
    if isinstance(body, Mapping):
        body = compact(body)
        given.setdefault("content-type", "application/json")
    return Reply(body=Answer(status=status, body=body, headers=given))


def html(status: int = 200) -> Reply:
    """A web page where an API should be, as a wrong base URL or a login wall gives."""
    page = b"<!DOCTYPE html><html><head><title>Welcome</title></head><body>Hello</body></html>"
    return http(status, page, {"content-type": "text/html; charset=utf-8"})


def stall(*, before_first_byte: bool = True, after_events: Sequence[Event] = ()) -> Reply:
    """Silence until the client goes away: at once, or after `after_events` (default: the role)."""
    events = tuple(after_events)
    if not before_first_byte and not events:
        events = (chunk({"role": "assistant", "content": ""}),)
    return Reply(body=Events(events=events, done=False), ending="stall")


def drop(after_events: Sequence[Event] = ()) -> Reply:
    """A socket closed in mid-stream; without events it is closed before the status line."""
    return Reply(body=Events(events=tuple(after_events), done=False), ending="drop")


def slow(reply: Reply, gap_seconds: float) -> Reply:
    """`reply` with a pause of `gap_seconds` between any two events."""
    return replace(reply, gap_seconds=gap_seconds)


def never_ending(content: str) -> Reply:
    """`content` as one text delta after another until the client goes away."""
    events = (chunk({"role": "assistant", "content": content}), chunk({"content": content}))
    return Reply(body=Events(events=events, done=False), ending="forever", gap_seconds=0.005)


def compact(value: Mapping[str, Any]) -> bytes:
    """`value` as JSON in UTF-8; lone surrogates become escapes, which JSON allows."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
