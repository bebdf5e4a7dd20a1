"""The testing kit for authors: a scripted model behind a real HTTP server."""

from hermes.sdk.testing.http1 import Arrival
from hermes.sdk.testing.model_server import Request, Script, ScriptedModel, Violation, serving
from hermes.sdk.testing.prefix import PrefixBreak
from hermes.sdk.testing.replies import (
    Reply,
    calls,
    chunk,
    drop,
    html,
    http,
    json_body,
    never_ending,
    raw_events,
    slow,
    stall,
    text,
    thinking,
)

__all__ = [
    "Arrival",
    "PrefixBreak",
    "Reply",
    "Request",
    "Script",
    "ScriptedModel",
    "Violation",
    "calls",
    "chunk",
    "drop",
    "html",
    "http",
    "json_body",
    "never_ending",
    "raw_events",
    "serving",
    "slow",
    "stall",
    "text",
    "thinking",
]
