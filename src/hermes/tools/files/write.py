"""`write_file`: replace a file whole, atomically, and only one that the model knows.

Keys follow the reference's contract. Syntax gates and diagnostics come with the file tools' own
issue; `lint` says that nothing was checked.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from hermes.core.errors import ToolError
from hermes.core.transcript import ToolSchema
from hermes.ports.tool import Arguments, SessionState, ToolContext, ToolOutput, ToolSpec
from hermes.safety.paths import PathPolicy
from hermes.safety.redact import carries_mask
from hermes.system.files import write_atomic
from hermes.tools.files.place import locate
from hermes.tools.files.seen import SeenFiles

PREVIEW = 2_000
"""Characters of the new content that a person sees before allowing a write."""

SCHEMA = ToolSchema(
    name="write_file",
    description=(
        "Write a whole text file, creating folders as needed. An existing file must have been "
        "read in full first."
    ),
    parameters=json.dumps(
        {
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["path", "content"],
        },
        separators=(",", ":"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFile:
    """See `SCHEMA`."""

    policy: PathPolicy
    spec = ToolSpec(schema=SCHEMA, toolset="file", effects="writes")

    def touches(self, arguments: Arguments, state: SessionState) -> tuple[str, ...]:
        return (str(locate(arguments.get("path"), state.cwd, self.policy.user)),)

    def summary(self, arguments: Arguments) -> str:
        content = str(arguments.get("content", ""))
        rest = "\n..." if len(content) > PREVIEW else ""
        return f"{arguments.get('path')} ({len(content)} characters):\n{content[:PREVIEW]}{rest}"

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        path = locate(arguments.get("path"), context.state.cwd, self.policy.user)
        content = arguments.get("content")
        if not isinstance(content, str):
            raise ToolError("content must be a string.")
        seen = context.state.of(SeenFiles)
        # Not abandoned on cancel: the rename is either done or not when the turn goes on.
        keys = await anyio.to_thread.run_sync(self._write, path, content, seen)
        return ToolOutput(
            content=json.dumps(keys, ensure_ascii=False),
            outcome="failed" if "error" in keys else "ok",
        )

    def _write(self, path: Path, content: str, seen: SeenFiles) -> dict[str, Any]:
        nothing = {"bytes_written": 0, "dirs_created": False, "resolved_path": str(path)}
        if why := self.policy.unwritable(path):
            return nothing | {"error": f"{path} was not written: {why}."}
        if carries_mask(content):
            return nothing | {
                "error": f"{path} was not written: the content holds a masked secret, not the "
                "secret itself. Leave that part of the file alone, or edit it by other means."
            }
        try:
            data = content.encode()
        except UnicodeEncodeError:
            return nothing | {"error": f"{path} was not written: content has a lone surrogate."}
        if stale := _stale(path, seen):
            return {"error": stale, "stale_write_blocked": True, "path": str(path)}
        created = not path.parent.exists()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, data)
            verified = path.read_bytes() == data
        except OSError as e:
            return nothing | {"error": f"{path} was not written: {e.strerror}."}
        if not verified:
            return nothing | {"error": f"{path} was changed by somebody else while being written."}
        seen.note(path, data)
        return {
            "bytes_written": len(data),
            "dirs_created": created,
            "verified": True,
            "lint": {"status": "skipped", "message": "not checked"},
            "resolved_path": str(path),
            "files_modified": [str(path)],
        }


def _stale(path: Path, seen: SeenFiles) -> str | None:
    """Why the model may not replace what is at `path` now, or None."""
    try:
        if not path.is_file():
            return None if not path.exists() else f"{path} is not a regular file."
        current = path.read_bytes()
    except OSError as e:
        return f"{path} cannot be read before it is replaced: {e.strerror}."
    if seen.knows(path, current):
        return None
    return f"{path} exists and is not known in its present form. Read it in full first."
