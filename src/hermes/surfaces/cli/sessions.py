"""`hermes sessions`: earlier conversations, listed, shown, exported, renamed, deleted."""

import argparse
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from hermes.core.errors import UserError
from hermes.core.people import OWNER
from hermes.ports.store import SessionRow, SessionStore
from hermes.surfaces.cli import transcript
from hermes.surfaces.cli.services import Services
from hermes.surfaces.kit.columns import columns, shortened
from hermes.surfaces.kit.plain import printable
from hermes.surfaces.kit.stdin import input_lines
from hermes.system.files import write_atomic
from hermes.system.i18n import t

MOST: Final = 1_000_000_000
TITLE_COLUMNS: Final = 60
TOOLS: Final = "tools"
"""The source of sessions that `hermes tools call` makes; a list leaves them out."""


async def list_(options: argparse.Namespace, services: Services) -> int:
    """Print the sessions that were used last."""
    if options.limit < 1:
        raise UserError(t("verbs.bad_limit", value=options.limit), hint=t("verbs.bad_limit_hint"))
    async with services.store() as store:
        rows = await _rows(store, options.source, min(options.limit, MOST))
    if options.json:
        listed = [transcript.plain(row, services.redact) for row in rows]
        print(json.dumps(listed, indent=2))
        return 0
    if not rows:
        print(t("verbs.no_sessions"))
        return 0
    where = transcript.zone(services.config().settings.timezone)
    table = [t("verbs.sessions_head").split("|")]
    for row in rows:
        name = shortened(printable(services.redact(row.title or row.preview)), TITLE_COLUMNS)
        active = transcript.moment(row.active_at, where)
        table.append([row.id, active, printable(row.source), str(row.entries), name])
    print("\n".join(columns(table, right={3})))
    return 0


async def show(options: argparse.Namespace, services: Services) -> int:
    """Print one conversation for reading."""
    async with services.store() as store:
        row = await store.find(OWNER, options.session)
        entries = [receipt.value async for receipt in store.read(row.id)]
    where = transcript.zone(services.config().settings.timezone)
    values = {
        "id": row.id,
        "source": row.source,
        "model": row.model,
        "cwd": services.home.display(row.cwd),
        "started": transcript.moment(row.started_at, where),
        "input": row.input_tokens,
        "output": row.output_tokens,
        "cost": t("cli.cost_unknown") if row.cost_usd is None else f"${row.cost_usd:.4f}",
    }
    if row.title:
        print(printable(services.redact(row.title)))
    print(printable(t("verbs.session_head", **values)), end="\n\n")
    for line in transcript.readable(entries, where, services.redact):
        print(line)
    return 0


async def export(options: argparse.Namespace, services: Services) -> int:
    """Write one or all sessions, the oldest first."""
    pieces: list[bytes] = []
    count = 0
    async with services.store() as store:
        if options.session_id:
            rows = [await store.find(OWNER, options.session_id)]
        else:
            rows = [*reversed(await store.list(OWNER, limit=MOST))]
        for row in rows:
            async for line in _exported(options, services, store, row):
                data = line.encode("utf-8", "replace") + b"\n"
                if options.output == "-":
                    sys.stdout.buffer.write(data)
                else:
                    pieces.append(data)
            count += 1
    sys.stdout.flush()
    if options.output != "-":
        _write(options.output, b"".join(pieces))
        print(t("verbs.exported", count=count, path=options.output), file=sys.stderr)
    return 0


async def rename(options: argparse.Namespace, services: Services) -> int:
    """Give a session a title."""
    title = " ".join(" ".join(options.title).split())
    if not title:
        raise UserError(t("verbs.no_title"), hint=t("verbs.no_title_hint"))
    async with services.store() as store:
        row = await store.find(OWNER, options.session)
        await store.rename(row.id, title)
    print(printable(t("verbs.renamed", id=row.id, title=title)))
    return 0


async def delete(options: argparse.Namespace, services: Services) -> int:
    """Remove a session, once a person has said yes or `-y` has."""
    async with services.store() as store:
        row = await store.find(OWNER, options.session)
        name = shortened(printable(services.redact(row.title or row.preview)), TITLE_COLUMNS)
        values = {"id": row.id, "name": name, "count": row.entries}
        if not options.yes:
            if not sys.stdin.isatty():
                raise UserError(t("verbs.not_asked", **values), hint=t("verbs.not_asked_hint"))
            print(t("verbs.ask_delete", **values), end=" ", file=sys.stderr, flush=True)
            if (await _line()).strip().casefold() not in ("y", "yes"):
                print(t("verbs.kept"), file=sys.stderr)
                return 1
        await store.delete(row.id)
    print(t("verbs.deleted", **values))
    return 0


async def _rows(store: SessionStore, source: str, limit: int) -> list[SessionRow]:
    if source:
        return [*await store.list(OWNER, source=source, limit=limit)]
    size = limit
    while True:
        rows = await store.list(OWNER, limit=size)
        kept = [row for row in rows if row.source != TOOLS]
        if len(kept) >= limit or len(rows) < size:
            return kept[:limit]
        size *= 4


async def _exported(
    options: argparse.Namespace, services: Services, store: SessionStore, row: SessionRow
) -> AsyncIterator[str]:
    mask = str if options.no_redact else services.redact
    if options.format == "jsonl":
        async for receipt in store.read(row.id):
            yield transcript.as_json(row, receipt, mask)
        return
    where = transcript.zone(services.config().settings.timezone)
    entries = [receipt.value async for receipt in store.read(row.id)]
    for line in transcript.markdown(row, entries, where, mask):
        yield line


def _write(name: str, data: bytes) -> None:
    path = Path(name).expanduser()
    try:
        write_atomic(path, data, mode=None if path.exists() else 0o600)
    except OSError as e:
        raise UserError(
            t("verbs.not_written", path=path, reason=e.strerror or e),
            hint=t("verbs.not_written_hint"),
        ) from e


async def _line() -> str:
    async for line in input_lines():
        return line.decode("utf-8", "replace")
    return ""
