"""Where Hermes keeps its files."""

from typing import Final

MESSAGES: Final = {
    "no_home": "Hermes does not know where to keep its files: neither HERMES_HOME nor HOME is set.",
    "no_home_hint": "Set HERMES_HOME to a folder.",
    "is_a_file": "The home of Hermes cannot be used: {path} or a folder above it is a file.",
    "unwritable": "The home of Hermes cannot be written: {path}: {reason}.",
    "no_right": "no permission",
    "home_hint": "Set HERMES_HOME to a folder that you can write to.",
    "bad_profile": "{name} cannot be the name of a profile.",
    "bad_profile_hint": "Use lower-case letters, digits, - and _, at most 64.",
    "no_profile": "There is no profile named {name}.",
    "no_profile_hint": "A profile is a folder: make {path}, or leave the profile out.",
}
