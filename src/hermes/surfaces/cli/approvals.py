"""`hermes approvals check`: what a command is, and what would decide about it; it is not run."""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hermes.core.errors import UserError
from hermes.safety.commands.classify import Classification, Classifier
from hermes.surfaces.cli.rules import check_call, decided
from hermes.surfaces.cli.services import Services
from hermes.system.i18n import t


async def check(options: argparse.Namespace, services: Services) -> int:
    """Print one JSON object for the command, or one for each JSON string on a line of stdin.

    A line that is no JSON string is answered with `{"error"}`, and the exit code is 1.
    """
    if options.tool:
        return await check_call(options.tool, options.command or "", services)
    if options.command is None and not options.jsonl:
        raise UserError(t("commands.nothing_given"))
    classifier = Classifier(home=services.home.user, hermes_home=services.home.root)
    settings = services.config().settings
    owned = settings.permissions or settings.approvals.deny or settings.command_allowlist
    cwd = str(Path.cwd())
    status = 0
    for command in _lines() if options.jsonl else [options.command]:
        if command is None:
            status = 1
            told: dict[str, Any] = {"error": t("commands.not_a_string")}
        else:
            told = _told(classifier.classify(command, cwd=cwd))
            # Of many commands only the owner's rules can make a difference that is worth its time.
            if owned or not options.jsonl:
                told |= await decided(command, services)
        print(json.dumps(told, ensure_ascii=True), flush=True)
    return status


def _lines() -> Iterator[str | None]:
    for line in sys.stdin.buffer:
        if line.strip():
            try:
                command = json.loads(line)
            except ValueError:
                command = None
            yield command if isinstance(command, str) else None


def _told(found: Classification) -> dict[str, Any]:
    return {
        "verdict": found.verdict,
        "hardline": found.hardline,
        "dangerous": found.dangerous,
        "families": found.families,
        "reason": found.reason,
        "segments": [
            {
                "text": segment.text,
                "program": segment.program,
                # What is known only when it runs is shown as it is written.
                "words": [word.replace("\0", "") for word in segment.words],
                "wrappers": segment.wrappers,
            }
            for segment in found.segments
        ],
    }
