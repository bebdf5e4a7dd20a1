"""Sandboxes over a throw-away home, by each engine that this machine has."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest

from hermes.safety.paths import PathPolicy
from hermes.system.config.sections import LocalTerminalSection
from hermes.terminals.sandbox.jail import Engine, Jail
from hermes.terminals.sandbox.sandboxes import Choice, Sandboxes

ENGINES: tuple[Engine, ...] = ("bubblewrap", "landlock")


@cache
def choice_of(engine: Engine) -> Choice | str:
    """The engine on this machine, or why it is not there."""

    async def look() -> Choice:
        path = "" if engine == "landlock" else os.environ["PATH"]
        return await sandboxes(Path("/nowhere"), env={"PATH": path}).choice()

    found = anyio.run(look)
    if found.engine == engine:
        return found
    return found.passed_over.get(engine) or f"{found.engine} is there in its place"


def sandboxes(
    user: Path,
    *,
    env: Mapping[str, str] = {},
    choice: Choice | None = None,
    policy: PathPolicy | None = None,
    **settings: Any,
) -> Sandboxes:
    return Sandboxes(
        policy=policy or PathPolicy(home=user / ".hermes", user=user),
        settings=LocalTerminalSection(**settings),
        env=env,
        runtime_dir=user / ".hermes/cache/terminal-state",
        choice=choice,
    )


@dataclass
class Place:
    """A home in a folder that no level makes writable, with a workspace in it."""

    user: Path
    choice: Choice
    env: dict[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        return self.user / "ws"

    def put(self, name: str, text: str = "SECRET\n") -> Path:
        path = self.user / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def sandboxes(self, **settings: Any) -> Sandboxes:
        return sandboxes(self.user, env=self.env, choice=self.choice, **settings)

    async def jail(self, workspace: Path | None = None, **settings: Any) -> Jail:
        return await self.sandboxes(**settings).jail(workspace or self.workspace)

    def bash(self, jail: Jail, script: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a script of bash in the jail, with the home as its folder."""
        added = {name: value for name, value in jail.env.items() if value is not None}
        return subprocess.run(
            jail.argv(["/bin/bash", "-c", f"cd {str(self.user)!r}\n{script}", "bash", *words]),
            env={"PATH": os.environ["PATH"], "HOME": str(self.user), **added},
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=30,
            check=False,
        )


@contextmanager
def throw_away(engine: Engine) -> Iterator[Place]:
    """A place in /var/tmp, which is not /tmp; its path has a space in it."""
    choice = choice_of(engine)
    if isinstance(choice, str):
        pytest.skip(f"{engine}: {choice}")
    root = Path(tempfile.mkdtemp(prefix="hermes test ", dir="/var/tmp")).resolve()
    try:
        place = Place(root / "user", choice)
        place.workspace.mkdir(parents=True)
        yield place
    finally:
        shutil.rmtree(root, ignore_errors=True)


def python() -> tuple[Path, ...]:
    return (Path(sys.prefix).resolve(), Path(sys.executable).resolve())
