"""Tool calls that a server without a tool parser leaves in the text of a reply.

A text is a call only if nothing else stands in it, or if it ends with calls in tags of their own;
and only for a tool that the model was told of. The shapes are those of the chat templates of
Hermes and Qwen (`<tool_call>`), Qwen Coder (`<function=...>`), Mistral (`[TOOL_CALLS]`), Llama
(`<|python_tag|>`), and of bare JSON.
"""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, Final

MAX_TEXT: Final = 1024 * 1024
"""Characters above which a text is no longer looked at as a call."""

Found = tuple[str, Any]
"""A tool and its arguments."""

_FENCED: Final = re.compile(r"\A```(?:json)?[ \t]*\r?\n(.*?)\r?\n?```\Z", re.DOTALL)
_TAGGED: Final = re.compile(r"\s*<tool_call>\s*(.*?)\s*(?:</tool_call>\s*|\Z)", re.DOTALL)
_FIRST_TAG: Final = re.compile(r"^[ \t]*<tool_call>", re.MULTILINE)
_FUNCTION: Final = re.compile(
    r"\s*<function=([^<>\s]+)>\s*(.*?)\s*(?:</function>\s*|\Z)", re.DOTALL
)
_PARAMETER: Final = re.compile(
    r"\s*<parameter=([^<>\s]+)>\r?\n?(.*?)\r?\n?</parameter>\s*", re.DOTALL
)
_MARKS: Final = ("[TOOL_CALLS]", "<|python_tag|>")
_NAMES: Final = ("name", "tool", "function")
_ARGUMENTS: Final = ("arguments", "parameters", "args")
_KEYS: Final = frozenset({*_NAMES, *_ARGUMENTS, "id", "type"})
_OPENINGS: Final = (
    *(
        f'{before}{{"{key}":'
        for before in ("", "[", "```", "```json", "<tool_call>", *_MARKS, "[TOOL_CALLS][")
        for key in (*sorted(_KEYS), "tool_calls")
    ),
    "<function=",
    "<tool_call><function=",
)
_LONGEST: Final = max(map(len, _OPENINGS))


def may_become_call(beginning: str) -> bool:
    """Whether a text that begins like this could still turn out to be a call."""
    compact = "".join(beginning[: 8 * _LONGEST].split())[:_LONGEST]
    return any(o.startswith(compact) or compact.startswith(o) for o in _OPENINGS)


def calls_in_text(text: str, tools: Collection[str]) -> tuple[str, list[Found]]:
    """What `text` says, and the calls that are the rest of it, or all of it."""
    whole = text.strip()
    if not whole or len(whole) > MAX_TEXT:
        return text, []
    if may_become_call(whole) and (calls := _all(_sources(whole), tools)):
        return "", calls
    first = _FIRST_TAG.search(whole)
    # An odd number of fences before it: the answer shows a call and makes none.
    if first is None or whole.count("```", 0, first.start()) % 2:
        return text, []
    calls = _all(_tagged(whole[first.start() :]), tools)
    return (whole[: first.start()].rstrip(), calls) if calls else (text, [])


def _all(found: list[Found | None], tools: Collection[str]) -> list[Found]:
    known = [call for call in found if call is not None and call[0] in tools]
    return known if len(known) == len(found) else []


def _sources(text: str) -> list[Found | None]:
    if text.startswith("<tool_call>"):
        return _tagged(text)
    if text.startswith("<function="):
        return list(_functions(text))
    if fenced := _FENCED.match(text):
        text = fenced.group(1)
    for mark in _MARKS:
        text = text.removeprefix(mark)
    return [call for value in _values(text.strip()) for call in _calls(value)]


def _tagged(text: str) -> list[Found | None]:
    found: list[Found | None] = []
    position = 0
    while position < len(text):
        match = _TAGGED.match(text, position)
        if match is None:
            return [None]
        inner, position = match.group(1), match.end()
        if inner.startswith("<function="):
            found += _functions(inner)
        else:
            found += [call for value in _values(inner) for call in _calls(value)] or [None]
    return found


def _functions(text: str) -> Iterator[Found | None]:
    """The calls of Qwen Coder's form: each parameter in a tag of its own, its value as text."""
    position = 0
    while position < len(text):
        match = _FUNCTION.match(text, position)
        if match is None:
            yield None
            return
        name, inner, position = match.group(1), match.group(2), match.end()
        rest = _PARAMETER.sub("", inner).strip()
        if not rest:
            yield name, dict(_PARAMETER.findall(inner))
        else:
            yield (name, rest) if rest == inner and rest.startswith("{") else None


def _values(text: str) -> list[Any]:
    """The JSON values that are all of `text`, one after the other; `[None]` if it is not JSON."""
    decoder, values, position = json.JSONDecoder(), [], 0
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return [None]
        values += value if isinstance(value, list) else [value]
        while position < len(text) and text[position] in " \t\r\n;,":
            position += 1
    return values


def _calls(value: Any) -> Iterator[Found | None]:
    match value:
        case {"tool_calls": list(inner), **rest} if not rest and inner:
            for one in inner:
                yield _call(one)
        case _:
            yield _call(value)


def _call(value: Any) -> Found | None:
    if not isinstance(value, dict) or not value.keys() <= _KEYS:
        return None
    if isinstance(function := value.get("function"), dict):
        return _call(function) if "function" not in function else None
    name = next((value[key] for key in _NAMES if key in value), None)
    arguments = next((value[key] for key in _ARGUMENTS if key in value), None)
    if not isinstance(name, str) or not isinstance(arguments, dict | str):
        return None
    return name, arguments
