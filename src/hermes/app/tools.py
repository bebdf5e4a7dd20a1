"""The built-in tools, and the toolsets that name them."""

from collections.abc import Mapping
from dataclasses import dataclass

from hermes.core.errors import UserError
from hermes.core.registry import Registration, Registry
from hermes.ports.files import Files
from hermes.ports.tool import Tool
from hermes.safety.paths import PathPolicy
from hermes.safety.redact import Redactor
from hermes.stores.checkpoints.store import CheckpointStore
from hermes.system.config.settings import Settings
from hermes.system.i18n import t
from hermes.system.paths import Home
from hermes.terminals.local import LocalTerminal
from hermes.tools.files.checks.checker import Checker
from hermes.tools.files.patch import Patch
from hermes.tools.files.path_locks import PathLocks
from hermes.tools.files.read import ReadFile
from hermes.tools.files.search import SearchFiles
from hermes.tools.files.workspace import Workspace
from hermes.tools.files.write import WriteFile
from hermes.tools.terminal.command import Terminal

ALL = ("hermes-cli", "all")
"""Toolset names that mean every tool; the first is the reference's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """What the built-in tools are made of."""

    home: Home
    settings: Settings
    redactor: Redactor
    terminal: LocalTerminal
    policy: PathPolicy
    files: Files
    checker: Checker
    checkpoints: CheckpointStore | None


def registry(bench: Workbench) -> Registry[Tool]:
    """Every built-in tool."""
    tools: Registry[Tool] = Registry("tool")
    settings, redactor = bench.settings, bench.redactor
    policy = bench.policy

    locks = PathLocks()
    workspace = Workspace(bench.files, policy, locks=locks, checkpoints=bench.checkpoints)

    def redact(text: str) -> str:
        return redactor.redact(text, "file")

    def read_file() -> Tool:
        return ReadFile(
            bench.files,
            policy,
            redact,
            locks=locks,
            max_lines=settings.tool_output.max_lines,
            max_line=settings.tool_output.max_line_length,
            max_chars=settings.file_read_max_chars,
        )

    def write_file() -> Tool:
        return WriteFile(workspace, bench.checker)

    def patch() -> Tool:
        return Patch(workspace, bench.checker, redact)

    def search_files() -> Tool:
        return SearchFiles(bench.files, policy, redact, locks=locks)

    def terminal() -> Tool:
        return Terminal(
            backend=bench.terminal,
            redact=redactor.terminal,
            checkpoints=bench.checkpoints,
            default_timeout=settings.terminal.timeout,
            max_bytes=settings.tool_output.max_bytes,
        )

    for make in (read_file, terminal, write_file, patch, search_files):
        tools.add(Registration(name=make.__name__, owner="hermes", item=make))
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
