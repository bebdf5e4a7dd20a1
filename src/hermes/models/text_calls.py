"""Tool calls that a server without a tool parser leaves in the text of a reply.

A text is a call only if nothing else stands in it, and only for a tool that the model was told of.
"""

import json
import re
from collections.abc import Collection
from typing import Any, Final

MAX_TEXT: Final = 1024 * 1024
"""Characters above which a text is no longer looked at as a call."""

_FENCED: Final = re.compile(r"\A```(?:json)?[ \t]*\r?\n(.*?)\r?\n?```\Z", re.DOTALL)
_TAGGED: Final = re.compile(r"\s*<tool_call>\s*(\{.*?\})\s*(?:</tool_call>\s*|\Z)", re.DOTALL)
_KEYS: Final = frozenset({"name", "arguments", "parameters", "id", "type"})
_OPENINGS: Final = tuple(
    f'{before}{{"{key}":'
    for before in ("", "```", "```json", "<tool_call>")
    for key in ("name", "arguments", "parameters", "id", "type")
)
_LONGEST: Final = max(map(len, _OPENINGS))


def may_become_call(beginning: str) -> bool:
    """Whether a text that begins like this could still turn out to be a call."""
    compact = "".join(beginning[: 8 * _LONGEST].split())[:_LONGEST]
    return any(o.startswith(compact) or compact.startswith(o) for o in _OPENINGS)


def calls_in_text(text: str, tools: Collection[str]) -> list[tuple[str, Any]]:
    """The calls that are all of `text`, as pairs of tool and arguments; empty if there are none."""
    text = text.strip()
    if len(text) > MAX_TEXT or not may_become_call(text):
        return []
    calls = [_call(source, tools) for source in _sources(text)]
    return [call for call in calls if call is not None] if None not in calls else []


def _sources(text: str) -> list[str]:
    if not text.startswith("<"):
        fenced = _FENCED.match(text)
        return [fenced.group(1) if fenced else text]
    sources, position = [], 0
    while position < len(text):
        match = _TAGGED.match(text, position)
        if match is None:
            return []
        sources.append(match.group(1))
        position = match.end()
    return sources


def _call(source: str, tools: Collection[str]) -> tuple[str, Any] | None:
    try:
        value = json.loads(source)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not value.keys() <= _KEYS:
        return None
    name = value.get("name")
    arguments = value.get("arguments", value.get("parameters"))
    if not isinstance(name, str) or name not in tools or not isinstance(arguments, dict | str):
        return None
    return name, arguments
