"""What the terminal says to people."""

from typing import Final

MESSAGES: Final = {
    "keeper_lost": "The process that looks after this command was killed; how the command ended "
    "is not known.",
    "keeper_lost_hint": "Check what it has done, then run it again if that is needed.",
    "no_bash": "bash was not found in PATH ({path}); nothing was run.",
    "no_bash_hint": "Install bash, or start Hermes with a PATH that has it.",
    "not_started": "The command could not be started: {reason}. Nothing was run.",
    "no_folder": "{path} is not an existing folder; nothing was run.",
    "no_folder_hint": "Pass an existing folder.",
    "nul": "The command contains a NUL character, which no shell accepts; nothing was run.",
    "nul_hint": "Write it as an escape, for example printf '\\0'.",
}
