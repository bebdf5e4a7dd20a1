"""`/rollback`: what `hermes checkpoints` does, from inside a chat."""

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hermes.core.errors import HermesError, UserError
from hermes.surfaces.cli import undo_text
from hermes.surfaces.cli.chat import Chat
from hermes.system.i18n import t

COMMAND: Final = "/rollback restore"
LISTED: Final = 20

_OPTIONS: Final = {
    "list": {"--all"},
    "diff": set[str](),
    "restore": {"--only", "--overwrite", "--dry-run"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the words ask for; `number` is 0 for a list."""

    verb: str
    number: int = 0
    paths: tuple[str, ...] = ()
    options: frozenset[str] = field(default_factory=frozenset)


async def rollback(chat: Chat, words: list[str]) -> None:
    """List checkpoints, show how files differ from one, or bring them back."""
    try:
        wish = parse(" ".join(words))
        lines = await _carry_out(chat, wish)
    except HermesError as e:
        lines = [str(e)]
    chat.say("\n".join(lines))


def parse(text: str) -> Wish:
    """`[list] [--all]`, `diff N [FILE]`, or `[restore] N [FILE ...]` with the verb's options.

    Raises UserError.
    """
    try:
        words = shlex.split(text)
    except ValueError as e:
        raise UserError(t("checkpoints.rollback_use")) from e
    options = frozenset(word for word in words if word.startswith("--"))
    words = [word for word in words if word not in options]
    if not words:
        verb = "list"
    elif words[0].isascii() and words[0].isdigit():
        verb = "restore"
    else:
        verb = words.pop(0)
    if verb not in _OPTIONS or options - _OPTIONS[verb]:
        raise UserError(t("checkpoints.rollback_use"))
    number, *paths = words or ["0"]
    most = {"list": 0, "diff": 1}.get(verb, len(paths))
    numbered = number.isascii() and number.isdigit() and len(number) < 10
    if not numbered or bool(int(number)) == (verb == "list") or len(paths) > most:
        raise UserError(t("checkpoints.rollback_use"))
    return Wish(verb=verb, number=int(number), paths=tuple(paths), options=options)


async def _carry_out(chat: Chat, wish: Wish) -> list[str]:
    async with chat.services.checkpoints() as history:
        root = await history.root(str(Path.cwd()))
        if wish.verb == "list":
            every = "--all" in wish.options
            roots = [row.root for row in await history.workspaces()] if every else [root]
            lines = []
            for one in roots:
                lines += undo_text.listed(one, (await history.checkpoints(one))[:LISTED])
            return lines or [t("checkpoints.none_at_all")]
        if wish.verb == "diff":
            path = wish.paths[0] if wish.paths else ""
            found = await undo_text.diffs(history, root, wish.number, path, chat.services.redact)
            lines = [
                (one["note"] if one["diff"] is None else one["diff"]).rstrip() for one in found
            ]
            return [line for line in lines if line] or [t("checkpoints.no_difference")]
        dry_run = "--dry-run" in wish.options
        done = await history.restore(
            root,
            wish.number,
            paths=wish.paths,
            only="--only" in wish.options,
            overwrite="--overwrite" in wish.options,
            dry_run=dry_run,
        )
        did, not_done = undo_text.restored(done, dry_run=dry_run, command=COMMAND)
        return not_done + did
