"""The built-in tools, and the toolsets that name them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

from hermes.app.checkpoints import RunCheckpoints
from hermes.app.terminal import RunTerminal
from hermes.core.errors import UserError
from hermes.core.registry import Registration, Registry
from hermes.ports.files import Files
from hermes.ports.tool import Arguments, SessionState, Tool, ToolContext, ToolOutput, ToolSpec
from hermes.safety.paths import PathPolicy
from hermes.safety.redact import Redactor
from hermes.system.config.settings import Settings
from hermes.system.i18n import t
from hermes.system.lazy import load as lazy
from hermes.system.paths import Home
from hermes.tools.code.specs import EXECUTE_CODE
from hermes.tools.files.checks.checker import Checker
from hermes.tools.files.path_locks import PathLocks
from hermes.tools.files.specs import PATCH, READ_FILE, SEARCH_FILES, WRITE_FILE
from hermes.tools.terminal.specs import PROCESS, TERMINAL

ALL = ("hermes-cli", "all")
"""Toolset names that mean every tool; the first is the reference's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """What the built-in tools are made of."""

    home: Home
    settings: Settings
    redactor: Redactor
    terminal: RunTerminal
    policy: PathPolicy
    files: Files
    checker: Checker
    checkpoints: RunCheckpoints | None


@dataclass
class Deferred:
    """A tool whose code is loaded when it is first called: most runs call few, and every run
    pays for what it loads."""

    spec: ToolSpec
    make: Callable[[], Tool]

    @cached_property
    def _tool(self) -> Tool:
        return self.make()

    async def touches(self, arguments: Arguments, state: SessionState) -> tuple[str, ...]:
        return await self._tool.touches(arguments, state)

    def summary(self, arguments: Arguments) -> str:
        return self._tool.summary(arguments)

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        return await self._tool.run(arguments, context)


def registry(bench: Workbench) -> Registry[Tool]:
    """Every built-in tool."""
    tools: Registry[Tool] = Registry("tool")
    settings, redactor = bench.settings, bench.redactor
    policy = bench.policy

    locks = PathLocks()

    def redact(text: str) -> str:
        return redactor.redact(text, "file")

    @cache
    def workspace() -> Any:
        make = lazy("hermes.tools.files.workspace:Workspace")
        return make(bench.files, policy, locks=locks, checkpoints=bench.checkpoints)

    def read() -> Tool:
        tool: Tool = lazy("hermes.tools.files.read:ReadFile")(
            bench.files,
            policy,
            redact,
            locks=locks,
            max_lines=settings.tool_output.max_lines,
            max_line=settings.tool_output.max_line_length,
            max_chars=settings.file_read_max_chars,
        )
        return tool

    def write() -> Tool:
        tool: Tool = lazy("hermes.tools.files.write:WriteFile")(workspace(), bench.checker)
        return tool

    def patch() -> Tool:
        tool: Tool = lazy("hermes.tools.files.patch:Patch")(workspace(), bench.checker, redact)
        return tool

    def search() -> Tool:
        make = lazy("hermes.tools.files.search:SearchFiles")
        tool: Tool = make(bench.files, policy, redact, locks=locks)
        return tool

    for spec, make in (
        (TERMINAL, bench.terminal.terminal),
        (PROCESS, bench.terminal.process),
        (EXECUTE_CODE, bench.terminal.execute_code),
        (READ_FILE, read),
        (WRITE_FILE, write),
        (PATCH, patch),
        (SEARCH_FILES, search),
    ):
        item = partial(Deferred, spec, make)
        tools.add(Registration(name=spec.name, owner="hermes", item=item))
    return tools


def chosen(tools: Registry[Tool], names: tuple[str, ...]) -> Mapping[str, Tool]:
    """The tools that `names` (toolsets or tools) stand for; raises UserError for another name."""
    frozen = tools.freeze()
    if not names or any(name in ALL for name in names):
        return frozen
    sets = {tool.spec.toolset for tool in frozen.values()}
    for name in names:
        if name not in sets and name not in frozen:
            known = ", ".join(sorted(sets | set(frozen)))
            raise UserError(
                t("cli.unknown_toolset", name=name), hint=t("cli.unknown_toolset_hint", known=known)
            )
    return {
        name: tool for name, tool in frozen.items() if name in names or tool.spec.toolset in names
    }


def reading(tools: Mapping[str, Tool]) -> Mapping[str, Tool]:
    """Those of `tools` that change nothing."""
    return {n: tool for n, tool in tools.items() if tool.spec.effects in ("none", "reads")}
