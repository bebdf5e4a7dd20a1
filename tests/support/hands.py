"""The file tools over real files of this machine, as the program puts them together."""

from collections.abc import Callable
from pathlib import Path

from hermes.core.clock import SystemClock
from hermes.ports.checkpoint import Checkpoints
from hermes.ports.tool import Tool
from hermes.safety.paths import PathPolicy
from hermes.system.config.sections import LspSection
from hermes.system.process import Reaper
from hermes.terminals.local_files import LocalFiles
from hermes.terminals.ripgrep import Ripgrep
from hermes.tools.files.checks.checker import Checker
from hermes.tools.files.patch import Patch
from hermes.tools.files.path_locks import PathLocks
from hermes.tools.files.read import ReadFile
from hermes.tools.files.workspace import Workspace
from hermes.tools.files.write import WriteFile


def hands(
    policy: PathPolicy,
    *,
    records: Path,
    redact: Callable[[str], str] = lambda text: text,
    checkpoints: Checkpoints | None = None,
) -> dict[str, Tool]:
    """read_file, write_file and patch, without language servers."""
    files = LocalFiles(
        home=str(policy.user) if policy.user else None,
        records=records,
        clock=SystemClock(),
        ripgrep=Ripgrep(path=""),
    )
    locks = PathLocks()
    checker = Checker(
        LspSection(enabled=False), reaper=Reaper(), env={}, clock=SystemClock(), redact=redact
    )
    workspace = Workspace(files, policy, locks=locks, checkpoints=checkpoints)
    return {
        "read_file": ReadFile(
            files, policy, redact, locks=locks, max_lines=2000, max_line=2000, max_chars=100_000
        ),
        "write_file": WriteFile(workspace, checker),
        "patch": Patch(workspace, checker, redact),
    }
