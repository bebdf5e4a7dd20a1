"""Foreign text made safe for a terminal."""

from typing import Final

_CONTROLS: Final = {
    code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"
}


def printable(text: str) -> str:
    """`text` without control characters, so that no model, file or page can steer the terminal."""
    return text.translate(_CONTROLS)
