"""Reads chat-completions replies, as servers send them and not only as the page says.

A payload is a chunk with a `delta`, or a whole completion with a `message`; both are read alike.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, Literal

import msgspec

from hermes.core.content import Part, Text, Thinking
from hermes.core.events import Channel
from hermes.core.ids import IdSource
from hermes.core.text import clean
from hermes.core.transcript import Epoch
from hermes.core.usage import Usage
from hermes.models import errors
from hermes.models.arguments import Ending
from hermes.models.assembly import CallAssembler
from hermes.models.text_calls import calls_in_text, may_become_call
from hermes.models.thinking import ThinkingSplitter
from hermes.ports.model import CallBegun, Delta, ModelChunk, Reply, Route

_DONE: Final = b"[DONE]"
_REASONING: Final = ("reasoning_content", "reasoning", "thinking")
_CUT: Final = frozenset({"length", "max_tokens", "model_length"})
_REFUSED: Final = frozenset({"content_filter", "refusal", "safety", "sensitive"})
_BESIDE: Final = ("cache_read_input_tokens", "cache_creation_input_tokens")
_BLANK_LINES: Final = re.compile(r"\A\s*\n")
_LOOKED_AT: Final = 1_000
"""Characters of an answer's beginning that tell whether it may be a call."""


class ChatReader:
    """Reads one reply."""

    def __init__(
        self, epoch: Epoch, route: Route, ids: IdSource, taken: Collection[str] = ()
    ) -> None:
        self._route = route
        self._tools = {t.name: _needs_nothing(t.parameters) for t in epoch.tools}
        self._ids, self._taken = ids, taken
        self._calls = CallAssembler(self._tools, ids, taken)
        self._split = ThinkingSplitter()
        self._half: dict[Channel, str] = {"answer": "", "thinking": ""}
        self._held: list[str] | None = [] if self._tools else None
        self._lead: str | None = ""
        self._usage: dict[str, Any] | None = None
        self._finish = ""
        self._refused = self._marked = self._ended = False

    @property
    def complete(self) -> bool:
        return bool(self._finish) or self._marked or self._ended

    @property
    def ended(self) -> bool:
        return self._ended

    def feed(self, data: bytes) -> Iterator[Delta | CallBegun]:
        """Take one payload."""
        if data.strip() == _DONE:
            self._ended = True
            return
        event = self._decoded(data)
        if fault := event.get("error"):
            raise errors.from_payload(self._route, fault)
        choices = event.get("choices")
        if choices is None and ("message" in event or "detail" in event):
            raise errors.from_payload(self._route, event)
        choice = next((c for c in choices or () if isinstance(c, dict) and not c.get("index")), {})
        self._note_usage(event, choice, last=not choices)
        if fault := choice.get("error"):
            raise errors.from_payload(self._route, fault)
        message = choice.get("message")
        delta = choice.get("delta")
        if isinstance(message, dict) and not isinstance(delta, dict):
            self._ended, delta = True, message
        yield from self._take(delta)
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self._finish = reason.lower()
            if self._finish == "error":
                raise errors.from_payload(self._route, choice)

    def finish(self) -> Iterator[ModelChunk]:
        """What was held back, then the reply."""
        for channel in ("thinking", "answer"):
            yield from self._text("", channel, final=True)
        yield from self._shown(self._split.end())
        ending = self._ending()
        calls = self._calls.finish(ending)
        if not self.complete and (not calls or any(call.fault for call in calls)):
            raise errors.dropped(self._route)
        text, thinking = self._split.visible, self._split.thinking
        said, found = ("", []) if calls or not self._tools else calls_in_text(text, self._tools)
        if found:
            assembler = CallAssembler(self._tools, self._ids, self._taken)
            for number, (tool, arguments) in enumerate(found):
                assembler.feed(index=number, name=tool, arguments=arguments)
                yield CallBegun(tool=tool)
            calls, text = assembler.finish(ending), said
        else:
            yield from self._release()
        content: list[Part] = []
        if thinking.strip():
            content.append(Thinking(text=clean(thinking), issuer=self._route.provider))
        if text.strip():
            content.append(Text(text=clean(_BLANK_LINES.sub("", text))))
        yield Reply(
            content=tuple(content),
            calls=calls,
            stop=self._stop(bool(calls)),
            usage=_usage(self._usage, self._route),
            usage_raw="{}" if self._usage is None else json.dumps(self._usage),
        )

    def _decoded(self, data: bytes) -> dict[str, Any]:
        try:
            try:
                event = msgspec.json.decode(data)
            except msgspec.DecodeError:
                # Lone surrogates are legal JSON that msgspec refuses; bytes may be no UTF-8.
                event = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, dict):
            raise errors.not_protocol(self._route, 200, "no JSON object", data)
        return event

    def _take(self, message: object) -> Iterator[Delta | CallBegun]:
        if not isinstance(message, dict):
            return
        for key in _REASONING:
            if text := _plain(message.get(key), "text", "thinking", "content"):
                yield from self._text(text, "thinking")
                break
        content = message.get("content")
        if isinstance(content, list):
            thought = [p for p in content if isinstance(p, dict) and p.get("type") == "thinking"]
            yield from self._text(_plain(thought, "thinking", "text"), "thinking")
            content = _plain([p for p in content if p not in thought], "text")
        if isinstance(content, str):
            yield from self._text(content, "answer")
        if isinstance(refusal := message.get("refusal"), str) and refusal:
            self._refused = True
            yield from self._text(refusal, "answer")
        for call in _listed(message.get("tool_calls")):
            function = call.get("function")
            yield from self._fragment(call, function if isinstance(function, dict) else {})
        if isinstance(function := message.get("function_call"), dict):
            yield from self._fragment({}, function)

    def _fragment(
        self, call: Mapping[str, Any], function: Mapping[str, Any]
    ) -> Iterator[Delta | CallBegun]:
        yield from self._release()
        tool = self._calls.feed(
            id=call.get("id"),
            index=call.get("index"),
            name=function.get("name"),
            arguments=function.get("arguments"),
        )
        if tool:
            yield CallBegun(tool=clean(tool))

    def _text(self, text: str, channel: Channel, *, final: bool = False) -> Iterator[Delta]:
        """Take text; the first half of a character waits for the second."""
        text = self._half[channel] + text
        if not text:
            return
        cut = not final and "\ud800" <= text[-1] <= "\udbff"
        self._half[channel] = text[-1] if cut else ""
        text = clean(text[:-1] if cut else text)
        if channel == "thinking":
            yield from self._shown(iter([self._split.reason(text)]))
        else:
            yield from self._shown(self._split.feed(text))

    def _shown(self, pieces: Iterator[tuple[str, Channel]]) -> Iterator[Delta]:
        for text, channel in pieces:
            if channel == "thinking":
                if text:
                    yield Delta(text=text, channel=channel)
                continue
            if self._held is None:
                yield from self._say(text)
                continue
            self._held.append(text)
            if not may_become_call("".join(self._held[:_LOOKED_AT])[:_LOOKED_AT]):
                yield from self._release()

    def _say(self, text: str) -> Iterator[Delta]:
        """Show text of the answer, but none of the blank lines that it begins with."""
        if self._lead is not None:
            self._lead += text
            if not self._lead.strip():
                return
            text, self._lead = _BLANK_LINES.sub("", self._lead), None
        if text:
            yield Delta(text=text, channel="answer")

    def _release(self) -> Iterator[Delta]:
        held, self._held = self._held or [], None
        yield from self._say("".join(held))

    def _note_usage(
        self, event: Mapping[str, Any], choice: Mapping[str, Any], *, last: bool
    ) -> None:
        for usage in (event.get("usage"), choice.get("usage")):
            if isinstance(usage, dict) and usage:
                # Some send the input's tokens first and the output's last.
                known = {key: value for key, value in usage.items() if value is not None}
                self._usage = {**self._usage, **known} if self._usage else usage
                # Sent alone after everything else, as `include_usage` asks.
                self._marked = self._marked or last
                return

    def _ending(self) -> Ending:
        if self._finish:
            return "cut" if self._finish in _CUT else "complete"
        return "dropped"

    def _stop(self, called: bool) -> Literal["end", "calls", "length", "refused"]:
        if self._refused or self._finish in _REFUSED:
            return "refused"
        if self._finish in _CUT:
            return "length"
        return "calls" if called else "end"


def _needs_nothing(parameters: str) -> bool:
    schema = msgspec.json.decode(parameters)
    return isinstance(schema, dict) and not schema.get("required")


def _listed(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _plain(value: object, *keys: str) -> str:
    """The text in a string, in an object's first text field, or in a list of either."""
    match value:
        case str():
            return value
        case list():
            return "".join(_plain(item, *keys) for item in value)
        case dict():
            return next((_plain(value[k], *keys) for k in keys if value.get(k)), "")
        case _:
            return ""


def _count(value: object) -> int:
    return int(value) if isinstance(value, int | float) and 0 <= value < 1e12 else 0


def _usage(raw: dict[str, Any] | None, route: Route) -> Usage:
    """The usage in our terms: the input counts cached tokens, whoever reports it."""
    if raw is None:
        free = route.price is not None and route.price.input == route.price.output == 0
        return Usage(cost_usd=0.0 if free else None)
    prompt = _details(raw, "prompt_tokens_details", "input_tokens_details")
    completion = _details(raw, "completion_tokens_details", "output_tokens_details")
    cached = _first(
        (prompt, "cached_tokens"),
        (raw, "cache_read_input_tokens"),
        (raw, "prompt_cache_hit_tokens"),
        (raw, "cached_tokens"),
    )
    written = _first(
        (prompt, "cache_write_tokens"),
        (prompt, "cache_creation_tokens"),
        (raw, "cache_creation_input_tokens"),
    )
    taken = _first((raw, "prompt_tokens"), (raw, "input_tokens"))
    # Anthropic's form counts the cached tokens beside `input_tokens`, not among them.
    beside = "prompt_tokens" not in raw and not prompt
    if taken < cached + written or (beside and any(key in raw for key in _BESIDE)):
        taken += cached + written
    usage = Usage(
        input=taken,
        output=_first((raw, "completion_tokens"), (raw, "output_tokens")),
        cached=cached,
        cache_write=written,
        thinking=_first((completion, "reasoning_tokens"), (raw, "reasoning_tokens")),
        cost_usd=None,
    )
    cost = raw.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e9:
        return replace(usage, cost_usd=float(cost))
    return replace(usage, cost_usd=route.price.of(usage)) if route.price is not None else usage


def _details(raw: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    found: object = next((raw[k] for k in keys if isinstance(raw.get(k), dict)), {})
    return found if isinstance(found, dict) else {}


def _first(*places: tuple[Mapping[str, Any], str]) -> int:
    return next((n for where, key in places if (n := _count(where.get(key)))), 0)
