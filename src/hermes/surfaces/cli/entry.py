"""`hermes` and `hermes chat`: which session, which model, one answer or a conversation."""

import argparse
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from hermes.core.errors import UserError
from hermes.core.ids import SessionId
from hermes.core.people import OWNER
from hermes.surfaces.cli.oneshot import oneshot
from hermes.surfaces.cli.services import RunChoice, Services
from hermes.surfaces.cli.trust import offer, tell
from hermes.system.i18n import t
from hermes.system.lazy import load

USAGE = 2
"""Exit status for a request that cannot be carried out as it stands."""


def choice(options: argparse.Namespace, surface: str) -> RunChoice:
    """The options of a run, as the composition root takes them."""
    return RunChoice(
        surface=surface,
        model=options.model,
        provider=options.provider,
        toolsets=tuple(name.strip() for name in options.toolsets.split(",") if name.strip()),
        yolo=options.yolo,
        read_only=options.read_only,
        max_turns=options.max_turns,
        demo=options.demo,
        accept_hooks=options.accept_hooks,
    )


def chat(options: argparse.Namespace, services: Services) -> Coroutine[Any, Any, int]:
    """A conversation, or one turn for `-z`, `-q` and piped input."""
    if options.oneshot is not None:
        return _once(options, services, options.oneshot, "oneshot")
    if options.query is not None:
        return _once(options, services, options.query, "cli")
    if not sys.stdin.isatty():
        return _once(options, services, "", "cli")
    return _converse(options, services)


async def _once(options: argparse.Namespace, services: Services, text: str, surface: str) -> int:
    text = "\n\n".join(part for part in (text, _piped()) if part.strip())
    if not text:
        raise UserError(t("cli.nothing_to_say"), hint=t("cli.nothing_to_say_hint"))
    run = choice(options, surface)
    if services.route(run) is None:
        raise UserError(t("cli.no_model_oneshot"))
    if not options.safe_mode:
        tell(services)
    return await oneshot(
        text,
        services,
        run,
        session=await _session(options, services),
        usage_file=Path(options.usage_file) if options.usage_file else None,
        quiet=surface == "oneshot",
    )


async def _converse(options: argparse.Namespace, services: Services) -> int:
    run = choice(options, "cli")
    if sys.stdout.isatty() and not options.safe_mode:
        await offer(services)
        if not run.accept_hooks:
            # lazy: few people have hooks, and a one-shot asks nothing
            await load("hermes.surfaces.cli.hooks:offer")(services)
    elif not options.safe_mode:
        tell(services)
    # lazy: the line editor costs 100 ms, and only a conversation needs it
    converse = load("hermes.surfaces.cli.chat:converse")
    status: int = await converse(services, run, session=await _session(options, services))
    return status


async def _session(options: argparse.Namespace, services: Services) -> SessionId | None:
    """The session that `--resume` or `--continue` names; None for a new one."""
    if not options.resume and options.continue_ is None:
        return None
    async with services.store() as store:
        if name := options.resume or options.continue_:
            row = await store.find(OWNER, name)
        else:
            latest = [row for row in await store.list(OWNER, limit=20) if row.source != "tools"]
            if not latest:
                raise UserError(t("cli.nothing_to_continue"))
            row = latest[0]
    if not options.no_restore_cwd:
        _return_to(row.cwd, services)
    return row.id


def _return_to(folder: str, services: Services) -> None:
    """Work where the session worked; its prompt and its tools know that folder."""
    if folder == str(Path.cwd()):
        return
    try:
        os.chdir(folder)
    except OSError as e:
        key, reason = "cli.folder_gone", e.strerror
    else:
        key, reason = "cli.folder", ""
    print(t(key, path=services.home.display(folder), reason=reason), file=sys.stderr)


def _piped() -> str:
    """What was piped in, as text; bytes that are not UTF-8 become U+FFFD."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    return sys.stdin.buffer.read().decode("utf-8", "replace")
