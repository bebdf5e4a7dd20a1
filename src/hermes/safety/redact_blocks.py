"""Finds secrets by their surroundings: private key blocks, headers, addresses, form bodies."""

import binascii
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from hermes.safety.redact_mask import PRIVATE_KEY, Span, is_masked, partial, whole
from hermes.safety.redact_values import opaque
from hermes.safety.secret_patterns import (
    AUTH_SCHEMES,
    COOKIE_ATTRIBUTES,
    FORM_FIELDS,
    LOGIN_SCHEMES,
    PLACEHOLDER_WORDS,
)


@cache
def _rx(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# A line end as it stands in a text, in a string literal, in escaped JSON; then a line number.
_BREAK: Final = r"(?:[ \t]*(?:\r?\n|\\{1,4}r|\\{1,4}n)[ \t]*(?:\d{1,7}[|:\t\-])?[ \t]*)"
_KEY_LINE: Final = r"(?:[A-Za-z0-9+/]+={0,2}|(?:Proc-Type|DEK-Info|Comment|Version): [^\n\\]*)"
_KEY_BODY: Final = (
    rf"(?:[\"'+, \t]*+(?:{_BREAK}[\"'+, \t]*+)++{_KEY_LINE}(?=[ \t]*(?:[\r\n\"'\\,]|\Z)))++"
    r"|[ \t]*+[A-Za-z0-9+/]{40,}+={0,2}"
)
_BEGIN: Final = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_END: Final = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"


def private_keys(text: str) -> Iterator[Span]:
    """PEM private keys, also with the beginning or the end cut off."""
    done = 0
    if "PRIVATE KEY" not in text:
        return
    begins = [m.span() for m in _rx(_BEGIN).finditer(text)]
    ends = [m.span() for m in _rx(_END).finditer(text)]
    nth = 0
    for number, (start, opened) in enumerate(begins):
        limit = begins[number + 1][0] if number + 1 < len(begins) else len(text)
        while nth < len(ends) and ends[nth][0] < opened:
            yield from _beheaded(text, done, ends[nth])
            done = ends[nth][1]
            nth += 1
        if nth < len(ends) and ends[nth][0] < limit:
            done = ends[nth][1]
            nth += 1
        elif (body := _rx(_KEY_BODY).match(text, opened, limit)) is not None:
            done = body.end()
        else:
            continue
        if done - opened > 40 or text[opened:done].strip():
            yield start, done, PRIVATE_KEY
    for end in ends[nth:]:
        yield from _beheaded(text, done, end)
        done = end[1]


def _beheaded(text: str, floor: int, end: tuple[int, int]) -> Iterator[Span]:
    """A key of which only the last lines are there."""
    lines = text[floor : end[0]].split("\n")
    start = end[0]
    for line in reversed(lines[:-1]):
        # The last line of a key may be of any length, the ones before are full.
        width = "{16,}" if start != end[0] else "{1,}"
        body = rf"[ \t]*+(?:\d{{1,7}}[|:\t\-])?[ \t]*+[A-Za-z0-9+/]{width}={{0,2}}\s*"
        if _rx(body).fullmatch(line) is None:
            break
        start -= len(line) + 1
    if start < end[0] and end[0] - start > 20:
        yield max(floor, start), end[1], PRIVATE_KEY


_CREDENTIAL: Final = r"[^\s\"'`<>\\,;]"
_SESSION: Final = r"[A-Za-z0-9+/_\-.~%:]"
_LOOKED_AT: Final = 256
"""How much of a value decides; a longer value is masked to its end all the same."""


def headers(text: str, lowered: str, ends: list[int], sentinel: bool) -> Iterator[Span]:
    """What Authorization, Cookie and session headers carry, and credentials by their scheme.

    `lowered` is `text` in lower case, of equal length; `ends` are its triggers of assignments.
    """
    yield from _authorization(text, lowered, ends, sentinel)
    yield from _cookies(text, lowered, sentinel)
    yield from _sessions(text, lowered, sentinel)
    yield from _logins(text, sentinel)
    credential = _rx(r"[A-Za-z0-9+/_\-.~]{6,}={0,2}")
    for scheme in _rx("b(?:asic|earer) ").finditer(lowered):
        at, start = scheme.span()
        found = credential.match(text, start)
        if found is None or (at and text[at - 1].isalnum()):
            continue
        if _basic(found[0]) if scheme[0] == "basic " else _bearer(found[0]):
            yield start, found.end(), partial(found[0], sentinel)


def _logins(text: str, sentinel: bool) -> Iterator[Span]:
    """What curl and wget are given as `-u user:password`."""
    if "-" not in text or ":" not in text or "curl" not in text:
        return
    for hit in _rx(
        r"(?<=[ \t])-(?:u|U|-user|-proxy-user)[ \t=]{0,2}[\"']?[^\s:\"']{1,64}:"
    ).finditer(text):
        near = max(0, hit.start() - 512)
        line = max(text.rfind("\n", near, hit.start()) + 1, near)
        found = _rx(r"[^\s\"']+").match(text, hit.end())
        if found is None or text.find("curl", line, hit.start()) < 0:
            continue
        if not is_masked(found[0]) and found[0][0] not in "${<%":
            yield found.start(), found.end(), whole(found[0], sentinel)


def _bearer(value: str) -> bool:
    return opaque(value, 16) and not is_masked(value)


def _basic(value: str) -> bool:
    """Whether `value` is base64 of user:password."""
    if len(value) > 1024:
        return False
    try:
        plain = binascii.a2b_base64(value + "=" * (-len(value) % 4), strict_mode=True).decode()
    except ValueError:
        return False
    return ":" in plain and plain.isprintable()


def _authorization(text: str, lowered: str, ends: list[int], sentinel: bool) -> Iterator[Span]:
    done = 0
    after = _rx(
        r"\\{0,8}[\"']?\]?[ \t]{0,4}(?::|=(?!=)|=>|,)[ \t]{0,4}\[?[bru]{0,1}\\{0,8}[\"']?"
        r"(?P<scheme>[A-Za-z][A-Za-z0-9\-]{1,24}[ \t]{1,4})?"
    )
    for at in ends:
        if at < done or not lowered.startswith("authorization", at - 4):
            continue
        if (found := after.match(text, at + len("orization"))) is not None:
            scheme = (found["scheme"] or "").strip().lower()
            if span := _credential(text, found.end(), scheme, sentinel):
                done = span[1]
                yield span


def _credential(text: str, at: int, scheme: str, sentinel: bool) -> Span | None:
    if scheme and scheme not in AUTH_SCHEMES:
        return None
    credential = _rx(f"{_CREDENTIAL}{{1,{_LOOKED_AT}}}")
    if scheme in ("digest", "aws4-hmac-sha256", "hmac", "oauth", "hawk"):
        found = _rx(r"[A-Za-z]{1,64}=[^\n'`\\]{6,}").match(text, at) or credential.match(text, at)
        if found and "=" in found[0] and " " in found[0]:
            end = at + len(found[0].rstrip('" \t\r})'))
            return at, end, whole(text[at:end], sentinel)
    else:
        found = credential.match(text, at)
    if found is None or text[at] in "${<(%[":
        return None
    value = found[0]
    if is_masked(value) or len(value) < 6 or value.lower() in PLACEHOLDER_WORDS:
        return None
    if not scheme and not opaque(value, 8):
        return None
    if _rx(r"[A-Za-z]{1,12}|(?:your|my|some)[-_A-Za-z]+|[A-Z]+(?:_[A-Z]+)+").fullmatch(value):
        return None
    return _to_its_end(text, found, _CREDENTIAL, sentinel)


def _to_its_end(text: str, found: re.Match[str], of: str, sentinel: bool) -> Span:
    """The span of a value that begins with `found` and goes on with characters `of` a class."""
    at, end = found.span()
    if end - at >= _LOOKED_AT and (rest := _rx(f"{of}*").match(text, end)) is not None:
        end = rest.end()
    return at, end, partial(text[at:end], sentinel)


def _cookies(text: str, lowered: str, sentinel: bool) -> Iterator[Span]:
    at = lowered.find("cookie") if ":" in text or "--" in text else -1
    after = _rx(r"2?\\{0,8}[\"']?[ \t]{0,4}:[ \t]{0,4}\[?[ \t]{0,4}\\{0,8}[\"']?|[ \t=]{1,2}[\"']?")
    pair = _rx(
        r"[ \t]*([\w.!#$%&*+\-^`|~\[\]]{1,128})=\"?([^;\s\"'\\]*)\"?[ \t]*(?:;|(?=[\s\"'\\,]|\Z))"
    )
    while at >= 0:
        end = at + len("cookie")
        begun = after.match(text, end)
        flag = text[max(0, at - 2) : at] == "--"
        if begun is not None and (":" in begun[0] or flag):
            end = begun.end()
            while (found := pair.match(text, end)) is not None:
                end = max(found.end(), end + 1)
                value = found[2]
                if found[1].lower() in COOKIE_ATTRIBUTES or value[:1] in ("", "$", "{", "<", "%"):
                    continue
                if not is_masked(value):
                    yield found.start(2), found.end(2), whole(value, sentinel)
        at = lowered.find("cookie", end)


def _sessions(text: str, lowered: str, sentinel: bool) -> Iterator[Span]:
    """Headers such as X-Session-Id and fields such as PHPSESSID."""
    if not (":" in text or "=" in text) or "sess" not in lowered:
        return
    after = _rx(r"(?:[-_]?(?:id|key|token))?\\{0,8}[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,8}[\"']?")
    for word in ("-session", "jsessionid", "phpsessid", "sessionid"):
        at = lowered.find(word)
        while at >= 0:
            end = at + len(word)
            if (begun := after.match(lowered, end)) is not None:
                value = rf"{_SESSION}{{12,{_LOOKED_AT}}}={{0,2}}"
                found = _rx(value).match(text, begun.end())
                if found and opaque(found[0], 12) and not is_masked(found[0]):
                    span = _to_its_end(text, found, _SESSION, sentinel)
                    end = span[1]
                    yield span
            at = lowered.find(word, end)


_LONGEST_USERINFO: Final = 512


def addresses(text: str, *, loud: bool, sentinel: bool) -> Iterator[Span]:
    """Passwords in scheme://user:password@host, and tokens in scheme://token@host."""
    host = text.find("@")
    at = text.find("://") if host >= 0 else -1
    userinfo = _rx(r"(?P<user>[^\s:/?#@\"'`<>\\]{0,256})(?P<colon>:)?")
    while at >= 0:
        start = end = at + 3
        if host < start:
            host = text.find("@", start)
            if host < 0:
                return
        if host - start <= _LONGEST_USERINFO and (found := userinfo.match(text, start)):
            if found["colon"]:
                span = _address_password(text, found.end(), loud=loud, sentinel=sentinel)
            elif found.end() == host:
                span = _address_token(text, at, found["user"], loud=loud, sentinel=sentinel)
            else:
                span = None
            if span is not None:
                end = span[1]
                yield span
        at = text.find("://", end)


def _address_password(text: str, at: int, *, loud: bool, sentinel: bool) -> Span | None:
    # Up to the last @ before the path; where the password contains a slash, up to the first @.
    found = _rx(r"[^\s/?#\"'`<>\\]{1,512}(?=@)").match(text, at)
    found = found or _rx(r"[^\s@\"'`<>\\]+(?=@)").match(text, at)
    if found is None or _rx(r"\d{1,5}[/?#]").match(text, at):
        return None
    value = found[0]
    if is_masked(value) or value[0] in "${<%[" or value.endswith("»"):
        return None
    if not loud and value.lower() in PLACEHOLDER_WORDS:
        return None
    return at, found.end(), whole(value, sentinel)


def _address_token(text: str, colon: int, user: str, *, loud: bool, sentinel: bool) -> Span | None:
    head = _rx(r"[A-Za-z0-9+.\-]*\Z").search(text, max(0, colon - 16), colon)
    scheme = head[0].lower() if head is not None else ""
    if not scheme or scheme in LOGIN_SCHEMES or len(user) < 8:
        return None
    if not loud and not _rx(r"\d").search(user):
        return None
    if is_masked(user) or user[0] in "${<%[" or user.lower() in ("username", "your-token"):
        return None
    return colon + 3, colon + 3 + len(user), whole(user, sentinel)


def form_body(text: str, sentinel: bool) -> Iterator[Span]:
    """The secret fields of a text that as a whole is one form body."""
    body = text.strip()
    if "&" not in body or "=" not in body or not _begins_form(body):
        return
    offset = text.index(body[0])
    if _rx(r"\s").search(body):
        return
    at = offset
    for field in body.split("&"):
        name, equals, value = field.partition("=")
        if not equals or not _rx(r"[\w.%\-\[\]]{1,128}").fullmatch(name):
            return
    for field in body.split("&"):
        name, _, value = field.partition("=")
        if name.lower() in FORM_FIELDS and value and not is_masked(value):
            start = at + len(name) + 1
            yield start, start + len(value), whole(value, sentinel)
        at += len(field) + 1


def _begins_form(body: str) -> bool:
    return _rx(r"[\w.%\-\[\]]{1,128}=").match(body) is not None
