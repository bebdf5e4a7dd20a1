"""Why a person is asked before something is written."""

from typing import Final

MESSAGES: Final = {
    "secrets": "files of this name hold secrets",
    "ssh": "it decides how SSH connects",
    "home": "it is in Hermes's own home, and may instruct or start it",
    "runs": "it is run by itself, later, by the shell, git or the desktop",
    "instructions": "it instructs agents that work here",
    "one": "{path}: {reason}",
}
