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
    "appeared": "New since this session began, and not covered by its sandbox: {paths}. Look at "
    "what it holds before anything else runs it.",
    "outside": "Run this one again, outside of the sandbox?",
    "shell_ended": "The shell ended while it started; nothing was run.",
    "shell_silent": "The shell did not start within {seconds} seconds and was ended; nothing was "
    "run.",
    "no_state": "The shell did not tell its state when it started; nothing was run.",
    "no_profile": "The profile files of the shell failed or took more than {seconds} seconds; the "
    "shell was started without them.",
    "no_input": "The process takes no input (any more); nothing was written.",
    "no_input_hint": "Look at its output; start it again if it has ended.",
    "nul": "The command contains a NUL character, which no shell accepts; nothing was run.",
    "nul_hint": "Write it as an escape, for example printf '\\0'.",
}
