"""Finds the values of Kubernetes Secrets, whose keys may be called anything."""

import re
from collections.abc import Iterator
from functools import cache

from hermes.safety.redact_mask import Span, is_masked, whole


@cache
def _rx(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


def secret_manifests(text: str, sentinel: bool) -> Iterator[Span]:
    """The values under `data` and `stringData` of every document that is a Secret."""
    if ":" not in text or "Secret" not in text or "ata" not in text:
        return
    if _rx(r"^[ \t]*+(?:\d+[|:\t\-])?[ \t\-]*kind:[ \t]*[\"']?Secret\b").search(text):
        yield from _yaml(text, sentinel)
    if _rx(r"\"kind\"\s{0,20}:\s{0,20}\"Secret\"").search(text):
        yield from _json(text, sentinel)


def _yaml(text: str, sentinel: bool) -> Iterator[Span]:
    gutter = _rx(r"[ \t]*\d+[|:\t\-]")
    is_kind = _rx(r"[ \t\-]*kind:[ \t]*[\"']?Secret\b")
    document: list[tuple[int, str]] = []
    secret = False
    at = 0
    for line in [*text.split("\n"), "---"]:
        number = gutter.match(line)
        skip = number.end() if number else 0
        body = line[skip:]
        if body.startswith("---"):
            if secret:
                yield from _yaml_data(document, sentinel)
            document, secret = [], False
        else:
            document.append((at + skip, body))
            secret = secret or is_kind.match(body) is not None
        at += len(line) + 1


def _yaml_data(lines: list[tuple[int, str]], sentinel: bool) -> Iterator[Span]:
    opening = _rx(r"([ \t\-]*)(?:data|stringData):[ \t]*$")
    entry = _rx(r"[ \t]*[\"']?[\w.\-]{1,253}[\"']?:[ \t]++[\"']?([^\s\"'#][^\"'\n]*)[\"']?\Z")
    block = _rx(r"[ \t]*+(\S.*)\Z")
    inside: int | None = None
    literal: int | None = None
    for at, whole_line in lines:
        line = whole_line.rstrip(" \t\r")
        depth = len(line) - len(line.lstrip(" \t"))
        if inside is not None and line.strip() and depth <= inside:
            inside = literal = None
        if inside is None:
            if begun := opening.match(line):
                inside = len(begun[1])
            continue
        if literal is not None and depth > literal:
            found = block.match(line)
        else:
            literal = None
            found = entry.match(line)
            if found and found[1][:1] in "|>" and len(found[1]) < 4:
                literal = depth
                continue
        if found and not is_masked(found[1]):
            yield at + found.start(1), at + found.end(1), whole(found[1], sentinel)


def _json(text: str, sentinel: bool) -> Iterator[Span]:
    entry = _rx(r"\s*\"[\w.\-]{1,253}\"\s*:\s*\"((?:[^\"\\\n]|\\.)*+)\"\s*,?")
    for begun in _rx(r"\"(?:data|stringData)\"\s{0,20}:\s{0,20}\{").finditer(text):
        at = begun.end()
        while (found := entry.match(text, at)) is not None:
            at = found.end()
            if found[1] and not is_masked(found[1]):
                yield found.start(1), found.end(1), whole(found[1], sentinel)
