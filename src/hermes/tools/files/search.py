"""`search_files`: lines or names below a folder, sorted here, so that pages hold together.

Keys follow the reference's contract. Order is by path, then line; `order=modified` is newest first.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import anyio

from hermes.core.errors import ToolError
from hermes.core.text import clean
from hermes.ports.files import Files
from hermes.ports.tool import Arguments, SessionState, ToolContext, ToolOutput
from hermes.safety.paths import PathPolicy
from hermes.tools.files.globs import glob
from hermes.tools.files.path_locks import PathLocks
from hermes.tools.files.place import locate
from hermes.tools.files.read_names import near
from hermes.tools.files.search_content import BadPattern, Found, Row, Wish, probes, search
from hermes.tools.files.search_names import listing
from hermes.tools.files.search_repeats import Searches
from hermes.tools.files.search_show import masked_lines, window
from hermes.tools.files.specs import SEARCH_FILES
from hermes.tools.files.workspace import Redact

SECONDS: Final = 60.0
PROBE_SECONDS: Final = 10.0
INLINE: Final = 5
"""From this many rows on, matches come as text."""

FORMAT: Final = "path, then its lines as `  number: text`; `  number- text` is context"


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


@dataclass(frozen=True, slots=True)
class _Root:
    """Where to search: `path` as it is shown, `real` its canonical form."""

    path: str
    real: Path


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
        async with self._locks.reading(*(str(root.real) for root in roots)):
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

    async def _roots(self, raw: str, cwd: str) -> tuple[list[_Root] | dict[str, Any], list[str]]:
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
            why = self._policy.unreadable(root.real)
            stat = await self._files.stat(str(root.real))
            if stat is not None and stat.kind not in ("file", "folder"):
                why = f"it is a {stat.kind}"
            if why:
                return {"error": f"{root.path} was not searched: {why}."}, []
        return roots, skipped

    async def _root(self, raw: str, cwd: str) -> _Root | None:
        real = await locate(self._files, raw, cwd)
        if await self._files.stat(str(real)) is None:
            return None
        named = await locate(self._files, raw, cwd, entry=True)
        return _Root(str(named), real)

    async def _content(self, ask: _Ask, roots: list[_Root]) -> dict[str, Any]:
        wish = Wish(
            pattern=ask.pattern,
            glob=glob(ask.file_glob) if ask.file_glob else None,
            context=ask.context,
        )
        notes: list[str] = []
        if wish.multiline:
            notes.append("The pattern has a newline in it, so it was matched over lines.")
        deadline = anyio.current_time() + SECONDS
        try:
            found = await self._search(roots, wish, deadline)
        except BadPattern as e:
            wish = replace(wish, literal=True)
            notes.append(f"{ask.pattern!r} is no regular expression; it was taken as text.")
            found = await self._search(roots, wish, deadline)
            if not found.counts:
                raise BadPattern(e.message) from e
        omitted = self._drop_hidden(found, roots)
        found.rows.sort()
        total = found.counts.total()
        keys = self._shown(ask, found)
        notes += list(dict.fromkeys(found.notes))
        if total == 0 and found.complete:
            until = anyio.current_time() + PROBE_SECONDS
            said = await probes(
                self._files,
                [root.path for root in roots],
                wish,
                until,
                lambda path: not self._denied(path, roots),
            )
            notes += [said] if said else []
        return _finish(keys, notes, omitted, complete=found.complete)

    async def _search(self, roots: list[_Root], wish: Wish, deadline: float) -> Found:
        found = Found()
        for root in roots:
            await search(self._files, root.path, wish, found, deadline)
        return found

    def _drop_hidden(self, found: Found, roots: list[_Root]) -> int:
        """Take out what may not be read; how many hits that were."""
        denied = {path for path in found.counts if self._denied(path, roots)}
        found.rows = [row for row in found.rows if row.path not in denied]
        return sum(found.counts.pop(path) for path in denied)

    def _denied(self, path: str, roots: list[_Root]) -> bool:
        for root in roots:
            if path == root.path or path.startswith(root.path.rstrip("/") + "/"):
                inside = path[len(root.path) :].strip("/")
                real = root.real / inside if inside else root.real
                return self._policy.unreadable(real) is not None
        return self._policy.unreadable(Path(path)) is not None

    def _shown(self, ask: _Ask, found: Found) -> dict[str, Any]:
        """The page, and whether there is more."""
        end = ask.offset + ask.limit
        paths = sorted(found.counts)
        if ask.mode == "files_only":
            return _page("files", [clean(p) for p in paths], ask)
        if ask.mode == "count":
            keys = _page("files", paths, ask)
            page = keys.pop("files", [])
            keys["total_count"] = found.counts.total()
            if page:
                keys["counts"] = {clean(path): found.counts[path] for path in page}
            return keys
        hits = [n for n, row in enumerate(found.rows) if row.hit]
        total = found.counts.total()
        keys = {"total_count": total}
        if page_hits := hits[ask.offset : end]:
            first, last = page_hits[0], page_hits[-1]
            rows = _with_context(found.rows, first, last, ask.context)
            keys |= self._rows(rows)
        if total > end:
            keys |= _more(total, end)
        return keys

    def _rows(self, rows: list[Row]) -> dict[str, Any]:
        texts = masked_lines([row.text for row in rows], self._redact)
        shown = [window(text, row.at) for text, row in zip(texts, rows, strict=True)]
        if len(rows) < INLINE:
            matches = []
            for row, text in zip(rows, shown, strict=True):
                one = {"path": clean(row.path), "line": row.line, "content": text}
                matches.append(one if row.hit else one | {"context": True})
            return {"matches": matches}
        lines: list[str] = []
        path = None
        for row, text in zip(rows, shown, strict=True):
            if row.path != path:
                path = row.path
                lines.append(clean(path))
            lines.append(f"  {row.line}{':' if row.hit else '-'} {text}")
        return {"matches_format": FORMAT, "matches_text": "\n".join(lines)}

    async def _names(self, ask: _Ask, roots: list[_Root]) -> dict[str, Any]:
        wanted = glob(ask.pattern)
        rows: list[tuple[int, str]] = []
        notes: list[str] = []
        complete = True
        omitted = 0
        for root in roots:
            stat = await self._files.stat(str(root.real))
            if stat is None or stat.kind != "folder":
                rows.append((0, root.path))
                continue
            with anyio.fail_after(SECONDS):
                found = await listing(self._files, str(root.real), wanted)
            notes += found.notes
            complete = complete and found.complete
            for path, entry in found.entries:
                if entry.kind not in ("file", "folder") or not wanted.match(path):
                    continue
                if self._policy.unreadable(root.real / path):
                    omitted += 1
                else:
                    rows.append((entry.mtime, f"{root.path.rstrip('/')}/{path}"))
        rows.sort(key=lambda row: (-row[0], row[1]) if ask.order == "modified" else row[1:])
        keys = _page("files", [clean(path) for _, path in rows], ask)
        return _finish(keys, notes, omitted, complete=complete)


def _with_context(rows: list[Row], first: int, last: int, context: int) -> list[Row]:
    """The rows from one hit to another, with the lines around both."""
    while context and first > 0 and not rows[first - 1].hit:
        if rows[first - 1].path != rows[first].path or rows[first - 1].line < rows[first].line - 1:
            break
        first -= 1
    while last + 1 < len(rows) and not rows[last + 1].hit:
        if rows[last + 1].path != rows[last].path or rows[last + 1].line > rows[last].line + 1:
            break
        last += 1
    return rows[first : last + 1]


def _page(name: str, items: list[str], ask: _Ask) -> dict[str, Any]:
    end = ask.offset + ask.limit
    keys: dict[str, Any] = {"total_count": len(items)}
    if page := items[ask.offset : end]:
        keys[name] = page
    if len(items) > end:
        keys |= _more(len(items), end)
    return keys


def _more(total: int, end: int) -> dict[str, Any]:
    return {"truncated": True, "_hint": f"{total - end} more: go on with offset {end}."}


def _finish(
    keys: dict[str, Any], notes: list[str], omitted: int, *, complete: bool
) -> dict[str, Any]:
    if not complete:
        keys |= {
            "truncated": True,
            "total_count_is_lower_bound": True,
            "limit_reason": "search_timeout",
        }
    if omitted:
        keys["_omitted"] = f"{omitted} in files that are not read are left out."
    if notes:
        keys["warning"] = " ".join(map(clean, notes))
    return keys


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
    return _Ask(
        pattern=pattern,
        target=target,
        mode=mode if mode in ("files_only", "count") else "content",
        raw=raw if raw and raw.strip() else ".",
        file_glob=file_glob if isinstance(file_glob, str) and file_glob else None,
        limit=max(1, _whole(arguments.get("limit"), 50)),
        offset=max(0, _whole(arguments.get("offset"), 0)),
        order=str(arguments.get("order") or "discovery"),
        context=max(0, _whole(arguments.get("context"), 0)),
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
