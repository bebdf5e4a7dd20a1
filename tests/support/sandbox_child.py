"""Tries to break out of a sandbox, as whoever runs it: ENGINE LEVEL HOME; prints the outcomes."""

import os
import sys
from pathlib import Path
from typing import Any

import anyio

from hermes.safety.paths import PathPolicy
from hermes.system.config.sections import LocalTerminalSection
from hermes.terminals.sandbox.sandboxes import Sandboxes
from hermes.terminals.sandbox.trial import trial


async def main(engine: str, level: Any, home: str) -> None:
    user = Path(home)
    sandboxes = Sandboxes(
        policy=PathPolicy(home=user / ".hermes", user=user),
        settings=LocalTerminalSection(sandbox=level),
        env={"PATH": os.environ["PATH"] if engine == "bubblewrap" else ""},
        runtime_dir=user / ".hermes/cache/terminal-state",
    )
    assert (await sandboxes.choice()).engine == engine
    # The worst verdict of an attempt comes last.
    for each in sorted(await trial(sandboxes, user / "ws"), key=lambda o: o.verdict, reverse=True):
        print(each.verdict, each.attempt, each.target, each.reason)


anyio.run(main, *sys.argv[1:])
