"""What the tests of this folder share: an epoch, a transcript, one question over a real socket."""

import json
from functools import partial

from hermes.core.calls import Press
from hermes.core.content import Text
from hermes.core.entries import AssistantEntry, Entry, ToolBatchEntry, UserEntry
from hermes.core.ids import CountingIds, Seq, TurnId
from hermes.core.people import Origin
from hermes.core.prompt import FrozenPrompt
from hermes.core.transcript import Epoch, ToolSchema, Transcript
from hermes.core.usage import Usage
from hermes.models.body import Deadlines
from hermes.models.dialects.chat_completions import ChatCompletions
from hermes.models.provider import HttpProvider
from hermes.ports.model import CallBegun, Delta, ModelChunk, Reply, Route
from hermes.system.http import http_transport

TURN = TurnId("turn_1")
QUICK = Deadlines(connect=2.0, first_byte=5.0, idle=5.0, trailer=0.3)


def schema(name: str, *required: str) -> ToolSchema:
    properties = {key: {"type": "string"} for key in required}
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSchema(name=name, description=f"Does {name}.", parameters=json.dumps(parameters))


TOOLS = (schema("read_file", "path"), schema("write_file", "path", "content"), schema("status"))


def epoch_of(tools: tuple[ToolSchema, ...] = TOOLS, prompt: str = "You are helpful.") -> Epoch:
    return Epoch(
        number=1,
        prompt=FrozenPrompt(text=prompt),
        tools=tools,
        model="custom/scripted",
        opened_at=0.0,
        reason="new",
    )


def user(text: str) -> UserEntry:
    origin = Origin(surface="cli")
    return UserEntry(turn=TURN, at=0.0, content=(Text(text=text),), origin=origin)


def assistant(reply: Reply) -> AssistantEntry:
    return AssistantEntry(
        turn=TURN,
        at=0.0,
        content=reply.content,
        calls=reply.calls,
        model="m",
        usage=reply.usage,
        stop=reply.stop,
    )


def said(text: str, calls=(), stop="end") -> AssistantEntry:
    content = (Text(text=text),) if text else ()
    return AssistantEntry(
        turn=TURN, at=0.0, content=content, calls=calls, model="m", usage=Usage(), stop=stop
    )


def batch(results, steer: str = "", notice: str = "") -> ToolBatchEntry:
    return ToolBatchEntry(turn=TURN, at=0.0, results=tuple(results), steer=steer, notice=notice)


def transcript_of(entries: list[Entry], epoch: Epoch) -> Transcript:
    press = Press()
    return Transcript(epoch, tuple(press.stamp(Seq(i), e, 1) for i, e in enumerate(entries)))


def route_to(base_url: str, **changes) -> Route:
    values = {
        "name": "custom/scripted",
        "provider": "custom",
        "model": "scripted",
        "dialect": "chat_completions",
        "base_url": base_url,
        "key": "",
        "window": None,
        "max_output": None,
        "price": None,
    }
    return Route(**{**values, **changes})


def provider_at(route: Route, deadlines: Deadlines = QUICK) -> HttpProvider:
    factory = partial(http_transport, route.base_url, {})
    return HttpProvider(route, ChatCompletions(), factory, CountingIds(), deadlines)


async def chunks_of(
    base_url: str, *entries: Entry, tools=TOOLS, deadlines: Deadlines = QUICK, **changes
) -> list[ModelChunk]:
    """All chunks of the reply to `entries` (a greeting if there are none)."""
    epoch = epoch_of(tools)
    provider = provider_at(route_to(base_url, **changes), deadlines)
    try:
        transcript = transcript_of(list(entries) or [user("hello")], epoch)
        async with provider.open(epoch).ask(transcript) as chunks:
            return [chunk async for chunk in chunks]
    finally:
        await provider.aclose()


async def reply_of(base_url: str, *entries: Entry, **options) -> Reply:
    *before, reply = await chunks_of(base_url, *entries, **options)
    assert isinstance(reply, Reply)
    assert not any(isinstance(chunk, Reply) for chunk in before)
    return reply


def shown(chunks: list[ModelChunk], channel: str = "answer") -> str:
    return "".join(c.text for c in chunks if isinstance(c, Delta) and c.channel == channel)


def begun(chunks: list[ModelChunk]) -> list[str]:
    return [c.tool for c in chunks if isinstance(c, CallBegun)]
