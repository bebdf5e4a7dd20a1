"""Foreign text made safe for a terminal."""

from typing import Final

_STEERING: Final = frozenset(
    code
    for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
    if chr(code) not in "\n\t"
)
"""C0 and C1 controls, and the bidirectional ones that make a line read other than it is."""

_DROPPED: Final = dict.fromkeys(_STEERING)
_SPELLED: Final = {
    code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _STEERING
}


def printable(text: str) -> str:
    """`text` without control characters, so that no model, file or page can steer the terminal."""
    return text.translate(_DROPPED)


def spelled(text: str) -> str:
    """`text` with its control characters as escapes: for what a person must judge as it is."""
    return text.translate(_SPELLED)
