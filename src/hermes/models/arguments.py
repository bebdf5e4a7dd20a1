"""The arguments of a call: read strictly, repaired where only one reading exists, else refused.

A repair never invents a value and never drops one: it may remove a trailing comma, write a Python
literal or a single-quoted string as JSON, escape a raw control character, unwrap an object that was
encoded twice, and add closing brackets after a complete value. Anything else is a fault.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, Literal, NoReturn

import msgspec

from hermes.core.calls import Fault
from hermes.core.text import clean

Ending = Literal["complete", "cut", "dropped"]
"""How the reply ended: by its own account, at the output cap, or nobody knows."""

MAX_DEPTH: Final = 100
"""Nesting that no tool's schema needs; deeper objects are refused before they cost a stack."""

MAX_REPAIRED: Final = 1024 * 1024
"""Characters above which a malformed object is not worth the time of a repair."""

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n]+)
    |(?P<double>"(?:[^"\\]|\\.)*")
    |(?P<single>'(?:[^'\\]|\\.)*')
    |(?P<open>[\[{])
    |(?P<close>[\]}])
    |(?P<mark>[,:])
    |(?P<number>-?\d[\d.eE+-]*)
    |(?P<word>[A-Za-z]+)""",
    re.VERBOSE | re.DOTALL,
)
_WORDS: Final = {"None": "null", "True": "true", "False": "false"}
_JSON_WORDS: Final = frozenset({"null", "true", "false"})
_CLOSER: Final = {"{": "}", "[": "]"}
_COMPLETE_VALUE: Final = frozenset({"double", "single", "close"})


class _NoRepair(ValueError):
    """No single reading of this text exists."""


def decode_arguments(
    text: str, ending: Ending, *, needs_nothing: bool = False
) -> tuple[str, Fault | None]:
    """The JSON text of the arguments object, or `text` with the reason why it cannot be used.

    `needs_nothing`: the tool has no required parameter, so an empty text may stand for `{}`.
    """
    if (whole := whole_object(text)) is not None:
        return whole, None
    if ending == "cut":
        return clean(text), "cut"
    if ending == "dropped":
        return clean(text), "dropped"
    if not text.strip():
        return ("{}", None) if needs_nothing else ("", "malformed")
    if len(text) > MAX_REPAIRED:
        return clean(text), "malformed"
    try:
        return _recoded(_repair(text)), None
    except (ValueError, RecursionError):
        return clean(text), "malformed"


def whole_object(text: str) -> str | None:
    """`text`, cleaned, if it is one strict JSON object of bearable depth; else None."""
    found = _strict(text)
    return None if found is None else found[1]


def _strict(text: str) -> tuple[dict[str, Any], str] | None:
    """The object that `text` is, and its text, cleaned."""
    recoded = False
    try:
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError):
            recoded = _SURROGATE.search(text) is not None
            if not recoded and clean(text) is text:
                raise
            # Half of a surrogate pair: legal JSON that msgspec refuses.
            value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not _shallow(value):
        return None
    return value, _recoded(value) if recoded else clean(text.strip())


def _no_constant(name: str) -> NoReturn:
    raise _NoRepair(name)


def _recoded(value: dict[str, Any]) -> str:
    return clean(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def _shallow(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return True
    return False


def _children(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            yield from (v for v in value.values() if isinstance(v, dict | list))
        case list():
            yield from (v for v in value if isinstance(v, dict | list))


def _repair(text: str) -> dict[str, Any]:
    if text.strip().startswith('"'):
        inner = json.loads(text)
        found = _strict(inner) if isinstance(inner, str) else None
        if found is None:
            raise _NoRepair(text)
        return found[0]
    repaired = "".join(_rewritten(text))
    value = json.loads(repaired, strict=False, parse_constant=_no_constant)
    if not isinstance(value, dict) or not _shallow(value):
        raise _NoRepair(text)
    return value


def _rewritten(text: str) -> Iterator[str]:
    """The tokens of `text` as JSON; raises `_NoRepair` where there is more than one reading."""
    position, last, comma = 0, "", False
    expected: list[str] = []
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _NoRepair(text)
        kind, token = match.lastgroup or "", match.group()
        position = match.end()
        if kind == "space":
            continue
        if last and not expected:
            raise _NoRepair(text)
        if comma:
            # A comma is written only once something follows it that is not a closing bracket.
            comma = False
            if kind != "close":
                yield ","
        if token == ",":
            if last not in {*_COMPLETE_VALUE, "number", "word"}:
                raise _NoRepair(text)
            comma, last = True, "mark"
            continue
        if kind == "open":
            expected.append(_CLOSER[token])
            if len(expected) > MAX_DEPTH:
                raise _NoRepair(text)
        elif kind == "close" and (not expected or expected.pop() != token):
            raise _NoRepair(text)
        yield _as_json(kind, token)
        last = kind
    if expected and last not in _COMPLETE_VALUE:
        # A number, a word or a comma at the end may have been cut in half.
        raise _NoRepair(text)
    yield from reversed(expected)


def _as_json(kind: str, token: str) -> str:
    if kind == "word":
        word = _WORDS.get(token, token)
        if word not in _JSON_WORDS:
            raise _NoRepair(token)
        return word
    if kind == "single":
        return '"' + re.sub(r"\\'|\"|\\.", _requoted, token[1:-1], flags=re.DOTALL) + '"'
    return token


def _requoted(match: re.Match[str]) -> str:
    return {"\\'": "'", '"': '\\"'}.get(match.group(), match.group())
