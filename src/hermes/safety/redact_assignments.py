"""Finds secrets by the name they are assigned to: NAME=value, YAML, JSON, repr, XML, flags.

Escaped JSON (`{\\"apiKey\\": \\"...\\"}`), a name/value pair of two fields and numbered lines
(`12|NAME=value`) count too. The scan starts from the few substrings that every such name
contains; everything else is matched from there, forwards and a bounded way backwards.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from hermes.safety.redact_mask import SENTINEL_OPEN, Span, partial, whole
from hermes.safety.redact_names import classify
from hermes.safety.redact_values import SHORTEST_DRAWN, Assignment, Form, is_secret
from hermes.safety.secret_patterns import KEY_HEADERS, NAME_TRIGGERS

_NAME: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_LONGEST_NAME: Final = 80
_LOOKED_AT: Final = 160
"""How much of a value decides; a longer value is masked to its end all the same."""

_DEEPEST: Final = 4
"""How many names are tried inside what looks like the value of another (`--set a.token=b`)."""

_SIGNS: Final = (":", "=", ">", "--", "login", "authorization")
"""One of these stands beside every name that is followed by its value."""


@cache
def _rx(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_AFTER_NAME: Final = r"(?P<rest>[A-Za-z0-9_.\-]{0,40})(?P<close>\\{0,8}[\"'`])?\]?"
_SEPARATOR: Final = (
    r"(?P<pair>(?:,|(?=[ \t]))?\s{0,200}\\{0,8}[\"']?[Vv]alue\\{0,8}[\"']?[ \t]{0,8}[:=][ \t]{0,8})"
    r"|(?P<typed>\??[ \t]{0,4}:[ \t]{0,4}[A-Za-z_][\w.\[\] |<>]{0,40}?[ \t]{0,4}=(?!=)[ \t]{0,8})"
    r"|(?P<plain>[ \t]{0,20}(?::=|\?=|=>|=(?!=)|:(?![:=]))[ \t]{0,20})"
    r"|(?P<tag>>)"
    r"|(?P<flag>[ \t]{1,4})"
)
_QUOTE: Final = r"(?P<prefix>[fFrRbBuU]{0,2})(?P<quote>\\{0,8}[\"'`])"


def triggers(lowered: str) -> list[int]:
    """The sorted ends of all words in a lower-cased text that a secret's name may contain.

    Empty where nothing can be set to a value.
    """
    ends: list[int] = []
    if not any(sign in lowered for sign in _SIGNS):
        return ends
    for word in NAME_TRIGGERS:
        ends += [found.end() for found in _rx(word).finditer(lowered)]
    ends.sort()
    return ends


def assignments(text: str, ends: list[int], *, loud: bool, sentinel: bool) -> Iterator[Span]:
    """The secrets in `text` that a name betrays; `ends` are its `triggers`."""
    after, separator = _rx(_AFTER_NAME), _rx(_SEPARATOR)
    done = run = nested = 0
    for end in ends:
        if end <= done:
            continue
        name = after.match(text, end)
        if name is None:
            continue
        sep = separator.match(text, name.end())
        start = _name_start(text, end, done) if sep is not None else None
        # Whatever else the name contains, it is not looked at twice.
        done = name.end("rest")
        if sep is None or start is None:
            continue
        nested = nested + 1 if start < run else 0
        if nested > _DEEPEST:
            done = run
            continue
        at, stop, mask = _value(text, start, name, sep, loud=loud, sentinel=sentinel)
        if mask:
            done = stop
            yield at, stop, mask
        run = max(run, stop)


def _name_start(text: str, end: int, floor: int) -> int | None:
    start = end
    floor = max(floor, 0)
    while start > floor and text[start - 1] in _NAME:
        start -= 1
        if end - start > _LONGEST_NAME:
            return None
    return start


def _value(
    text: str,
    start: int,
    name: re.Match[str],
    sep: re.Match[str],
    *,
    loud: bool,
    sentinel: bool,
) -> Span:
    """The value of the name at `start` and its mask, which is empty if it stays."""
    nothing = start, start, ""
    raw = text[start : name.end("rest")]
    before = text[start - 1] if start else ""
    if before == "\\" and raw[:1] in ("n", "r", "t"):
        # The name stands behind an escaped line end.
        raw = raw[1:]
    label = raw.lstrip("-.")
    kind = classify(label)
    if kind is None or not _separates(text, start, raw, before, sep):
        return nothing
    if before in ("?", "&") and _in_address(text, start):
        return nothing
    at = sep.end()
    quote = _rx(_QUOTE).match(text, at)
    stop = ""
    if quote is not None:
        at, end = quote.end(), _quoted_end(text, quote)
        form: Form = "quoted"
        if "f" in quote["prefix"].lower() and "{" in text[at:end]:
            return nothing
    else:
        stop = _stop(sep, before)
        end = _bare_end(text, at, stop)
        form = _form(text, end, sep)
    value = text[at:end]
    if not value or (sep["flag"] and value.startswith("-")):
        return nothing
    if kind in ("ambiguous", "plain key") and len(value) < SHORTEST_DRAWN:
        return at, at if quote else end, ""
    it = Assignment(
        name=label,
        kind=kind,
        value=value[:_LOOKED_AT],
        form=form,
        data_key=_is_data(name, sep, quote, before),
        fills_line=_fills_line(text, start, end),
    )
    header = _is_header(label, sep)
    # In these places there is nothing but literal values.
    literal = header or (raw == "password" and sep["flag"] is not None)
    if not is_secret(it, loud=loud or literal):
        return at, at if quote else end, ""
    if quote is None and end - at >= _LOOKED_AT - 8:
        end = _trimmed(text, at, _rx(stop + "*").match(text, at))
    return at, end, (partial if header else whole)(text[at:end], sentinel)


def _is_data(
    name: re.Match[str], sep: re.Match[str], quote: re.Match[str] | None, before: str
) -> bool:
    """Whether the name is a key of data, such as JSON or a connection string, not of code."""
    if name["close"] or sep["tag"] or (sep["pair"] and quote):
        return True
    return before == ";" and quote is None and sep["plain"] == "="


def _is_header(label: str, sep: re.Match[str]) -> bool:
    """Whether this is an HTTP header made to carry a key, such as x-api-key."""
    lowered = label.lower()
    return ":" in (sep["plain"] or "") and (lowered[:2] == "x-" or lowered in KEY_HEADERS)


def _separates(text: str, start: int, raw: str, before: str, sep: re.Match[str]) -> bool:
    """Whether `sep` sets this name to what follows."""
    if sep["tag"]:
        return before == "<" or text[max(0, start - 5) : start] in ('key="', 'ame="')
    if sep["flag"]:
        return raw.startswith("--") or (raw == "password" and _in_netrc(text, start))
    return not (":" in (sep["plain"] or "") and text[max(0, start - 2) : start] == "${")


def _in_netrc(text: str, start: int) -> bool:
    back = text[max(0, start - 100) : start].split()[-2:]
    return len(back) == 2 and back[0] == "login"


def _in_address(text: str, start: int) -> bool:
    """Whether the parameter at `start` belongs to a URL, not to a form body."""
    back = max(0, start - 512)
    cut = max(text.rfind(c, back, start) for c in " \t\n\"'<>")
    if cut < 0 and back:
        return True
    head = text[max(back, cut + 1) : start]
    return "://" in head or "?" in head


def _quoted_end(text: str, quote: re.Match[str]) -> int:
    """Where the string literal ends: its quote, or the end of the line where that was cut off."""
    mark = quote["quote"]
    if len(mark) > 1:
        end = text.find(mark, quote.end(), quote.end() + 4096)
    else:
        body = _rx(rf"[^{mark}\\\n]{{0,4096}}(?:\\.[^{mark}\\\n]{{0,4096}}){{0,4096}}")
        found = body.match(text, quote.end())
        end = found.end() if found is not None else quote.end()
    if end < 0:
        line = text.find("\n", quote.end(), quote.end() + 4096)
        end = line if line >= 0 else min(len(text), quote.end() + 4096)
    return end


def _stop(sep: re.Match[str], before: str) -> str:
    """The class of characters that an unquoted value is made of, as a regex."""
    if sep["tag"]:
        return r"[^<>\n]"
    return r"[^\s\"'`<>&\\]" if before in ("?", "&") else r"[^\s\"'`<>\\]"


def _bare_end(text: str, at: int, stop: str) -> int:
    """The end of an unquoted value, or of as much of it as decides."""
    if text.startswith(SENTINEL_OPEN, at):
        return text.find("»", at) + 1 or len(text)
    return _trimmed(text, at, _rx(f"{stop}{{0,{_LOOKED_AT}}}").match(text, at))


def _trimmed(text: str, at: int, found: re.Match[str] | None) -> int:
    end = found.end() if found is not None else at
    # The next setting of a connection string is not part of the value.
    if (following := _rx(r";[A-Za-z]\w{0,40}=").search(text, at, end)) is not None:
        end = following.start()
    while end > at and text[end - 1] in ",;)]}":
        end -= 1
    return end


def _form(text: str, end: int, sep: re.Match[str]) -> Form:
    if sep["tag"]:
        return "quoted"
    if sep["flag"] or (sep["plain"] or "").strip() == (sep["plain"] or "") == "=":
        return "env"
    more = _rx(r"[,;.]?[ \t]{1,4}[A-Za-z(=+*%|&?]").match(text, end)
    return "prose" if more is not None else "line"


def _fills_line(text: str, start: int, end: int) -> bool:
    line = text.rfind("\n", max(0, start - 200), start) + 1 or max(0, start - 200)
    head = _rx(r"[ \t]*(?:\d+[|:\-][ \t]*)?(?:export[ \t]+|set[ \t]+|ENV[ \t]+|ARG[ \t]+|-[ \t]+)?")
    tail = _rx(r"[ \t]*(?:#[^\n]{0,200})?(?:\r?\n|\Z)")
    return bool(head.fullmatch(text, line, start) and tail.match(text, end))
