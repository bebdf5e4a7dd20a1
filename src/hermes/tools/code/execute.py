"""`execute_code`: run Python in the session's kernel.

Names, keys and numbers follow the reference's contract.
"""

import json
import os
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import anyio

from hermes.core.clock import Clock
from hermes.core.errors import ToolError
from hermes.core.text import clean
from hermes.ports.tool import Arguments, SessionState, ToolContext, ToolOutput, ToolSpec
from hermes.safety.redact import holds_sentinel
from hermes.system.capture import Capture
from hermes.tools.code.kernel import Cell, Kernel
from hermes.tools.code.kernels import Kernels
from hermes.tools.code.specs import CALLABLE, EXECUTE_CODE
from hermes.tools.terminal.output import cut_head, cut_tail, readable

STDOUT, STDERR = 50_000, 10_000
"""Bytes of output that are shown."""

SPILL_BYTES: Final = 5_000_000
KEPT_DAYS: Final = 7

ERRORS_FOLLOW: Final = "--- stderr ---\n"


MASKED: Final = (
    "The code holds the mask of a secret in place of the secret; nothing was run. Name the file or "
    "the variable that has the secret, and let the code read it."
)


class ExecuteCode:
    """Implements `ports.tool.Tool`.

    `redact` takes secrets out of the output. `timeout` is the seconds that code and the tools it
    calls may take together, `most_calls` how many it may call.
    """

    def __init__(
        self,
        kernels: Kernels,
        redact: Callable[[str], str],
        *,
        spill_folder: Path,
        clock: Clock,
        timeout: float = 300,
        most_calls: int = 50,
    ) -> None:
        self._kernels = kernels
        self._redact = redact
        self._spill_folder = spill_folder
        self._clock = clock
        self._timeout = timeout
        self._most_calls = most_calls

    @property
    def spec(self) -> ToolSpec:
        return EXECUTE_CODE

    async def touches(self, arguments: Arguments, state: SessionState) -> tuple[str, ...]:
        """Nobody knows what code touches."""
        return ()

    def summary(self, arguments: Arguments) -> str:
        """The whole code."""
        return str(arguments.get("code", "")).strip()

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        """Run `arguments["code"]`; see the contract for the keys."""
        code = arguments.get("code")
        if not isinstance(code, str):
            return _answer({"error": "execute_code takes `code`, Python as a text."})
        if not code.strip():
            return _answer({"error": "code is empty; nothing was run."})
        if holds_sentinel(code):
            return _answer({"status": "error", "error": MASKED, "tool_calls_made": 0})
        reset = arguments.get("reset") or False
        if not isinstance(reset, bool):
            return _answer({"error": "reset must be true or false; nothing was run."})
        try:
            kernel = await self._kernels.get(context.session, context.state.cwd, reset=reset)
        except ToolError as e:
            return _answer({"status": "error", "error": str(e), "tool_calls_made": 0})
        run = _Run(self, kernel, context, reset=reset)
        return await run.answer(code)

    def open_spill(self) -> tuple[int, Path]:
        """A new private file for a long output; those of long ago are removed."""
        self._spill_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        oldest = self._clock.now() - KEPT_DAYS * 86_400
        for old in self._spill_folder.glob("stdout-*.txt"):
            if old.stat().st_mtime < oldest:
                old.unlink(missing_ok=True)
        path = self._spill_folder / f"stdout-{secrets.token_hex(6)}.txt"
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), path

    def shown(self, text: str) -> str:
        """`text` without secrets."""
        return clean(self._redact(text))

    @property
    def limits(self) -> tuple[float, int]:
        """Seconds, and tool calls."""
        return self._timeout, self._most_calls


class _Run:
    """One piece of code on its way."""

    def __init__(
        self, tool: ExecuteCode, kernel: Kernel, context: ToolContext, *, reset: bool
    ) -> None:
        self._tool = tool
        self._kernel = kernel
        self._context = context
        self._reset = reset
        self._reused = kernel.cells > 0
        self._out = Capture(STDOUT, tool.open_spill, SPILL_BYTES)
        self._err = bytearray()
        self._calls = 0
        self._failed: list[str] = []
        self._tools = {name: names for name, names in CALLABLE.items() if name in context.offered}

    async def answer(self, code: str) -> ToolOutput:
        timeout, _ = self._tool.limits
        begun = time.monotonic()
        cell: Cell | None = None
        try:
            with anyio.move_on_after(timeout):
                cell = await self._kernel.run(
                    code,
                    tools=self._tools,
                    out=self._out.add,
                    err=self._add_error,
                    on_call=self._call,
                )
        except BaseException:
            await self._kernel.end()
            self._out.discard()
            raise
        if cell is None:
            await self._kernel.end()
        return self._report(cell, time.monotonic() - begun)

    def _add_error(self, data: bytes) -> None:
        self._err += data
        del self._err[: -4 * STDERR]

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        _, most = self._tool.limits
        if self._calls >= most:
            result = json.dumps({"error": f"The limit of {most} tool calls is reached."})
        elif name not in self._tools:
            result = json.dumps({"error": f"{name} cannot be called from code."})
        else:
            self._calls += 1
            result = await self._context.call_tool(name, arguments)
        if _is_failure(result):
            self._failed.append(name)
        return result

    def _report(self, cell: Cell | None, seconds: float) -> ToolOutput:
        head, tail = self._out.close()
        text, left_out = _stdout(head, tail, self._out.total)
        whole = not left_out
        output = self._tool.shown(text)
        shown_bytes = len(output.encode("utf-8", "replace"))
        said = bytes(self._err)
        error = self._tool.shown(
            readable(said if len(said) <= STDERR else cut_tail(said[-STDERR:]))
        )
        status = "timeout" if cell is None else "error" if cell.status else "success"
        keys: dict[str, Any] = {
            "status": status,
            "output": output + (_separator(output) + error if error else ""),
            "exit_code": -1 if cell is None else cell.status,
            "tool_calls_made": self._calls,
            "duration_seconds": round(seconds, 2),
            "kernel": {
                "mode": "session",
                "reused": self._reused,
                "execution_count": self._kernel.cells,
                "state_reset": self._reset,
            },
            "stdout_truncated": not whole,
            "stdout_bytes_captured": shown_bytes,
            "stdout_bytes_total": shown_bytes if whole else self._out.total,
            "stdout_bytes_omitted": left_out,
        }
        if cell is None or cell.ended:
            keys["kernel"]["ended"] = True
        return _answer(keys | self._extras(cell, whole), fine=status == "success")

    def _extras(self, cell: Cell | None, whole: bool) -> dict[str, Any]:
        keys: dict[str, Any] = {}
        if cell is None:
            keys["error"] = (
                f"It took more than {self._tool.limits[0]:g} seconds and was ended; the kernel's "
                "variables are gone. Work in smaller pieces, or use terminal with background=true."
            )
        elif cell.status:
            keys["error"] = self._tool.shown(cell.error or f"It exited with {cell.status}.")
            if "cannot import name" in cell.error and "hermes_tools" in cell.error:
                names = ", ".join(self._tools) or "none"
                keys["hint"] = f"Tools that code can call here: {names}."
        if not whole:
            keys["warning"] = "The middle of the output is not shown: print less."
            if self._out.path is not None:
                keys["stdout_spill_path"] = str(self._out.path)
        if self._failed:
            keys["tool_errors"] = {"count": len(self._failed), "tools": sorted(set(self._failed))}
        return keys


def _stdout(head: bytes, tail: bytes, total: int) -> tuple[str, int]:
    """The text that is shown, and how many bytes of the whole are not."""
    if not tail:
        return readable(head), 0
    head, tail = cut_head(head), cut_tail(tail)
    left_out = total - len(head) - len(tail)
    notice = f"\n[... {left_out} bytes left out ...]\n"
    return readable(head) + notice + readable(tail), left_out


def _separator(output: str) -> str:
    return ERRORS_FOLLOW if not output or output.endswith("\n") else "\n" + ERRORS_FOLLOW


def _is_failure(result: str) -> bool:
    try:
        keys = json.loads(result)
    except ValueError:
        return False
    # A file that is not there is an answer.
    return isinstance(keys, dict) and bool(keys.get("error")) and not keys.get("not_found")


def _answer(keys: dict[str, Any], *, fine: bool = False) -> ToolOutput:
    content = json.dumps(keys, ensure_ascii=False)
    return ToolOutput(content=content, outcome="ok" if fine else "failed")
