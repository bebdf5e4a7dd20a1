"""`search_files`: lines or names below a folder, sorted here, so that pages hold together.

Keys follow the reference's contract. Order is by path, then line; `order=modified` is newest first.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio

from hermes.core.errors import ToolError
from hermes.core.text import clean
from hermes.ports.files import Files
from hermes.ports.tool import Arguments, SessionState, ToolContext, ToolOutput
from hermes.safety.paths import PathPolicy
from hermes.tools.files import search_page, search_zero
from hermes.tools.files.globs import glob
from hermes.tools.files.path_locks import PathLocks
from hermes.tools.files.place import locate
from hermes.tools.files.read_names import near
from hermes.tools.files.search_content import search
from hermes.tools.files.search_found import Found, Wish
from hermes.tools.files.search_names import Root, Scope, listing
from hermes.tools.files.search_regex import BadPattern, Regex, literal, regex
from hermes.tools.files.search_repeats import Searches
from hermes.tools.files.specs import SEARCH_FILES
from hermes.tools.files.workspace import Redact

SECONDS: Final = 60.0
PROBE_SECONDS: Final = 10.0
CONTEXT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """A call's arguments, read."""

    pattern: str
    target: str
    mode: str
    raw: str
    file_glob: str | None
    limit: int
    offset: int
    order: str
    context: int

    @property
    def key(self) -> str:
        return repr(self)


class SearchFiles:
    """See `specs.SEARCH_FILES`. `redact` masks secrets in what is shown."""

    spec = SEARCH_FILES

    def __init__(
        self, files: Files, policy: PathPolicy, redact: Redact, *, locks: PathLocks
    ) -> None:
        self._files = files
        self._policy = policy
        self._redact = redact
        self._locks = locks

    async def touches(self, arguments: Arguments, state: SessionState) -> tuple[str, ...]:
        raw = _ask(arguments).raw
        return (str(await locate(self._files, raw, state.cwd)),)

    def summary(self, arguments: Arguments) -> str:
        return f"{arguments.get('pattern')} in {arguments.get('path') or '.'}"

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        ask = _ask(arguments)
        if ask.order not in ("discovery", "modified"):
            return _output(_nothing(f"order must be discovery or modified, not {ask.order!r}."))
        roots, skipped = await self._roots(ask.raw, context.state.cwd)
        if isinstance(roots, dict):
            return _output(roots)
        async with self._locks.reading(*(root.real for root in roots)):
            try:
                if ask.target == "files":
                    keys = await self._names(ask, roots)
                else:
                    keys = await self._content(ask, roots)
            except BadPattern as e:
                keys = _nothing(f"{ask.pattern!r} is no regular expression: {e.message}.")
            except ToolError as e:
                keys = _nothing(str(e))
        if skipped:
            keys["warning"] = " ".join([*skipped, *filter(None, [keys.get("warning")])])
        return _output(self._repeated(ask, keys, context))

    def _repeated(self, ask: _Ask, keys: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        if context.nested:
            return keys
        text = json.dumps(keys, sort_keys=True).encode()
        count = context.state.of(Searches).again(context.turn, ask.key, text)
        if count == 3:
            keys["_warning"] = "This is the third time that this search gave just this result."
        if count < 4:
            return keys
        return {
            "error": f"This search has been made {count} times in this turn and gave the same: "
            f"{keys.get('total_count', 0)} in all. Use that, or search for something else.",
            "pattern": ask.pattern,
            "already_searched": count,
            "guardrail_refusal": True,
        }

    async def _roots(self, raw: str, cwd: str) -> tuple[list[Root] | dict[str, Any], list[str]]:
        """The places that `raw` names, or the keys of a refusal; and what was left out of it."""
        names, skipped = [raw], []
        whole = await self._root(raw, cwd)
        if whole is None:
            parts = raw.split(",") if "," in raw else raw.split()
            names = [part.strip() for part in parts if part.strip()]
        roots = [whole] if whole else []
        for name in names if whole is None and len(names) > 1 else ():
            if root := await self._root(name, cwd):
                roots.append(root)
            else:
                skipped.append(f"{name} does not exist and was not searched.")
        if not roots:
            path = await locate(self._files, raw, cwd)
            keys: dict[str, Any] = {"error": f"{path} does not exist."}
            if similar := (await near(self._files, path)).similar:
                keys["similar_files"] = similar
            return keys, []
        if whole is None:
            skipped.insert(0, f"{len(roots)} paths were searched.")
        for root in roots:
            if why := await self._refused(root):
                return {"error": f"{root.path} was not searched: {why}."}, []
        return roots, skipped

    async def _refused(self, root: Root) -> str | None:
        stat = await self._files.stat(root.real)
        if stat is not None and stat.kind not in ("file", "folder"):
            return f"it is a {stat.kind}"
        return self._policy.unreadable(Path(root.real))

    async def _root(self, raw: str, cwd: str) -> Root | None:
        real = str(await locate(self._files, raw, cwd))
        stat = await self._files.stat(real)
        if stat is None:
            return None
        named = await locate(self._files, raw, cwd, entry=True)
        return Root(str(named), real, stat.kind == "folder")

    async def _content(self, ask: _Ask, roots: list[Root]) -> dict[str, Any]:
        scope = self._scope(ask.file_glob, roots)
        notes: list[str] = []
        try:
            found, wish = await self._lines(ask, regex(ask.pattern), roots, scope)
        except BadPattern as e:
            notes.append(f"{ask.pattern!r} is no regular expression; it was taken as text.")
            found, wish = await self._lines(ask, literal(ask.pattern), roots, scope)
            if not found.counts:
                raise BadPattern(e.message) from e
        if wish.regex.spans:
            notes.append("The pattern has a newline in it, so it was matched over lines.")
        found.settle()
        if ask.mode == "files_only":
            keys = search_page.names(sorted(found.counts), ask.offset, ask.limit)
        elif ask.mode == "count":
            keys = search_page.counts(found, ask.offset, ask.limit)
        else:
            keys = search_page.lines(found, ask.offset, ask.limit, ask.context, self._redact)
        notes += found.notes
        if not found.counts and found.complete:
            said = await search_zero.no_lines(self._files, roots, wish, ask.pattern, scope)
            notes += [said] if said else []
        return _finish(keys, notes, found.denied, complete=found.complete)

    async def _lines(
        self, ask: _Ask, pattern: Regex, roots: list[Root], scope: Scope
    ) -> tuple[Found, Wish]:
        counting = ask.mode != "content"
        wish = Wish(regex=pattern, context=0 if counting else ask.context, counting=counting)
        deadline = anyio.current_time() + SECONDS
        return await search(self._files, roots, wish, scope.again(), deadline), wish

    def _scope(self, pattern: str | None, roots: list[Root]) -> Scope:
        return Scope(
            glob=glob(pattern, roots[0].path) if pattern else None,
            unreadable=lambda real: self._policy.unreadable(Path(real)),
        )

    async def _names(self, ask: _Ask, roots: list[Root]) -> dict[str, Any]:
        scope = self._scope(ask.pattern or "*", roots)
        rows: list[tuple[int, str]] = []
        notes: list[str] = []
        complete = True
        denied = 0
        with anyio.move_on_after(SECONDS) as scope_of_time:
            for root in roots:
                if not root.folder:
                    rows.append((0, root.path))
                    continue
                found = await listing(self._files, root, scope, times=ask.order == "modified")
                notes += found.notes
                complete = complete and found.complete
                for below in (*found.files, *found.folders):
                    take = scope.takes(root, below)
                    denied += take == "denied"
                    if take == "yes":
                        rows.append((found.mtimes.get(below, 0), root.inside(below)[0]))
        complete = complete and not scope_of_time.cancelled_caught
        rows.sort(key=lambda row: (-row[0], row[1]) if ask.order == "modified" else row[1:])
        keys = search_page.names([path for _, path in rows], ask.offset, ask.limit)
        if not rows and complete:
            with anyio.move_on_after(PROBE_SECONDS):
                said = await search_zero.no_names(
                    self._files,
                    roots,
                    ask.pattern,
                    lambda pattern: glob(pattern, roots[0].path),
                    scope.unreadable,
                )
                notes += [said] if said else []
        return _finish(keys, notes, denied, complete=complete)


def _finish(
    keys: dict[str, Any], notes: list[str], denied: int, *, complete: bool
) -> dict[str, Any]:
    if not complete:
        keys |= {
            "truncated": True,
            "total_count_is_lower_bound": True,
            "limit_reason": "search_timeout",
        }
    if denied:
        keys["_omitted"] = f"{denied} in files that are not read are left out."
    if notes:
        keys["warning"] = " ".join(_sentence(clean(note)) for note in dict.fromkeys(notes))
    return keys


def _sentence(note: str) -> str:
    return note if note.endswith((".", "!", "?")) else f"{note}."


def _ask(arguments: Mapping[str, Any]) -> _Ask:
    """The arguments as they are meant; raises ToolError for a pattern that is none."""
    pattern = arguments.get("pattern")
    if not isinstance(pattern, str):
        raise ToolError("pattern must be a string.")
    if "\0" in pattern or clean(pattern) != pattern:
        raise ToolError("pattern has a NUL or half a character in it, which no text has.")
    raw = arguments.get("path")
    if not (raw is None or isinstance(raw, str)):
        raise ToolError("path must be a string.")
    target = {"find": "files", "files": "files"}.get(str(arguments.get("target")), "content")
    mode = str(arguments.get("output_mode"))
    file_glob = arguments.get("file_glob")
    if isinstance(file_glob, list) and all(isinstance(each, str) for each in file_glob):
        file_glob = ",".join(file_glob)
    if not (file_glob is None or isinstance(file_glob, str)):
        raise ToolError("file_glob must be a string, like `*.py` or `*.py,*.md`.")
    return _Ask(
        pattern=pattern,
        target=target,
        mode=mode if mode in ("files_only", "count") else "content",
        raw=raw if raw and raw.strip() else ".",
        file_glob=file_glob.strip() if file_glob and file_glob.strip() else None,
        limit=max(1, _whole(arguments.get("limit"), 50)),
        offset=max(0, _whole(arguments.get("offset"), 0)),
        order=str(arguments.get("order") or "discovery"),
        context=min(CONTEXT, max(0, _whole(arguments.get("context"), 0))),
    )


def _whole(value: object, default: int) -> int:
    try:
        return int(value) if isinstance(value, int | float | str) else default
    except (ValueError, OverflowError):
        return default


def _nothing(message: str) -> dict[str, Any]:
    return {"total_count": 0, "error": message}


def _output(keys: dict[str, Any]) -> ToolOutput:
    return ToolOutput(
        content=json.dumps(keys, ensure_ascii=False), outcome="failed" if "error" in keys else "ok"
    )
