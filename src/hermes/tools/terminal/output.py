"""From the bytes of a command to the text a model reads."""

import re
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from hermes.ports.terminal import SPILL_BYTES, CommandResult
from hermes.tools.files.encoding import sniff

Redact = Callable[[str, str], str]
"""Takes secrets out of an output (first argument) of a command (second)."""

ESCAPES: Final = (
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|[PX^_][^\x1b]*\x1b\\"  # DCS, SOS, PM, APC
    r"|[ -/]+[0-~]|[0-OQ-WYZ\\`-~])"  # character sets, resets
)
"""Escape sequences of ECMA-48 in their 7-bit form. The 8-bit form is not looked for: in UTF-8 text
U+0080 to U+009F are characters like any other."""

FEW, MANY = 2, 8
"""Bytes that are not UTF-8, from which on another encoding is thought of: one of two bytes for a
character, and one of a single byte, which nearly every text could be in."""

LINE: Final = 2_000
"""A cut moves to the end of a line if one is this near."""


class Shown(Struct, frozen=True, kw_only=True):
    """The text for a model; `left_out` of its `characters` are missing in its middle. `encoding`
    names what the output was in if that was not UTF-8."""

    text: str
    characters: int
    left_out: int
    encoding: str = ""


def readable(data: bytes, codec: str = "utf-8") -> str:
    """`data` as text without escape sequences; what is not of `codec` becomes U+FFFD."""
    return re.sub(ESCAPES, "", data.decode(codec, "replace"))


def legacy_codec(data: bytes) -> tuple[str, str]:
    """The codec and the name of the encoding that `data` surely is in; UTF-8 if that is as likely.

    Programs of another locale print GBK or Shift-JIS, whose bytes are lost once they are replaced.
    """
    utf_8 = "utf-8", ""
    odd = data.decode("utf-8", "replace").count("\ufffd")
    if odd < FEW or b"\0" in data:
        return utf_8
    encoding = sniff(data, whole=True)
    if encoding is None or encoding.codec == "utf-8" or encoding.wide:
        return utf_8
    try:
        text = data.decode(encoding.codec)
    except UnicodeDecodeError:
        return utf_8
    foreign = [c for c in text if ord(c) > 0x7F]
    paired = len(foreign) < len([b for b in data if b > 0x7F])
    sure = all(c.isalpha() or ord(c) >= 0x3000 for c in foreign)
    return (encoding.codec, encoding.name) if sure and (paired or odd >= MANY) else utf_8


def cut_head(data: bytes) -> bytes:
    """`data` up to its last whole line if that is near, else up to its last whole character."""
    newline = data.rfind(b"\n") + 1
    if newline and len(data) - newline <= LINE:
        return data[:newline]
    start = len(data)
    while start and len(data) - start < 3 and data[start - 1] & 0xC0 == 0x80:
        start -= 1
    return data[: start - 1] if start and data[start - 1] >= 0xC0 else data[:start]


def cut_tail(data: bytes) -> bytes:
    """`data` from its first whole line if that is near, else from its first whole character."""
    newline = data.find(b"\n", 0, LINE) + 1
    if newline and newline < len(data):
        return data[newline:]
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


def shown(result: CommandResult) -> Shown:
    """The text of `result`, with a notice between head and tail if its middle is missing."""
    codec, name = legacy_codec(result.output_head + result.output_tail)
    if not result.output_tail:
        text = readable(result.output_head, codec).rstrip("\r\n")
        return Shown(text=text, characters=len(text), left_out=0, encoding=name)
    head, tail = cut_head(result.output_head), cut_tail(result.output_tail)
    told = len(head.decode(codec, "replace")) + len(tail.decode(codec, "replace"))
    left_out = max(result.characters - told, 0)
    if result.spill is None:
        rest = "they were not kept"
    elif result.total > SPILL_BYTES:
        rest = f"the first {SPILL_BYTES} bytes of the output are in {result.spill}"
    else:
        rest = f"the whole output is in {result.spill}"
    notice = f"[... {left_out} characters left out; {rest} ...]\n"
    first, last = readable(head, codec), readable(tail, codec).rstrip("\r\n")
    join = "" if first.endswith("\n") else "\n"
    return Shown(
        text=first + join + notice + last,
        characters=result.characters,
        left_out=left_out,
        encoding=name,
    )
