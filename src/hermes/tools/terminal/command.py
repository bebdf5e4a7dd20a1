"""`terminal`: run a shell command and wait for it, or start it beside the conversation.

Names, keys and numbers follow the reference's contract.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

from hermes.core.errors import ToolError
from hermes.core.text import clean
from hermes.ports.checkpoint import ChangeOrigin, Checkpoints, CommandWatch
from hermes.ports.terminal import CommandResult, NoFolder, TerminalBackend
from hermes.ports.tool import Arguments, SessionState, ToolContext, ToolOutput, ToolSpec
from hermes.safety.redact import holds_sentinel
from hermes.system.i18n import t
from hermes.system.tasks import SideTasks
from hermes.tools.terminal.arguments import Unrun, Wanted, wanted
from hermes.tools.terminal.hints import benign, hints, meaning
from hermes.tools.terminal.output import Redact, Shown, shown
from hermes.tools.terminal.progress import Progress
from hermes.tools.terminal.specs import LONGEST, TERMINAL

MASKED: Final = (
    "The command holds the mask of a secret in place of the secret, and would write that; nothing "
    "was run. Name the file or the variable that has the secret, and let the shell read it."
)


class Background(Protocol):
    """Where commands go that are not waited for; `jobs` has them."""

    async def spawn(self, wanted: Wanted, context: ToolContext, cwd: str) -> dict[str, Any]:
        """Start the command; the keys of the answer. Raises ToolError if it cannot be started."""
        ...


def _answer(keys: dict[str, Any], *, fine: bool = False) -> ToolOutput:
    content = json.dumps(keys, ensure_ascii=False)
    return ToolOutput(content=content, outcome="ok" if fine else "failed")


def _unrun(reason: str, status: str = "error") -> ToolOutput:
    return _answer({"output": "", "exit_code": -1, "error": reason, "status": status})


class Terminal:
    """Implements `ports.tool.Tool` over a back end.

    `redact` is given the output and the command. `refusal` says why a command should not be waited
    for, or None. `default_timeout` is seconds. Up to `max_bytes` of output are shown whole.
    """

    def __init__(
        self,
        *,
        backend: TerminalBackend,
        redact: Redact,
        jobs: Background,
        refusal: Callable[[str], str | None],
        checkpoints: Checkpoints | None = None,
        default_timeout: float = 180,
        max_bytes: int = 50_000,
    ) -> None:
        self._backend = backend
        self._redact = redact
        self._jobs = jobs
        self._refusal = refusal
        self._checkpoints = checkpoints
        self._default_timeout = default_timeout
        self._max_bytes = max_bytes

    @property
    def spec(self) -> ToolSpec:
        return TERMINAL

    async def touches(self, arguments: Arguments, state: SessionState) -> tuple[str, ...]:
        """Nobody knows what a command touches."""
        return ()

    def summary(self, arguments: Arguments) -> str:
        """The whole command, and where, if that is not the session's folder."""
        command = str(arguments.get("command", "")).strip()
        workdir = arguments.get("workdir")
        return f"{command}\n(in {workdir})" if workdir else command

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        """Run `arguments["command"]`; see the contract for the keys."""
        try:
            call = wanted(arguments)
        except Unrun as e:
            return _unrun(str(e))
        except ToolError as e:
            return _answer({"error": str(e)})
        if holds_sentinel(call.command):
            return _unrun(MASKED)
        if (call.promoted or not call.background) and (why := self._refusal(call.command)):
            return _unrun(why)
        cwd = _place(call.workdir, context.state.cwd)
        watch = await self._watch(call.command, cwd, context)
        try:
            if call.background:
                keys = await self._jobs.spawn(call, context, cwd)
                return _answer(keys, fine=True)
            return await self._wait(call, cwd, context)
        except NoFolder:
            return _no_folder(cwd)
        except ToolError as e:
            return _unrun(str(e))
        finally:
            if watch is not None:
                await watch.ended()

    async def _wait(self, call: Wanted, cwd: str, context: ToolContext) -> ToolOutput:
        timeout = call.timeout or self._default_timeout
        progress = Progress(lambda text: self._redact(text, call.command), context.progress)

        async def run(*, outside: bool = False) -> CommandResult:
            return await self._backend.run(
                context.session,
                call.command,
                cwd=cwd,
                timeout=timeout,
                limit=self._max_bytes,
                fall_back=not call.workdir,
                sink=progress.add,
                outside=outside,
            )

        async with SideTasks() as beside:
            beside.group.start_soon(progress.run)
            result = await run()
            if result.refused is not None:
                detail = f"{call.command}\n{result.refused}"
                if await context.ask(t("terminal.outside"), detail):
                    result = await run(outside=True)
        return self._report(call, result, context.state, timeout)

    async def _watch(self, command: str, cwd: str, context: ToolContext) -> CommandWatch | None:
        """Capture what the command may change, unless it surely changes nothing."""
        if self._checkpoints is None:
            return None
        origin = ChangeOrigin(
            session=context.session, turn=context.turn, tool=TERMINAL.name, cwd=cwd
        )
        return await self._checkpoints.command(origin, command)

    def _report(
        self, call: Wanted, result: CommandResult, state: SessionState, timeout: float
    ) -> ToolOutput:
        text = shown(result)
        output = self._redact(text.text, call.command)
        if result.timed_out:
            mark = f"[timed out after {timeout:g} s; the command and its children were killed]"
            output = f"{output}\n{mark}" if output else mark
        keys: dict[str, Any] = {
            "output": clean(output),
            "exit_code": result.exit_code,
            "error": None,
        }
        said = [*([result.refused] if result.refused else []), *result.notes]
        if result.moved_to is not None:
            said.append(f"{state.cwd} is gone; the command ran in {result.moved_to}.")
        if text.encoding:
            said.append(f"The output was {text.encoding} and is shown as UTF-8.")
        if result.cwd is None:
            said.append("Its shell left no state: what it exported or changed there is lost.")
        elif not call.workdir and result.cwd != state.cwd:
            state.cwd = result.cwd
            keys["cwd"] = clean(result.cwd)
        if text.left_out:
            keys |= _spilled(text, result)
        if reason := "" if result.timed_out else meaning(call.command, result.exit_code):
            keys["exit_code_meaning"] = reason
        if result.timed_out:
            said.append(f"If it needs longer, pass a timeout of up to {LONGEST}.")
        else:
            said += hints(call.command, result.exit_code, keys["output"])
        if said:
            keys["hint"] = " ".join(said)
        fine = not result.timed_out and benign(call.command, result.exit_code)
        return _answer(keys, fine=fine)


def _place(workdir: str | None, cwd: str) -> str:
    if not workdir or workdir == "~" or workdir.startswith("~/"):
        return workdir or cwd
    return str(Path(cwd) / workdir)


def _no_folder(cwd: str) -> ToolOutput:
    return _answer(
        {
            "output": f"bash: line 1: cd: {cwd}: No such file or directory",
            "exit_code": 126,
            "error": None,
            "hint": "Nothing was run: pass a workdir that is an existing folder, or none.",
        }
    )


def _spilled(text: Shown, result: CommandResult) -> dict[str, Any]:
    """The keys that say where the rest of a long output is."""
    note = f"{text.left_out} of {text.characters} characters in the middle are not shown."
    keys: dict[str, Any] = {"output_total_chars": text.characters}
    if result.spill is None:
        rest = "They could not be kept: run it again with less output."
    else:
        keys["full_output_path"] = result.spill
        rest = "read_file can page through full_output_path."
    keys["truncation_note"] = f"{note} {rest}"
    return keys
