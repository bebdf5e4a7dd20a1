"""The installed `hermes` command, run as a person would."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERMES = Path(sys.executable).with_name("hermes")


@dataclass
class Program:
    """`hermes` with a home of its own and nothing else in its environment."""

    home: Path
    cwd: Path
    env: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home.parent),
            "HERMES_HOME": str(self.home),
            "LANG": "C.UTF-8",
            **self.env,
        }

    def configure(self, base_url: str, extra: str = "") -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "config.yaml").write_text(
            "model:\n"
            "  default: scripted\n"
            "  provider: custom\n"
            f"  base_url: {base_url}\n"
            f"agent:\n  api_max_retries: 1\n{extra}",
            encoding="utf-8",
        )

    def run(
        self, *arguments: str, stdin: bytes = b"", timeout: float = 60
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [str(HERMES), *arguments],
            input=stdin,
            env=self.environment(),
            cwd=self.cwd,
            capture_output=True,
            timeout=timeout,
            check=False,
        )

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(HERMES), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment(),
            cwd=self.cwd,
        )
