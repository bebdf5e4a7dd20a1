"""What `execute_code` is to models and to the dispatcher; its code is loaded when called."""

import json
from typing import Final

from hermes.core.transcript import ToolSchema
from hermes.ports.tool import ToolSpec

_SCHEMA: Final = ToolSchema(
    name="execute_code",
    description=(
        "Run Python in a kernel that keeps its variables from call to call. Only what is printed "
        "comes back. `from hermes_tools import read_file, write_file, search_files, patch, "
        "terminal` calls those tools (as far as you have them) and returns their results as dicts: "
        "use it to loop, filter and combine without showing every result."
    ),
    parameters=json.dumps(
        {
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "reset": {"type": "boolean", "description": "begin with a fresh kernel"},
            },
            "required": ["code"],
        },
        separators=(",", ":"),
        ensure_ascii=False,
    ),
)

EXECUTE_CODE: Final = ToolSpec(
    schema=_SCHEMA,
    toolset="code_execution",
    effects="world",
    denied={"status": "error", "tool_calls_made": 0, "duration_seconds": 0},
    refunded=True,
)

CALLABLE: Final = {
    "read_file": ("path", "offset", "limit"),
    "write_file": ("path", "content"),
    "search_files": (
        "pattern",
        "target",
        "path",
        "file_glob",
        "limit",
        "offset",
        "output_mode",
        "context",
    ),
    "patch": ("path", "old_string", "new_string", "replace_all", "mode", "patch"),
    "terminal": ("command", "timeout", "workdir"),
    "web_search": ("query", "limit"),
    "web_extract": ("urls",),
}
"""The tools that code may call, with the names of their positional arguments, as the reference has
them."""
