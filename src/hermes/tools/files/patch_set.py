"""A patch of several files: read, planned, checked and committed as one."""

import hashlib
from functools import partial
from pathlib import Path
from typing import Any, Final

from hermes.core.errors import ToolError
from hermes.ports.files import Change, FileFault, FileKind, Move, Remove, Write
from hermes.ports.tool import ToolContext
from hermes.safety.opaque import opaque
from hermes.safety.redact import carries_mask
from hermes.tools.files import v4a
from hermes.tools.files.checks.checker import Checker
from hermes.tools.files.diffs import unified
from hermes.tools.files.encoding import UTF_8
from hermes.tools.files.place import locate, named
from hermes.tools.files.seen import SeenFiles
from hermes.tools.files.v4a_plan import (
    MoveEntry,
    Planned,
    PlannedChange,
    PlanProblem,
    WriteText,
    plan,
)
from hermes.tools.files.workspace import (
    EDIT_BYTES,
    Redact,
    TextFile,
    Workspace,
    apart,
    encoded,
    refuse_surrogates,
    staleness,
    with_regions,
)

TOOL: Final = "patch"


class PatchSet:
    """Applies V4A patches."""

    def __init__(self, workspace: Workspace, checker: Checker, redact: Redact) -> None:
        self._workspace = workspace
        self._checker = checker
        self._redact = redact

    async def touches(self, patch: str, cwd: str) -> tuple[str, ...]:
        """Every path that the headers name: the file that is meant, and the name itself, which
        may be a link that is moved or deleted. A patch without headers is about the folder."""
        paths: list[str] = []
        for name in v4a.headers(patch):
            paths += await named(self._workspace.files, name, cwd)
        return tuple(dict.fromkeys(paths)) or (cwd,)

    async def apply(self, patch: str, context: ToolContext) -> dict[str, Any]:
        """The keys of the result; nothing is changed unless `success` is true."""
        parsed = v4a.parse(patch)
        if isinstance(parsed, v4a.PatchFault):
            failed = self._failed(parsed)
            if parsed.code == "bad_path":
                raise ToolError(failed["error"])
            return failed
        if carries_mask(patch):
            return _error(
                "masked: a secret is masked in the patch, and the mask is not in the file. Nothing "
                "was changed. Leave that line out of the patch."
            )
        refuse_surrogates(patch)
        async with self._workspace.locks.changing(context.touches):
            reading = _Reading(self._workspace, context.state.cwd)
            planned = await plan(parsed, reading)
            if isinstance(planned, v4a.PatchFault):
                return self._failed(planned)
            if not planned.changes:
                return {"success": True, "no_change": True, "note": " ".join(planned.notes)}
            keys = await self._carry_out(planned, reading, context)
            if len(parsed.operations) == len(planned.modified) == 1 and keys["success"]:
                keys["resolved_path"] = planned.modified[0]
            return keys

    def _failed(self, fault: v4a.PatchFault) -> dict[str, Any]:
        rows = [
            f"- line {p.line}: {p.code}: {with_regions(p.message, p.regions)}"
            for p in fault.problems
        ]
        keys = _error(self._redact("Nothing was changed:\n" + "\n".join(rows)))
        if any(problem.code == "not_found" for problem in fault.problems):
            keys["_hint"] = "Copy the context lines from what read_file shows now."
        return keys

    async def _carry_out(
        self, planned: Planned, reading: "_Reading", context: ToolContext
    ) -> dict[str, Any]:
        changes: list[Change] = []
        problems: list[str] = []
        for planned_change in planned.changes:
            try:
                changes.append(await self._change(planned_change, reading))
            except ToolError as e:
                problems.append(f"- {e.message}")
        if problems:
            return _error("Nothing was changed:\n" + "\n".join(problems))
        seen = context.state.of(SeenFiles)
        stale = [w for file in reading.files.values() if (w := staleness(seen, file))]
        known = {p for p, f in reading.files.items() if seen.knows(Path(p), f.sha256)}
        try:
            made = await self._workspace.commit(context, TOOL, changes)
        except FileFault as e:
            return _error(f"Nothing was changed: {e.path}: {e.reason}.")
        except ToolError as e:
            return _error(str(e))
        for change in changes:
            if isinstance(change, Write) and (change.expect is None or change.path in known):
                seen.note(Path(change.path), made.written[change.path])
        keys = await self._told(planned, reading, context.state.cwd)
        if planned.notes:
            keys["note"] = " ".join(planned.notes)
        if stale:
            keys["_warning"] = " | ".join(stale)
        return keys

    async def _change(self, change: PlannedChange, reading: "_Reading") -> Change:
        """What to commit for `change`; raises ToolError for text that may not be written."""
        if isinstance(change, MoveEntry):
            return Move(source=change.source, target=change.target)
        if not isinstance(change, WriteText):
            return Remove(path=change.path, expect=await reading.digest(change.path))
        path = change.path
        if why := opaque(Path(path), exists=not change.created):
            raise ToolError(f"{path}: {why}.")
        old = reading.files.get(change.like or path)
        if why := await self._checker.gate(path, old.text if old else None, change.text):
            raise ToolError(f"{path}: {why}")
        try:
            data = encoded(old.encoding if old else UTF_8, change.text)
        except ToolError as e:
            raise ToolError(f"{path}: {e.message}") from e
        expect = None if change.created else await reading.digest(path)
        return Write(path=path, data=data, expect=expect, like=change.like)

    async def _told(self, planned: Planned, reading: "_Reading", cwd: str) -> dict[str, Any]:
        """What was done, file by file."""
        diffs: list[str] = []
        lint: dict[str, Any] = {}
        found: list[str] = []
        moved = dict(planned.moved)
        order = {path: place for place, path in enumerate(planned.modified)}
        for change in sorted(planned.changes, key=lambda c: order[_path(c)]):
            old = reading.text_before(change)
            path = _path(change)
            if not isinstance(change, WriteText):
                if path not in moved or isinstance(change, MoveEntry):
                    diffs.append(_line(change, old))
                continue
            if change.like is not None:
                diffs.append(f"# Moved: {change.like} -> {path}")
            work = partial(unified, old, change.text, path=path, was=change.like)
            diffs.append(await apart(work, len(change.text)))
            lint[path] = await self._checker.lint(path, old, change.text)
            if said := await self._checker.diagnostics(path, old, change.text, workspace=cwd):
                found.append(f"{path}:\n{said}")
        keys: dict[str, Any] = {
            "success": True,
            "diff": self._redact("\n".join(diffs)),
            "files_modified": list(planned.modified),
            "files_created": list(planned.created),
            "files_deleted": list(planned.deleted),
            "lint": lint,
        }
        if found:
            keys["lsp_diagnostics"] = "\n".join(found)
        return {key: value for key, value in keys.items() if value or key in ("success", "diff")}


class _Reading:
    """The files of a patch as they are before it; implements `v4a_plan.Reader`."""

    def __init__(self, workspace: Workspace, cwd: str) -> None:
        self._workspace = workspace
        self._cwd = cwd
        self.files: dict[str, TextFile] = {}

    async def locate(self, path: str, *, entry: bool) -> str | PlanProblem:
        try:
            return str(await locate(self._workspace.files, path, self._cwd, entry=entry))
        except ToolError as e:
            return PlanProblem(code="bad_path", message=str(e))

    async def kind(self, path: str) -> FileKind | None:
        stat = await self._workspace.files.stat(path)
        return None if stat is None else stat.kind

    async def text(self, path: str) -> str | PlanProblem:
        try:
            file = self.files[path] = await self._workspace.text(path)
        except ToolError as e:
            return PlanProblem(code="unreadable", message=str(e))
        return file.text

    async def digest(self, path: str) -> bytes | None:
        """sha256 of the file that is changed or removed, None for a link."""
        if path in self.files:
            return self.files[path].sha256
        if await self.kind(path) == "link":
            return None
        if not isinstance(await self.text(path), PlanProblem):
            return self.files[path].sha256
        data, _ = await self._workspace.files.read(path, limit=EDIT_BYTES)
        return hashlib.sha256(data).digest()

    def text_before(self, change: PlannedChange) -> str | None:
        if isinstance(change, MoveEntry):
            return None
        path = (change.like or change.path) if isinstance(change, WriteText) else change.path
        file = self.files.get(path)
        return file.text if file else None


def _path(change: PlannedChange) -> str:
    return change.target if isinstance(change, MoveEntry) else change.path


def _line(change: PlannedChange, old: str | None) -> str:
    """What is said of a change that is no text."""
    if isinstance(change, MoveEntry):
        return f"# Moved: {change.source} -> {change.target}"
    if old is not None:
        return unified(old, None, path=change.path)
    return f"# Deleted: {change.path}"


def _error(message: str) -> dict[str, Any]:
    return {"success": False, "error": message}
