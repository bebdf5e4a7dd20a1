"""What models and the loop are told of the file tools: light, as every start needs it."""

import json
from typing import Any, Final

from hermes.core.transcript import ToolSchema
from hermes.ports.tool import Effects, ToolSpec


def _spec(
    name: str,
    effects: Effects,
    description: str,
    properties: dict[str, dict[str, Any]],
    *,
    required: tuple[str, ...] = (),
    result_chars: int = 100_000,
) -> ToolSpec:
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    schema = ToolSchema(
        name=name,
        description=description,
        parameters=json.dumps(parameters, separators=(",", ":")),
    )
    return ToolSpec(schema=schema, toolset="file", effects=effects, result_chars=result_chars)


READ_FILE: Final = _spec(
    "read_file",
    "reads",
    "Read a text file, notebook, Office document or PDF as numbered lines `n|text`. Long ones "
    "come in pages: pass `offset` (first line, from 1) and `limit`.",
    {
        "path": {"type": "string"},
        "offset": {"type": "integer", "minimum": 1, "default": 1},
        "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "default": 2000},
    },
    required=("path",),
    result_chars=1_000_000,
)

WRITE_FILE: Final = _spec(
    "write_file",
    "writes",
    "Write a whole text file, creating folders as needed. An existing file must have been "
    "read in full first; to change part of one, use patch.",
    {
        "path": {"type": "string"},
        "content": {"type": "string"},
    },
    required=("path", "content"),
)

PATCH: Final = _spec(
    "patch",
    "writes",
    "Edit text files. By default, replace old_string (unique in the file, copied as read_file "
    "shows it, without line numbers) by new_string in path; replace_all takes every place. "
    "With mode=patch, pass a V4A patch for several files, which is applied whole or not at "
    "all: `*** Begin Patch`, `*** Update File: p` with hunks (`@@ hint`, then lines led by "
    "space, - or +), `*** Move to: p`, `*** Add File: p`, `*** Delete File: p`, `*** Move "
    "File: a -> b`, `*** End Patch`.",
    {
        "mode": {"type": "string", "enum": ["replace", "patch"], "default": "replace"},
        "path": {"type": "string"},
        "old_string": {"type": "string"},
        "new_string": {"type": "string"},
        "replace_all": {"type": "boolean", "default": False},
        "patch": {"type": "string"},
    },
)

SEARCH_FILES: Final = _spec(
    "search_files",
    "reads",
    "Search file contents by regular expression, or file names by glob (target=files). "
    "Results are sorted and come in pages; total_count counts all of them. Hidden and ignored "
    "files are searched only if a glob or path names them.",
    {
        "pattern": {"type": "string"},
        "target": {"type": "string", "enum": ["content", "files"], "default": "content"},
        "path": {"type": "string", "default": "."},
        "file_glob": {"type": "string"},
        "limit": {"type": "integer", "default": 50},
        "offset": {"type": "integer", "default": 0},
        "order": {"type": "string", "enum": ["discovery", "modified"]},
        "output_mode": {"type": "string", "enum": ["content", "files_only", "count"]},
        "context": {"type": "integer", "default": 0},
    },
    required=("pattern",),
)
