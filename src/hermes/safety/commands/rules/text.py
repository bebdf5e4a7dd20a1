"""Signs in the text itself that a person does not see as the shell does."""

import re
import unicodedata
from typing import Final

_CONTROL: Final = "[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_SEEN: Final = r"[\x20-\x7e\t\n]*"
_INVISIBLE: Final = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ufffd\U000e0000-\U000e007f\U000f0000-\U0010ffff"
    "\ud800-\udfff]"
)
_JOINED: Final = "[\x21-\x7e][\u200c\u200d]|[\u200c\u200d][\x21-\x7e]"
_MIXED: Final = (
    "[A-Za-z][\u0370-\u03ff\u0400-\u052f\u0531-\u0588\u13a0-\u13ff\u2c00-\u2c5f\uab70-\uabbf]"
    "|[\u0370-\u03ff\u0400-\u052f\u0531-\u0588\u13a0-\u13ff\u2c00-\u2c5f\uab70-\uabbf][A-Za-z]"
)


def odd(text: str) -> bool:
    """Whether a text has signs that are not seen, reorder others, or pass for others."""
    if re.fullmatch(_SEEN, text):
        return False
    return any(re.search(p, text) for p in (_CONTROL, _INVISIBLE, _JOINED, _MIXED))


def looks_alike(program: str) -> bool:
    """Whether a program's name has letters that pass for plain ones."""
    if program.isascii():
        return False
    return any(
        unicodedata.normalize("NFKC", c) != c or not (c.isalpha() or c.isascii()) for c in program
    ) or any(
        "CYRILLIC" in unicodedata.name(c, "") or "GREEK" in unicodedata.name(c, "") for c in program
    )
