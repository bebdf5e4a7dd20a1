"""Which paths a file tool may read or write; decided on canonical paths only.

A heuristic of this process: a shell command does not pass here. Sources of the lists: the
reference's contract (read deny, write deny, sensitive prefixes).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

SECRET_FILES: Final = frozenset(
    {".env", ".env.local", ".env.development", ".env.production", ".env.test", ".env.staging"}
    | {".envrc"}
)
HOME_SECRETS: Final = (
    "auth.json",
    "auth.lock",
    ".anthropic_oauth.json",
    "webhook_subscriptions.json",
    "auth",
    "mcp-tokens",
    "browser-profile",
    "vault",
    "cache/config.json",
)
CREDENTIALS: Final = [
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".docker",
    ".azure",
    ".config/gh",
    ".config/gcloud",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
]
SYSTEM: Final = ("/etc", "/boot", "/usr/lib/systemd", "/private/etc", "/private/var/db")
OWN_FILES: Final = [
    "hermes.db",
    "hermes.db-wal",
    "hermes.db-shm",
    "state.db",
    "config.yaml",
    "config.yaml.last-good",
    "locks",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPolicy:
    """What is hidden and what is read-only. `confine` limits reading to one folder (the demo)."""

    home: Path
    user: Path | None
    confine: Path | None = None

    def unreadable(self, path: Path) -> str | None:
        """Why the canonical `path` may not be read, or None."""
        if self.confine is not None and not path.is_relative_to(self.confine):
            return f"only files under {self.confine} can be read here"
        if path.name.lower() in SECRET_FILES:
            return "files of this name hold secrets and are not read"
        if any(path.is_relative_to(self.home / name) for name in HOME_SECRETS):
            return "this file holds Hermes's own secrets and is not read"
        return None

    def unwritable(self, path: Path) -> str | None:
        """Why the canonical `path` may not be written, or None."""
        if self.confine is not None:
            return "nothing can be written here"
        if reason := next((p for p in SYSTEM if path.is_relative_to(p)), None):
            return f"files under {reason} are not written by this tool"
        own = (*HOME_SECRETS, *OWN_FILES, ".env")
        if any(path.is_relative_to(self.home / name) for name in own):
            return "this file is Hermes's own and is not written by a tool"
        if self.user is not None and any(path.is_relative_to(self.user / n) for n in CREDENTIALS):
            return "this is a credential store and is not written by a tool"
        return None
