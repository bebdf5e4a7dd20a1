"""Reading and writing files."""

from typing import Final

MESSAGES: Final = {
    "not_utf8": "{path} is not UTF-8: byte {byte} at offset {offset} (line {line}).",
    "not_utf8_hint": "Save the file as UTF-8.",
    "locked": "{path} is locked by process {pid}, and still was after {seconds:g} seconds.",
    "locked_by_unknown": "{path} is locked by another process, and still was after {seconds:g} "
    "seconds.",
    "locked_hint": "Try again once that process has finished.",
}
