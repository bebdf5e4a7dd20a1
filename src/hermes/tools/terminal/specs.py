"""What the terminal tools are to models and to the dispatcher; their code is loaded when called."""

import json
from typing import Final

from hermes.core.transcript import ToolSchema
from hermes.ports.tool import ToolSpec

LONGEST: Final = 600
"""Seconds a command may take in the foreground."""

_TERMINAL: Final = ToolSchema(
    name="terminal",
    description=(
        "Run a bash command; stdout and stderr come together. The working folder, exported "
        "variables, functions and aliases last from call to call. There is no input and no "
        "terminal: use flags that avoid prompts. What does not end by itself (a server, a watcher) "
        "goes to the background: look after it with `process`."
    ),
    parameters=json.dumps(
        {
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "background": {
                    "type": "boolean",
                    "description": "return at once, with a session_id for `process`",
                },
                "timeout": {
                    "type": "integer",
                    "description": f"seconds; over {LONGEST} it runs in the background",
                    "minimum": 1,
                },
                "workdir": {"type": "string", "description": "folder for this call only"},
                "pty": {"type": "boolean", "description": "background only: a real terminal"},
                "notify": {
                    "description": "background only: true: tell me when it ends; or texts: tell "
                    "me when a line holds one of them",
                    "anyOf": [
                        {"type": "boolean"},
                        {"type": "array", "items": {"type": "string"}},
                    ],
                },
                "heartbeat": {
                    "type": "integer",
                    "description": "background only: tell me new output every so many seconds",
                    "minimum": 0,
                },
                "persist_on_release": {
                    "type": "boolean",
                    "description": "background only: goes on when Hermes ends",
                },
            },
            "required": ["command"],
        },
        separators=(",", ":"),
        ensure_ascii=False,
    ),
)

ACTIONS: Final = ("list", "poll", "log", "wait", "kill", "write", "submit", "close")

_PROCESS: Final = ToolSchema(
    name="process",
    description=(
        "Look after background commands of `terminal`: list them; poll one; log: its output by "
        "lines; wait for its end; kill it; write input as it is, submit a line of input, close the "
        "input."
    ),
    parameters=json.dumps(
        {
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": list(ACTIONS)},
                "session_id": {"type": "string", "description": "proc_..., all but for list"},
                "data": {"type": "string", "description": "write, submit"},
                "timeout": {"type": "integer", "description": "wait: seconds", "minimum": 1},
                "offset": {"type": "integer", "description": "log: first line, from 0"},
                "limit": {"type": "integer", "description": "log: lines", "minimum": 1},
            },
            "required": ["action"],
        },
        separators=(",", ":"),
        ensure_ascii=False,
    ),
)

TERMINAL: Final = ToolSpec(
    schema=_TERMINAL,
    toolset="terminal",
    effects="world",
    denied={"output": "", "exit_code": -1, "status": "blocked"},
)
PROCESS: Final = ToolSpec(
    schema=_PROCESS, toolset="terminal", effects="world", aliases=("process_manage",)
)
