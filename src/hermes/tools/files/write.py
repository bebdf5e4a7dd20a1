"""`write_file`: replace a file whole, and only one that the model knows as it is now.

Keys follow the reference's contract.
"""

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from hermes.core.errors import ToolError
from hermes.ports.files import FileFault, Write
from hermes.ports.tool import Arguments, SessionState, ToolContext, ToolOutput
from hermes.safety.opaque import opaque
from hermes.safety.redact import carries_mask
from hermes.tools.files.checks.checker import Checker
from hermes.tools.files.encoding import UTF_8
from hermes.tools.files.endings import keep_endings
from hermes.tools.files.place import named
from hermes.tools.files.seen import UNCHANGED, UNKNOWN, SeenFiles
from hermes.tools.files.specs import WRITE_FILE
from hermes.tools.files.workspace import (
    TextFile,
    Workspace,
    encoded,
    outside,
    refuse_surrogates,
)

PREVIEW: Final = 2_000
"""Characters of the new content that a person sees before allowing a write."""

BIG: Final = range(20_000, 400_001)
"""Characters of a file for which `patch` is worth a hint, if most lines stayed."""


class WriteFile:
    """See `specs.WRITE_FILE`."""

    spec = WRITE_FILE

    def __init__(self, workspace: Workspace, checker: Checker) -> None:
        self._workspace = workspace
        self._checker = checker

    async def touches(self, arguments: Arguments, state: SessionState) -> tuple[str, ...]:
        return await named(self._workspace.files, arguments.get("path"), state.cwd)

    def summary(self, arguments: Arguments) -> str:
        content = str(arguments.get("content", ""))
        rest = "\n..." if len(content) > PREVIEW else ""
        return f"{arguments.get('path')} ({len(content)} characters):\n{content[:PREVIEW]}{rest}"

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        path = context.touches[0]
        content = arguments.get("content")
        if not isinstance(content, str):
            raise ToolError("content must be a string; nothing was written.")
        policy = self._workspace.policy
        if policy.sensitive(Path(path)) and (why := policy.unwritable(Path(path))):
            raise ToolError(f"{path} was not written: {why}.")
        if why := _display_text(content):
            raise ToolError(f"{path} was not written: {why}")
        async with self._workspace.locks.changing([path]):
            keys = await self._write(path, content, arguments, context)
        failed = "error" in keys
        return ToolOutput(
            content=json.dumps(keys, ensure_ascii=False), outcome="failed" if failed else "ok"
        )

    async def _write(
        self, path: str, content: str, arguments: Arguments, context: ToolContext
    ) -> dict[str, Any]:
        nothing = {"bytes_written": 0, "dirs_created": False, "resolved_path": path}
        seen = context.state.of(SeenFiles)
        try:
            old = await self._current(path, seen)
        except _Stale as e:
            raw = arguments.get("path")
            return {
                "error": str(e),
                "stale_write_blocked": True,
                "path": raw,
                "resolved_path": path,
            }
        except _Refused as e:
            return {"error": str(e)}
        except ToolError as e:
            return nothing | {"error": f"{path} was not written: {e.message}"}
        try:
            text, data = _as_it_was(old, content)
        except ToolError as e:
            return nothing | {"error": f"{path} was not written: {e.message}"}
        before = old.text if old else None
        if why := await self._checker.gate(path, before, text):
            return nothing | {"error": f"{path} was not written: {why}"}
        try:
            made = await self._workspace.commit(
                context,
                self.spec.name,
                [Write(path=path, data=data, expect=old.sha256 if old else None)],
            )
        except FileFault as e:
            return nothing | {"error": f"{path} was not written: {e.reason}."}
        except ToolError as e:
            return nothing | {"error": str(e)}
        seen.note(Path(path), made.written[path])
        keys: dict[str, Any] = {
            "bytes_written": len(data),
            "dirs_created": bool(made.folders),
            "verified": True,
            "lint": await self._checker.lint(path, before, text),
            "resolved_path": path,
            "files_modified": [path],
        }
        if found := await self._checker.diagnostics(
            path, before, text, workspace=context.state.cwd
        ):
            keys["lsp_diagnostics"] = found
        if warning := outside(arguments.get("path"), path, context.state.cwd):
            keys["_warning"] = warning
        if before is not None and _mostly_the_same(before, text):
            keys["hint"] = "Most lines stayed as they were: patch changes a part for less."
        return keys

    async def _current(self, path: str, seen: SeenFiles) -> TextFile | None:
        """The file that would be replaced, None if there is none; raises _Stale if the model does
        not know it as it is now."""
        stat = await self._workspace.files.stat(path)
        if why := opaque(Path(path), exists=stat is not None):
            raise _Refused(f"{path} was not written: {why}.")
        if stat is None:
            return None
        if stat.kind != "file":
            raise _Stale(f"{path} is not a file; nothing was written.")
        if self._workspace.policy.unreadable(Path(path)):
            # Nobody can know it; a person allowed to replace it, as the policy asks for that.
            return await self._workspace.unshown(path)
        if (state := seen.state(Path(path))) != "whole":
            raise _Stale(f"{path} exists, and {UNKNOWN[state]} Nothing was written.")
        file = await self._workspace.text(path)
        if not seen.knows(Path(path), file.sha256):
            raise _Stale(
                f"{path} was changed by somebody else since you last read or wrote it. Nothing "
                "was written: read it again, in full."
            )
        return file


class _Refused(ToolError):
    """A file that is not for text."""


class _Stale(ToolError):
    """The file is not known as it is now."""


def _as_it_was(old: TextFile | None, content: str) -> tuple[str, bytes]:
    """The text as it will be, and its bytes: encoded as the file was, lines that stay as they
    ended. Raises ToolError."""
    if carries_mask(content):
        raise ToolError(
            "the content holds a masked secret, not the secret itself. Leave that part of the "
            "file alone with patch, or let the user edit it."
        )
    refuse_surrogates(content)
    if old is None:
        return content, encoded(UTF_8, content)
    text = content.removeprefix("\ufeff") if old.encoding.bom else content
    text = keep_endings(old.text, text)
    return text, encoded(old.encoding, text)


def _display_text(content: str) -> str | None:
    """Why `content` looks like what a tool showed rather than like a file, or None."""
    if UNCHANGED in content and len(content) <= 2 * len(UNCHANGED):
        return "the content is what read_file said about an unchanged file. Send the text itself."
    if "|" not in content:
        return None
    numbers = [int(number) for number in re.findall(r"^[ \t]*(\d{1,9})\|", content, re.MULTILINE)]
    if len(numbers) < 2 or any(b - a != 1 for a, b in pairwise(numbers)):
        return None
    lines = sum(1 for line in content.split("\n") if line.strip())
    if len(numbers) < 0.6 * lines:
        return None
    return "its lines begin with line numbers, as read_file shows them. Send the text without."


def _mostly_the_same(before: str, after: str) -> bool:
    if len(before) not in BIG or len(after) not in BIG:
        return False
    old, new = Counter(before.split("\n")), Counter(after.split("\n"))
    return (old & new).total() * 10 >= 8 * max(old.total(), new.total())
