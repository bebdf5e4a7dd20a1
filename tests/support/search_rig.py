"""`search_files` in one session, with ripgrep or without."""

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes.core.clock import SystemClock
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.people import Origin
from hermes.ports.tool import SessionState, ToolContext
from hermes.safety.paths import PathPolicy
from hermes.terminals.local_files import LocalFiles
from hermes.terminals.ripgrep import Ripgrep
from hermes.tools.files.path_locks import PathLocks
from hermes.tools.files.search import SearchFiles


class NoRipgrep(Ripgrep):
    """A machine without ripgrep."""

    program = None  # type: ignore[assignment]


class Search:
    """The tool in one session, with ripgrep (which tests have beside Python) or without."""

    def __init__(
        self,
        folder: Path,
        *,
        ripgrep: bool = True,
        redact: Callable[[str], str] = lambda text: text,
    ) -> None:
        self.folder = folder
        kind = Ripgrep if ripgrep else NoRipgrep
        files = LocalFiles(
            home=None, records=folder.parent / "records", clock=SystemClock(), ripgrep=kind("")
        )
        policy = PathPolicy(home=folder.parent / "hermes", user=folder.parent)
        self.tool = SearchFiles(files, policy, redact, locks=PathLocks())
        self.context = ToolContext(
            session=SessionId("s"),
            turn=TurnId("t"),
            call=CallId("c"),
            origin=Origin(surface="cli"),
            state=SessionState(str(folder)),
        )

    async def __call__(self, pattern: str, *, turn: str = "", **rest: Any) -> dict[str, Any]:
        context = dataclasses.replace(self.context, turn=TurnId(turn or os.urandom(4).hex()))
        output = await self.tool.run({"pattern": pattern, **rest}, context)
        keys: dict[str, Any] = json.loads(output.content)
        assert (output.outcome == "ok") is ("error" not in keys)
        return keys


def write(folder: Path, files: dict[str, str]) -> None:
    """Put `files` below `folder`, by their relative paths."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
