"""The path policy of this machine, person and configuration."""

import os
import pwd
import sys
from pathlib import Path

from hermes.safety.paths import PathPolicy
from hermes.system.config.sections import SecuritySection
from hermes.system.env import Environment
from hermes.system.paths import Home


def path_policy(
    home: Home, env: Environment, security: SecuritySection, confine: Path | None
) -> PathPolicy:
    """The one object that guard, file tools and sandbox are given."""
    roots = env.get("HERMES_WRITE_SAFE_ROOT", "").split(os.pathsep)
    return PathPolicy(
        home=home.root,
        user=home.user,
        people=_people(),
        safe_roots=[Path(root).expanduser() for root in roots if root],
        interpreter=_interpreter(),
        protect=security.protected_instruction_files,
        extra=security.protected_instruction_extra_patterns,
        confine=confine,
    )


def _people() -> list[Path]:
    """The homes whose credentials this process could reach: its account's own, whatever HOME says,
    and everybody's if it is root's."""
    if os.geteuid() == 0:
        # Accounts of people begin at 500 on macOS, at 1000 elsewhere.
        return [Path(a.pw_dir) for a in pwd.getpwall() if a.pw_uid == 0 or a.pw_uid >= 500]
    try:
        return [Path(pwd.getpwuid(os.getuid()).pw_dir)]
    except KeyError:
        # A container may run under a number that has no account.
        return []


def _interpreter() -> tuple[Path, ...]:
    """The environment that Hermes runs in, or the bare interpreter if it has none of its own."""
    if sys.prefix != sys.base_prefix:
        return (Path(sys.prefix).resolve(), Path(sys.executable).resolve())
    return (Path(sys.executable).resolve(), Path(os.__file__).resolve().parent)
