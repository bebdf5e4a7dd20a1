"""`read_file` over the files of this machine, in one session in one folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes.core.clock import SystemClock
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.people import Origin
from hermes.ports.tool import SessionState, ToolContext
from hermes.safety.paths import PathPolicy
from hermes.safety.redact import Redactor
from hermes.terminals.local_files import LocalFiles
from hermes.terminals.ripgrep import Ripgrep
from hermes.tools.files.path_locks import PathLocks
from hermes.tools.files.read import ReadFile
from hermes.tools.files.seen import SeenFiles


def _redact(text: str) -> str:
    return Redactor().redact(text, "file")


class Reader:
    """Call it as a model would; `turn` is the turn that its calls belong to."""

    def __init__(
        self,
        folder: Path,
        *,
        confine: Path | None = None,
        redact: Callable[[str], str] = _redact,
        max_chars: int = 100_000,
        max_line: int = 2_000,
    ) -> None:
        self.folder = folder
        self.turn = "t1"
        self.state = SessionState(str(folder))
        self.files = LocalFiles(
            home=str(folder.parent),
            records=folder.parent / "records",
            clock=SystemClock(),
            ripgrep=Ripgrep(path=""),
        )
        self.tool = ReadFile(
            self.files,
            PathPolicy(home=folder.parent / "home", user=folder.parent, confine=confine),
            redact,
            locks=PathLocks(),
            max_lines=2000,
            max_line=max_line,
            max_chars=max_chars,
        )

    async def __call__(self, path: Any, **arguments: Any) -> dict[str, Any]:
        context = ToolContext(
            session=SessionId("s"),
            turn=TurnId(self.turn),
            call=CallId("c"),
            origin=Origin(surface="cli"),
            state=self.state,
        )
        output = await self.tool.run({"path": path} | arguments, context)
        keys: dict[str, Any] = json.loads(output.content)
        assert (output.outcome == "ok") is not ("error" in keys or keys.get("success") is False)
        return keys

    def put(self, name: str, content: bytes | str) -> Path:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def known(self, name: str) -> str:
        return self.state.of(SeenFiles).state(self.folder / name)
