"""What stands in the place of a secret."""

import re
from functools import cache
from typing import Final

from hermes.safety.secret_patterns import BARE_KEYS, STRONG_PREFIXES, WEAK_PREFIXES

STARS: Final = "***"
PRIVATE_KEY: Final = "[REDACTED PRIVATE KEY]"
SENTINEL_OPEN: Final = "«redacted:"
SENTINEL_CLOSE: Final = "…»"

Span = tuple[int, int, str]
"""Start and end of a secret in a text, and the mask that replaces it."""


def is_masked(value: str) -> bool:
    """Whether `value` is a mask already, or nothing but dots and stars."""
    if not value.strip("*.•…") or value == PRIVATE_KEY:
        return True
    if value.startswith(SENTINEL_OPEN) and value.find("»") == len(value) - 1:
        return True
    return len(value) == 13 and value[6:9] == "..."


def partial(value: str, sentinel: bool) -> str:
    """The mask of a key: enough of it to tell keys apart, if it is long; a sentinel in files."""
    if is_masked(value):
        return value
    if sentinel:
        return _sentinel(value)
    return STARS if len(value) < 18 else f"{value[:6]}...{value[-4:]}"


def whole(value: str, sentinel: bool) -> str:
    """The mask of a value that shows nothing of it; a sentinel in files."""
    if is_masked(value):
        return value
    return _sentinel(value) if sentinel else STARS


def _sentinel(value: str) -> str:
    known = "secret"
    if value.startswith(_prefixes()):
        known = max((p for p in _prefixes() if value.startswith(p)), key=len)
    return f"{SENTINEL_OPEN}{known}{SENTINEL_CLOSE}"


@cache
def _prefixes() -> tuple[str, ...]:
    return (*STRONG_PREFIXES, *WEAK_PREFIXES, *BARE_KEYS)


@cache
def _mask_pattern() -> re.Pattern[str]:
    # An assignment of stars that fills its line, a masked phone number, a masked address.
    return re.compile(
        r"\w:\*\*\*@|://\*\*\*@|\+\d{1,3}\*{4}\d{2,4}"
        r"|^[ \t]*(?:export[ \t]+)?[A-Za-z0-9_.\-]{0,80}"
        r"(?i:key|token|secret|password|passwd|pass|pwd|pw|auth|credential)s?"
        r"[ \t]*[=:][ \t]*[\"']?\*\*\*[\"']?[ \t]*$",
        re.MULTILINE,
    )


def carries_mask(text: str) -> bool:
    """Whether `text` contains a mask of ours, so that writing it would destroy a secret."""
    if SENTINEL_OPEN in text or PRIVATE_KEY in text:
        return True
    if "..." in text and _carries_partial(text):
        return True
    if "***" not in text:
        return False
    return any(_mask_pattern().search(line) for line in text.split("\n") if "***" in line)


def holds_sentinel(command: str) -> bool:
    """Whether a shell command or a program would write a mask of ours where a secret belongs.

    To a shell, an assignment of stars counts wherever it stands, if the command writes at all.
    """
    if carries_mask(command):
        return True
    if "***" not in command or not _writes().search(command):
        return False
    return _assigned_stars().search(command) is not None


@cache
def _writes() -> re.Pattern[str]:
    return re.compile(r"(?<![0-9&=\-])>(?!&)|\btee\b|\bsed\b[^|;&\n]*[ \t]-[a-zA-Z]*i|\bwrite")


@cache
def _assigned_stars() -> re.Pattern[str]:
    return re.compile(
        r"(?i:key|token|secret|password|passwd|pass|pwd|pw|auth|credential)s?\\?[\"']?"
        r"[ \t]{0,4}[=:][ \t]{0,4}\\?[\"']?\*\*\*(?!\*)"
    )


def _carries_partial(text: str) -> bool:
    """Whether the mask of a key stands in `text`: six characters, three dots, four characters."""
    heads = tuple(prefix[:6] for prefix in _prefixes())
    dots = re.compile(r"\.\.\.(?<![^A-Za-z0-9_.\-]...)(?=[A-Za-z0-9_\-=]{4}(?![A-Za-z0-9_.\-]))")
    return any(
        text[max(0, hit.start() - 6) : hit.start()].startswith(heads) for hit in dots.finditer(text)
    )
