"""Text in the encoding it came in, and back to the very same bytes.

An encoding is decided from a file's first 64 KiB, whole lines of them only, so that neither what
follows nor a character cut by that limit changes the decision. What cannot be decoded stays in the
text as lone surrogates and is written back as it was.
"""

import codecs
import re
import unicodedata
from typing import Final

from msgspec import Struct

# Lone surrogates, which stand for bytes that are no text.
_ODD: Final = re.compile("[\ud800-\udfff]")

# A byte left over at the end of UTF-16: a pair of surrogates that is not joined to one character,
# which no decoding of UTF-16 yields.
_LEFT_OVER: Final = "\udbff"

# Control bytes that text does not hold; BEL, BS, tab, line ends, form feed and ESC it may.
_CONTROLS: Final = bytes([*range(1, 7), *range(0x0E, 0x1B), *range(0x1C, 0x20), 0x7F])

_PLAUSIBLE_CHARS: Final = 4096


class Encoding(Struct, frozen=True, kw_only=True):
    """How bytes stand for text: Python's `codec`, the `name` for people, the `bom` that is kept."""

    codec: str
    name: str
    bom: bytes = b""

    @property
    def wide(self) -> bool:
        """Whether a line's end is more than the byte of a newline: UTF-16 and UTF-32."""
        return self.codec.startswith(("utf-16", "utf-32"))

    def decode(self, data: bytes) -> str:
        """The text of a whole file, without its byte order mark; `encode` gives `data` again.

        Raises UnicodeDecodeError for UTF-32 whose later parts are no characters.
        """
        return self.decode_part(data.removeprefix(self.bom))

    def decode_part(self, data: bytes) -> str:
        """The text of lines of a file, from the middle of which a byte order mark is not taken."""
        if self.codec == "utf-8":
            return data.decode("utf-8", "surrogateescape")
        if self.codec.startswith("utf-32"):
            return data.decode(self.codec, "surrogatepass")
        if self.wide:
            text = data[: len(data) & ~1].decode(self.codec, "surrogatepass")
            return text + _LEFT_OVER + chr(0xDC00 + data[-1]) if len(data) & 1 else text
        text = data.decode(self.codec, "surrogateescape")
        if text.encode(self.codec, "surrogateescape") == data:
            return text
        return "\n".join(_exact(line, self.codec) for line in data.split(b"\n"))

    def encode(self, text: str) -> bytes:
        """The bytes of `text` as a whole file.

        Raises UnicodeEncodeError for a character that this encoding does not have.
        """
        if not self.wide:
            return self.bom + text.encode(self.codec, "surrogateescape")
        left_over = b""
        if len(text) > 1 and text[-2] == _LEFT_OVER and "\udc00" <= text[-1] <= "\udcff":
            text, left_over = text[:-2], bytes([ord(text[-1]) - 0xDC00])
        return self.bom + text.encode(self.codec, "surrogatepass") + left_over


UTF_8: Final = Encoding(codec="utf-8", name="UTF-8")
_UTF_8_BOM: Final = Encoding(codec="utf-8", name="UTF-8 with BOM", bom=codecs.BOM_UTF8)
_WIDE: Final = (
    Encoding(codec="utf-32-le", name="UTF-32 LE", bom=codecs.BOM_UTF32_LE),
    Encoding(codec="utf-32-be", name="UTF-32 BE", bom=codecs.BOM_UTF32_BE),
    Encoding(codec="utf-16-le", name="UTF-16 LE", bom=codecs.BOM_UTF16_LE),
    Encoding(codec="utf-16-be", name="UTF-16 BE", bom=codecs.BOM_UTF16_BE),
)

# What the detector's names (those of the WHATWG Encoding Standard) are to Python where that differs
# in more than spelling: the wider relative that the standard means by them.
_CODECS: Final = {
    "gbk": ("gb18030", "GB18030"),
    "gb18030": ("gb18030", "GB18030"),
    "shift_jis": ("cp932", "Shift-JIS"),
    "euc-kr": ("cp949", "EUC-KR"),
    "big5": ("big5hkscs", "Big5"),
    "windows-874": ("cp874", "Windows-874"),
    "iso-8859-8-i": ("iso8859-8", "ISO-8859-8"),
    "macintosh": ("mac-roman", "Mac Roman"),
    "x-mac-cyrillic": ("mac-cyrillic", "Mac Cyrillic"),
}

# Names of encodings with two bytes a character, which the detector does not mistake for Chinese.
_PAIRED: Final = ("GB", "Big5", "EUC", "Shift", "ISO-2022")


def visible(text: str) -> str:
    """`text` with U+FFFD for each byte that is no text."""
    return text if text.isascii() else _ODD.sub("\ufffd", text)


def sniff(head: bytes, whole: bool) -> Encoding | None:
    """The encoding of a file that begins with `head` and, if `whole`, ends with it.

    None means that it is binary.
    """
    if head.startswith(codecs.BOM_UTF8):
        return None if b"\0" in head or _controls(head) > 0.3 else _UTF_8_BOM
    for encoding in _WIDE:
        if head.startswith(encoding.bom) and _is_wide(encoding, head, whole):
            return encoding
    if b"\0" in head:
        return _without_bom(head, whole)
    if _is_utf8(head, whole):
        return UTF_8 if _controls(head) <= 0.3 else None
    return _legacy(head if whole else _whole_lines(head))


def _controls(data: bytes) -> float:
    """The share of bytes that text does not hold."""
    return 1 - len(data.translate(None, _CONTROLS)) / len(data) if data else 0


def _is_wide(encoding: Encoding, head: bytes, whole: bool) -> bool:
    body = head[len(encoding.bom) :]
    if encoding.codec.startswith("utf-32"):
        if len(body) % 4:
            if whole:
                return False
            body = body[: len(body) & ~3]
        try:
            text = body.decode(encoding.codec)
        except UnicodeDecodeError:
            return False
    else:
        text = body[: len(body) & ~1].decode(encoding.codec, "surrogatepass")
    return _plausible(text)


def _plausible(text: str) -> bool:
    """Whether at most one character in fifty is none that people write."""
    text = text[:_PLAUSIBLE_CHARS]
    if text and "\ud800" <= text[-1] <= "\udbff":
        text = text[:-1]
    strange = sum(
        c not in "\t\n\v\f\r\x07\x08\x1b" and unicodedata.category(c) in ("Cc", "Cn", "Co", "Cs")
        for c in text
    )
    return strange * 50 <= len(text)


def _without_bom(head: bytes, whole: bool) -> Encoding | None:
    """UTF-16, told by its zero bytes, nearly all of which are upper halves of characters."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    if even + odd < 2 or min(even, odd) * 4 > max(even, odd):
        return None
    # ASCII with NUL as a separator also looks so; in UTF-16 nearly every unit has one then.
    if head.isascii() and (min(even, odd) or max(even, odd) * 10 < (len(head) // 2) * 9):
        return None
    which = _WIDE[2] if odd > even else _WIDE[3]
    bare = Encoding(codec=which.codec, name=which.name)
    return bare if _is_wide(bare, head, whole) else None


def _is_utf8(head: bytes, whole: bool) -> bool:
    """Whether more of `head` is UTF-8 beyond ASCII than is none, a cut end left aside."""
    if head.isascii():
        return True
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    text = decoder.decode(head)
    cut = bool(decoder.getstate()[0])
    bad = len(_ODD.findall(text))
    good = sum(not c.isascii() for c in text) - bad if bad or cut else 1
    if good == 0 and bad == 0:
        return not whole
    return good > 0 and good >= bad


def _whole_lines(head: bytes) -> bytes:
    """`head` without what its end may have cut."""
    end = head.rfind(b"\n") + 1
    if end:
        return head[:end]
    return head.rstrip(bytes(range(0x80, 0x100))) or head


def _legacy(sample: bytes) -> Encoding | None:
    if _controls(sample.removesuffix(b"\x1a")) > 0.005:
        return None
    import chardetng_py  # type: ignore[import-untyped]  # lazy: few files are not UTF-8

    name = chardetng_py.detect(sample)
    codec, shown = _CODECS.get(name.lower(), (name, name.replace("windows", "Windows")))
    if not name.startswith(_PAIRED) and _is_common_chinese(sample):
        codec, shown = _CODECS["gbk"]
    # Its second guess where the first one is no text: the detector knows little of kanji alone.
    for pair in ((codec, shown), _CODECS["shift_jis"]):
        encoding = Encoding(codec=pair[0], name=pair[1])
        if _reads_as_text(encoding.decode(sample)):
            return encoding
    return None


def _is_common_chinese(sample: bytes) -> bool:
    """Whether all beyond ASCII are at least two of the 3,755 common characters of GB 2312.

    The detector takes a few such characters for capital letters of a small alphabet.
    """
    runs: list[bytes] = re.findall(rb"[\x80-\xff]+", sample)
    pairs = rb"(?:[\xb0-\xd7][\xa1-\xfe]|[\xa1-\xa3][\xa1-\xfe])+"
    return sum(map(len, runs)) > 3 and all(re.fullmatch(pairs, run) for run in runs)


def _reads_as_text(text: str) -> bool:
    """Whether what is not ASCII are mostly characters, and letters if there is much of it."""
    beyond = [c for c in text if not c.isascii()]
    bad = len(_ODD.findall(text))
    if bad * 10 > len(beyond) * 3:
        return False
    letters = sum(c.isalpha() for c in beyond)
    return len(beyond) * 10 <= len(text) * 3 or letters * 10 >= len(beyond) * 7


def _exact(line: bytes, codec: str) -> str:
    """`line` decoded so that every character stands for just the bytes it will be encoded to.

    Some code pages have two codes for one character; the one that would be lost stays as bytes.
    """
    text = line.decode(codec, "surrogateescape")
    if text.encode(codec, "surrogateescape") == line:
        return text
    chars: list[str] = []
    at = 0
    while at < len(line):
        for size in (1, 2, 3, 4):
            part = line[at : at + size]
            try:
                char = part.decode(codec)
            except UnicodeDecodeError:
                continue
            if char.encode(codec, "surrogateescape") == part:
                chars.append(char)
                at += size
                break
        else:
            byte = line[at]
            chars.append(chr(byte) if byte < 0x80 else chr(0xDC00 + byte))
            at += 1
    return "".join(chars)
