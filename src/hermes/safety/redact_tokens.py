"""Finds secrets that are recognisable by themselves: prefixed keys, JWTs, bot tokens.

The scan starts from single characters that stand before the body of a key (`-`, `_`, `.`, `:`),
because a search for one literal is many times cheaper than an alternation of all the prefixes.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from hermes.safety.redact_mask import STARS, Span, is_masked, partial, whole
from hermes.safety.secret_patterns import (
    BARE_KEY_STARTS,
    BARE_KEYS,
    SHORTEST_BODY,
    STRONG_PREFIXES,
    WEAK_PREFIXES,
)

_DOTTED: Final = r"[A-Za-z0-9_\-]+(?:\.[A-Za-z0-9_\-]{4,})*"
_WORDISH: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


@cache
def _rx(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def _by_ending() -> dict[str, tuple[tuple[str, bool], ...]]:
    """The prefixes by their last three characters, the longest first: (prefix, weak)."""
    table: dict[str, list[tuple[str, bool]]] = {}
    for weak, prefixes in ((False, STRONG_PREFIXES), (True, WEAK_PREFIXES)):
        for prefix in prefixes:
            table.setdefault(prefix[-3:], []).append((prefix, weak))
    return {k: tuple(sorted(v, key=lambda p: -len(p[0]))) for k, v in table.items()}


def name_like(value: str) -> bool:
    """Whether `value` is plain words joined by `_`, `-` or `.`, such as a name in code."""
    words = _rx(r"[_.\-]+").split(value.strip("_.-"))
    if len(words) == 1:
        return _rx(r"[a-z]{1,12}|[A-Z]{1,12}|[A-Z][a-z]{1,11}").fullmatch(words[0]) is not None
    word = _rx(
        r"[a-z]{2,14}\d{1,2}|[A-Z]{1,14}|[A-Za-z][a-z]{0,13}(?:[A-Z][a-z]{1,13}){0,2}|\d{1,4}|v\d{1,2}"
    )
    return all(word.fullmatch(w) for w in words)


def _starts_word(text: str, at: int) -> bool:
    """Whether a key may begin at `at`: not inside a word, though behind an escape like `\\n`."""
    if at == 0 or text[at - 1] not in _WORDISH:
        return True
    return text[at - 1] in "nrt" and at > 1 and text[at - 2] == "\\"


def _prefixed(
    text: str, after: int, choices: tuple[tuple[str, bool], ...], sentinel: bool
) -> Span | None:
    for prefix, weak in choices:
        start = after - len(prefix)
        if start < 0 or not text.startswith(prefix, start) or not _starts_word(text, start):
            continue
        body = _rx(_DOTTED if prefix[-1] == "." else r"[A-Za-z0-9_\-]+")
        found = body.match(text, after)
        if found is None or len(found[0]) < SHORTEST_BODY:
            return None
        if len({*found[0]} - {*"_-"}) < 2 or (weak and name_like(found[0])):
            # xxxxxxxxxxxx, or a name in code.
            return None
        return start, found.end(), partial(text[start : found.end()], sentinel)
    return None


def _hex_dot(text: str, dot: int, sentinel: bool) -> Span | None:
    """The form 32 hex digits, a dot, 16 or more letters and digits."""
    start = dot - 32
    if start < 0 or (start and text[start - 1] in _WORDISH):
        return None
    found = _rx(r"[0-9a-f]{32}\.[A-Za-z0-9]{16,}").match(text, start)
    return (start, found.end(), partial(found[0], sentinel)) if found else None


def _bot_token(text: str, colon: int, sentinel: bool) -> Span | None:
    """Telegram's form: 8 to 10 digits, a colon, 30 or more characters; the digits stay."""
    digits = colon
    while digits and colon - digits < 11 and "0" <= text[digits - 1] <= "9":
        digits -= 1
    found = _rx(r"[A-Za-z0-9_\-]{30,}").match(text, colon + 1)
    if not 8 <= colon - digits <= 10 or found is None:
        return None
    return found.start(), found.end(), whole(found[0], sentinel)


def _bare(text: str, sentinel: bool) -> Iterator[Span]:
    for start, offsets in BARE_KEY_STARTS:
        if start[0] not in text:
            continue
        done = 0
        for hit in _rx(start).finditer(text):
            for at in (hit.start() - offset for offset in offsets):
                if at >= done and (span := _bare_key(text, at, sentinel)) is not None:
                    done = span[1]
                    yield span


def _bare_key(text: str, at: int, sentinel: bool) -> Span | None:
    if at < 0 or not _bare_may_start(text, at):
        return None
    for head, pattern in BARE_KEYS.items():
        found = _rx(pattern).match(text, at) if text.startswith(head, at) else None
        if found is not None and len(set(found[0])) > 3:
            return at, found.end(), partial(found[0], sentinel)
    return None


def _bare_may_start(text: str, at: int) -> bool:
    # `+` and `,` behind base64 text, and `/` between its letters, mean an image or an archive.
    if not _starts_word(text, at) or text[max(0, at - 7) : at] == "base64,":
        return False
    return not (
        at > 1
        and text[at - 1] in "+/"
        and text[at - 2] in _WORDISH
        and at > 40
        and _rx(r"[A-Za-z0-9+/]{40}").fullmatch(text, at - 40, at)
    )


def tokens(text: str, sentinel: bool) -> Iterator[Span]:
    """The secrets in `text` that are recognisable by their own form."""
    yield from _bare(text, sentinel)
    endings = _by_ending()
    for separator, least in (
        ("_", SHORTEST_BODY),
        ("-", SHORTEST_BODY),
        (".", SHORTEST_BODY),
        (":", 30),
    ):
        if separator not in text:
            continue
        done = 0
        for hit in _after(separator, least).finditer(text):
            at = hit.start()
            if at < done:
                continue
            if separator == ":":
                span = _bot_token(text, at, sentinel)
            else:
                span = None
                if choices := endings.get(text[at - 2 : at + 1]):
                    span = _prefixed(text, at + 1, choices, sentinel)
                if separator == "." and span is None:
                    span = _hex_dot(text, at, sentinel)
            if span is not None:
                done = span[1]
                yield span


@cache
def _after(separator: str, least: int) -> re.Pattern[str]:
    """A separator that a key may stand around, by the two characters before it."""
    heads = {p[-3:-1] for p in (*STRONG_PREFIXES, *WEAK_PREFIXES) if p[-1] == separator}
    more = {".": "0-9a-f", ":": "0-9"}.get(separator, "")
    first, second = ("".join(sorted({head[n] for head in heads})) for n in (0, 1))
    mark = re.escape(separator)
    before = rf"[{re.escape(first)}{more}][{re.escape(second)}{more}]"
    return re.compile(rf"{mark}(?<={before}{mark})(?=[A-Za-z0-9_\-]{{{least}}})")


def phones(text: str, *, loud: bool) -> Iterator[Span]:
    """International phone numbers; not the added lines of a diff."""
    if "+" not in text:
        return
    diff: bool | None = None
    for hit in _rx(r"\+[1-9]\d{6,14}(?![\w.]\w|[\w*])").finditer(text):
        at = hit.start()
        if at and (text[at - 1].isalnum() or text[at - 1] in "_+=/)]"):
            continue
        if at == 0 or text[at - 1] == "\n":
            diff = "@@ -" in text if diff is None else diff
            if diff:
                continue
        number = hit[0]
        if not loud and len(number) < 11:
            continue
        keep = (2, 2) if len(number) <= 8 else (4, 4)
        yield at, hit.end(), f"{number[: keep[0]]}****{number[-keep[1] :]}"


def literals(text: str, secrets: tuple[str, ...], sentinel: bool) -> Iterator[Span]:
    """Every place where one of the known `secrets` stands."""
    for secret in secrets:
        at = text.find(secret)
        while at >= 0:
            end = at + len(secret)
            yield at, end, STARS if is_masked(secret) else whole(secret, sentinel)
            at = text.find(secret, end)
