"""`terminal`: run a shell command and wait for it.

Names, keys and numbers follow the reference's contract. Running in the background is not there
yet; a call that asks for it is told so, and nothing is run.
"""

import json
import math
from pathlib import Path
from typing import Any, Final

from hermes.core.errors import ToolError
from hermes.core.text import clean
from hermes.core.transcript import ToolSchema
from hermes.ports.checkpoint import ChangeOrigin, Checkpoints, CommandWatch
from hermes.ports.terminal import CommandResult, TerminalBackend
from hermes.ports.tool import Arguments, SessionState, ToolContext, ToolOutput, ToolSpec
from hermes.tools.terminal.output import (
    REDACTION,
    Kept,
    Redact,
    Shown,
    benign,
    meaning,
    redact_spill,
    shown,
)

LONGEST: Final = 600
"""Seconds a command may take in the foreground."""

SCHEMA: Final = ToolSchema(
    name="terminal",
    description=(
        "Run a bash command; stdout and stderr come together. The working folder, exported "
        "variables and functions last from call to call. There is no input and no terminal: use "
        "flags that avoid prompts."
    ),
    parameters=json.dumps(
        {
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "timeout": {
                    "type": "integer",
                    "description": f"seconds, at most {LONGEST}",
                    "minimum": 1,
                },
                "workdir": {"type": "string", "description": "folder for this call only"},
            },
            "required": ["command"],
        },
        separators=(",", ":"),
        ensure_ascii=False,
    ),
)

NOT_YET: Final = (
    "background",
    "pty",
    "notify",
    "notify_on_complete",
    "watch_patterns",
    "persist_on_release",
)
"""Arguments of the contract that this version does not serve."""


def _seconds(value: object, default: float) -> float:
    """The timeout that `value` asks for; raises ToolError for none that can be."""
    if value is None:
        return default
    try:
        seconds = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        seconds = math.nan
    if math.isnan(seconds):
        raise ToolError(f"timeout must be a number of seconds, not {value!r}; nothing was run.")
    if seconds <= 0:
        raise ToolError("timeout must be more than 0 seconds; nothing was run.")
    if seconds > LONGEST:
        raise ToolError(
            f"timeout may be at most {LONGEST} seconds; nothing was run. Split the work, or start "
            "it with nohup and & and look at its log later."
        )
    return seconds


def _answer(keys: dict[str, Any], *, fine: bool = False) -> ToolOutput:
    content = json.dumps(keys, ensure_ascii=False)
    return ToolOutput(content=content, outcome="ok" if fine else "failed")


def _unrun(reason: str) -> ToolOutput:
    return _answer({"output": "", "exit_code": -1, "error": reason, "status": "error"})


class Terminal:
    """Implements `ports.tool.Tool` over a back end.

    `redact` is given the output and the command. `default_timeout` is seconds. Up to `max_bytes`
    of output are shown whole; of a longer one, a file keeps what is redacted in `redaction`
    seconds.
    """

    def __init__(
        self,
        *,
        backend: TerminalBackend,
        redact: Redact,
        checkpoints: Checkpoints | None = None,
        default_timeout: float = 180,
        max_bytes: int = 50_000,
        redaction: float = REDACTION,
    ) -> None:
        self._backend = backend
        self._redact = redact
        self._checkpoints = checkpoints
        self._default_timeout = default_timeout
        self._max_bytes = max_bytes
        self._redaction = redaction
        self._spec = ToolSpec(schema=SCHEMA, toolset="terminal", effects="world")

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    async def touches(self, arguments: Arguments, state: SessionState) -> tuple[str, ...]:
        """Nobody knows what a command touches."""
        return ()

    def summary(self, arguments: Arguments) -> str:
        """The whole command, and where, if that is not the session's folder."""
        command = str(arguments.get("command", "")).strip()
        workdir = arguments.get("workdir")
        return f"{command}\n(in {workdir})" if workdir else command

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        """Run `arguments["command"]` and wait for it; see the contract for the keys."""
        command, workdir = arguments.get("command"), arguments.get("workdir")
        if command is None and "code" in arguments:
            return _answer({"error": "terminal takes `command`, a bash command, not `code`."})
        if not isinstance(command, str):
            return _unrun("command must be a string; nothing was run.")
        if asked := [name for name in NOT_YET if arguments.get(name)]:
            return _answer(
                {
                    "error": f"{asked[0]} is not supported yet; nothing was run. Run the command "
                    f"in the foreground with a timeout of up to {LONGEST} seconds."
                }
            )
        if workdir is not None and not isinstance(workdir, str):
            return _unrun("workdir must be a string; nothing was run.")
        try:
            timeout = _seconds(arguments.get("timeout"), self._default_timeout)
        except ToolError as e:
            return _answer({"error": str(e)})
        command = clean(command)
        watch = await self._watch(command, self._place(workdir, context.state.cwd), context)
        try:
            result = await self._backend.run(
                context.session,
                command,
                cwd=self._place(workdir, context.state.cwd),
                timeout=timeout,
                limit=self._max_bytes,
                fall_back=not workdir,
            )
        except ToolError as e:
            return _unrun(str(e))
        finally:
            if watch is not None:
                await watch.ended()
        return await self._report(command, result, context.state, timeout, at=workdir)

    async def _watch(self, command: str, cwd: str, context: ToolContext) -> CommandWatch | None:
        """Capture what the command may change, unless it surely changes nothing."""
        if self._checkpoints is None:
            return None
        origin = ChangeOrigin(
            session=context.session, turn=context.turn, tool=self._spec.name, cwd=cwd
        )
        return await self._checkpoints.command(origin, command)

    def _place(self, workdir: str | None, cwd: str) -> str:
        if not workdir or workdir == "~" or workdir.startswith("~/"):
            return workdir or cwd
        return str(Path(cwd) / clean(workdir))

    async def _report(
        self,
        command: str,
        result: CommandResult,
        state: SessionState,
        timeout: float,
        *,
        at: str | None,
    ) -> ToolOutput:
        kept = await redact_spill(result, command, self._redact, self._redaction)
        text = shown(result, kept)
        output = self._redact(text.text, command)
        if result.timed_out:
            mark = f"[timed out after {timeout:g} s; the command and its children were killed]"
            output = f"{output}\n{mark}" if output else mark
        keys: dict[str, Any] = {
            "output": clean(output),
            "exit_code": result.exit_code,
            "error": None,
        }
        hints = []
        if result.moved_to is not None:
            hints.append(f"{state.cwd} is gone; the command ran in {result.moved_to}.")
        if not at and result.cwd is not None and result.cwd != state.cwd:
            state.cwd = result.cwd
            keys["cwd"] = clean(result.cwd)
        if text.left_out:
            keys["output_total_chars"] = text.characters
            if kept:
                keys["full_output_path"] = kept.path
            keys["truncation_note"] = self._note(text, kept)
        if reason := "" if result.timed_out else meaning(command, result.exit_code):
            keys["exit_code_meaning"] = reason
        if result.timed_out:
            hints.append(f"If it needs longer, pass a timeout of up to {LONGEST}.")
        elif result.exit_code == 127:
            hints.append("A program was not found: check its name, or install it.")
        if hints:
            keys["hint"] = " ".join(hints)
        fine = not result.timed_out and benign(command, result.exit_code)
        return _answer(keys, fine=fine)

    def _note(self, text: Shown, kept: Kept | None) -> str:
        note = f"{text.left_out} of {text.characters} characters in the middle are not shown."
        if kept is None:
            return f"{note} They could not be kept: run it again with less output."
        if kept.held < kept.characters:
            return f"{note} The first {kept.held} characters are in full_output_path."
        return f"{note} All of it is in full_output_path; read_file can page through it."
