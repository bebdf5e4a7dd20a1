"""`patch`: change parts of text files; one place by its text, or several files by a patch.

Keys and modes follow the reference's contract. A failed edit says why in `error`, which begins
with a code of `edits.RefusalCode` where the text itself was the matter.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any, Final

from hermes.core.errors import ToolError
from hermes.ports.files import FileFault, Write
from hermes.ports.tool import Arguments, SessionState, ToolContext, ToolOutput
from hermes.safety.opaque import opaque
from hermes.safety.redact import carries_mask
from hermes.tools.files.checks.checker import Checker
from hermes.tools.files.diffs import unified
from hermes.tools.files.edits import Edit, NoChange, Outcome, Refusal, splice
from hermes.tools.files.matching.find import find_edit
from hermes.tools.files.misses import Misses
from hermes.tools.files.patch_set import PatchSet
from hermes.tools.files.place import named
from hermes.tools.files.read_names import near
from hermes.tools.files.seen import SeenFiles
from hermes.tools.files.specs import PATCH
from hermes.tools.files.workspace import (
    Redact,
    TextFile,
    Workspace,
    apart,
    encoded,
    outside,
    refuse_surrogates,
    staleness,
    with_regions,
)

PREVIEW: Final = 4_000
"""Characters of each text that a person sees before allowing an edit."""


class Patch:
    """See `specs.PATCH`. `redact` masks secrets in the diffs that are shown."""

    spec = PATCH

    def __init__(self, workspace: Workspace, checker: Checker, redact: Redact) -> None:
        self._workspace = workspace
        self._checker = checker
        self._redact = redact
        self._set = PatchSet(workspace, checker, redact)

    async def touches(self, arguments: Arguments, state: SessionState) -> tuple[str, ...]:
        if _mode(arguments) == "patch":
            return await self._set.touches(_text(arguments, "patch"), state.cwd)
        return await named(self._workspace.files, arguments.get("path"), state.cwd)

    def summary(self, arguments: Arguments) -> str:
        if arguments.get("mode") == "patch":
            return _start(str(arguments.get("patch", "")))
        old, new = (str(arguments.get(k, "")) for k in ("old_string", "new_string"))
        return f"{arguments.get('path')}\n- {_start(old)}\n+ {_start(new)}"

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        if _mode(arguments) == "patch":
            keys = await self._set.apply(_text(arguments, "patch"), context)
        else:
            keys = await self._replace(arguments, context)
        return ToolOutput(
            content=json.dumps(keys, ensure_ascii=False),
            outcome="ok" if keys.get("success") else "failed",
        )

    async def _replace(self, arguments: Arguments, context: ToolContext) -> dict[str, Any]:
        raw = arguments.get("path")
        path = context.touches[0]
        old, new = _text(arguments, "old_string"), _text(arguments, "new_string")
        refuse_surrogates(new)
        everywhere = arguments.get("replace_all") is True
        if carries_mask(old) or carries_mask(new):
            return _failed(
                "masked: a secret is masked in what you saw, and the mask is not in the file. "
                f"{path} was not changed. Choose old_string and new_string without that part."
            )
        async with self._workspace.locks.changing([path]):
            if why := opaque(Path(path), exists=True):
                return _failed(f"{path} was not changed: {why}.")
            try:
                file = await self._workspace.text(path)
            except FileFault as e:
                return await self._unreadable(path, e)
            except ToolError as e:
                return _failed(e.message)
            work = partial(_edit, file, old, new, everywhere)
            outcome, after, diff = await apart(work, len(file.data))
            if isinstance(outcome, Edit):
                return await self._written(raw, file, after, outcome, diff, context)
        if isinstance(outcome, NoChange):
            return {"success": True, "no_change": True, "note": outcome.note, "resolved_path": path}
        return self._refused(path, outcome, context)

    async def _written(
        self,
        raw: object,
        file: TextFile,
        after: str,
        edit: Edit,
        diff: str,
        context: ToolContext,
    ) -> dict[str, Any]:
        path, before = file.path, file.text
        seen = context.state.of(SeenFiles)
        stale = staleness(seen, file)
        whole = seen.knows(Path(path), file.sha256)
        if why := await self._checker.gate(path, before, after):
            return _failed(f"{path} was not changed: {why}")
        try:
            data = encoded(file.encoding, after)
            write = Write(path=path, data=data, expect=file.sha256)
            made = await self._workspace.commit(context, self.spec.name, [write])
        except FileFault as e:
            return _failed(f"{path} was not changed: {e.reason}.")
        except ToolError as e:
            return _failed(str(e))
        if whole:
            seen.note(Path(path), made.written[path])
        context.state.of(Misses).clear(path)
        keys: dict[str, Any] = {
            "success": True,
            "diff": self._redact(diff),
            "files_modified": [path],
            "lint": await self._checker.lint(path, before, after),
            "resolved_path": path,
        }
        if found := await self._checker.diagnostics(
            path, before, after, workspace=context.state.cwd
        ):
            keys["lsp_diagnostics"] = found
        if edit.note:
            keys["note"] = edit.note
        if warning := stale or outside(raw, path, context.state.cwd):
            keys["_warning"] = warning
        return keys

    async def _unreadable(self, path: str, problem: FileFault) -> dict[str, Any]:
        if problem.code != "missing":
            return _failed(f"{path} cannot be edited: {problem.reason}.")
        keys = _failed(f"{path} does not exist. write_file makes a new file.")
        if similar := (await near(self._workspace.files, Path(path))).similar:
            keys["similar_files"] = similar
        return keys

    def _refused(self, path: str, refusal: Refusal, context: ToolContext) -> dict[str, Any]:
        keys = _failed(
            f"{refusal.code}: {self._redact(with_regions(refusal.message, refusal.regions))}"
        )
        if refusal.code in ("not_found", "differs"):
            shown = bool(refusal.regions)
            if hint := context.state.of(Misses).hint(path, shown=shown):
                keys["_hint"] = hint
        return keys


def _mode(arguments: Arguments) -> str:
    mode = arguments.get("mode", "replace")
    if mode not in ("replace", "patch"):
        raise ToolError(f"mode must be replace or patch, not {mode!r}; nothing was changed.")
    return str(mode)


def _text(arguments: Arguments, name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        raise ToolError(f"{name} must be a string; nothing was changed.")
    if name == "patch" and not value.strip():
        raise ToolError("patch is empty; nothing was changed.")
    return value


def _edit(file: TextFile, old: str, new: str, everywhere: bool) -> tuple[Outcome, str, str]:
    """What the edit comes to, the text after it, and the difference to show."""
    outcome = find_edit(file.text, old, new, replace_all=everywhere)
    if not isinstance(outcome, Edit):
        return outcome, file.text, ""
    after = splice(file.text, outcome.pieces)
    return outcome, after, unified(file.text, after, path=file.path)


def _failed(message: str) -> dict[str, Any]:
    return {"success": False, "error": message}


def _start(text: str) -> str:
    return text if len(text) <= PREVIEW else f"{text[:PREVIEW]}\n..."
