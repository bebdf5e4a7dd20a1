"""Texts of `hermes redact`."""

from typing import Final

MESSAGES: Final = {
    "mode": "what the input is: any text, a file's content, or a command's output",
    "command": "the command that printed the input (with --mode terminal)",
}
