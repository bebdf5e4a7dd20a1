"""The lists of the path policy: what is hidden, read-only and asked about.

Names are relative to a folder that the policy knows. Patterns are those of `fnmatch` (`*` goes over
`/` too), for the last parts of a path, in any case of letters. Sources: the reference's contract
for what it denies, and each program's own documentation for the files that instruct or start it.
"""

from collections.abc import Mapping
from typing import Final

SECRET_FILES: Final = (
    ".env",
    ".env.local",
    ".env.development",
    ".env.production",
    ".env.test",
    ".env.staging",
    ".envrc",
)
"""Environment files, in any folder. `.env.example` and the like hold no secrets."""

HOME_SECRETS: Final = (
    ".anthropic_oauth.json",
    ".env",
    "auth",
    "auth.json",
    "auth.lock",
    "browser-profile",
    "cache/bws_cache.json",
    "cache/config.json",
    "mcp-tokens",
    "pairing",
    "skills/.hub",
    "vault",
    "webhook_subscriptions.json",
)
"""Secrets in a home of Hermes."""

HOME_DATABASES: Final = tuple(
    name + tail for name in ("hermes.db", "state.db") for tail in ("", "-wal", "-shm", "-journal")
)

HOME_OWN: Final = (
    "blobs",
    "cache",
    "checkpoints",
    "commits",
    "config.yaml",
    "config.yaml.last-good",
    "history",
    "locks",
    "logs",
    "models",
    "sessions",
    "shell-hooks-allowlist.json",
    "trusted_folders.json",
)
"""What only Hermes itself writes in its home."""

STORES: Final[Mapping[str, tuple[str, ...]]] = {
    "aws": (".aws",),
    "azure": (".azure",),
    "browser": (
        ".config/BraveSoftware",
        ".config/chromium",
        ".config/google-chrome",
        ".config/microsoft-edge",
        ".mozilla",
    ),
    "cargo": (".cargo/credentials", ".cargo/credentials.toml"),
    "docker": (".docker",),
    "gcloud": (".config/gcloud",),
    "gh": (".config/gh", ".config/hub"),
    "git": (".config/git/credentials", ".git-credentials"),
    "gpg": (".gnupg",),
    "keyring": (".local/share/keyrings", ".local/share/kwalletd"),
    "kube": (".kube",),
    "netrc": (".netrc",),
    "npm": (".npmrc",),
    "onepassword": (".config/op",),
    "pass": (".password-store",),
    "postgres": (".pgpass",),
    "pypi": (".pypirc",),
    "rclone": (".config/rclone",),
    "ssh": (".ssh",),
    "terraform": (".terraform.d/credentials.tfrc.json",),
    "vault": (".vault-token",),
}
"""Credential stores in a person's home, by the name under which a command may be given one."""

CREDENTIALS: Final = tuple(path for paths in STORES.values() for path in paths)

SSH_SETTINGS: Final = (".ssh/config", ".ssh/known_hosts")
"""What is no secret in a credential store, and is worth reading."""

SYSTEM: Final = (
    "/bin",
    "/boot",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/sbin",
    "/sys",
    "/usr/bin",
    "/usr/include",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/libx32",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/local/sbin",
    "/usr/sbin",
    "/usr/share",
    "/var/db",
    "/var/lib/dpkg",
    "/var/lib/rpm",
    "/var/lib/systemd",
    "/var/spool/at",
    "/var/spool/cron",
    "/Library",
    "/System",
    "/private/etc",
    "/private/var/db",
    "/private/var/root",
)
"""System folders. Not all of /usr and /var: workspaces are kept in /usr/src and /var/lib too."""

SOCKETS: Final[Mapping[str, tuple[str, ...]]] = {
    "container-socket": (
        "/run/buildkit",
        "/run/containerd",
        "/run/crio",
        "/run/docker.sock",
        "/run/incus",
        "/run/k3s",
        "/run/libvirt",
        "/run/podman",
        "/var/lib/incus/unix.socket",
        "/var/lib/lxd/unix.socket",
        "/var/run/docker.sock",
        "/var/snap/lxd/common/lxd/unix.socket",
    ),
    "dbus": ("/run/dbus",),
    "desktop": ("/run/user",),
    "screen": ("/run/screen", "/run/screens", "/tmp/screens"),
    "systemd": ("/run/initctl", "/run/snapd.socket", "/run/systemd/private"),
}
"""Doors of programs that start others for whoever asks, by the name under which a command may be
given one. /run/user holds the session bus, systemd, podman, editors and keyrings of each person."""

SOCKET_PATTERNS: Final[Mapping[str, tuple[str, ...]]] = {
    "dbus": ("/tmp/dbus-*",),
    "emacs": ("/tmp/emacs[0-9]*",),
    "tmux": ("/tmp/tmux-[0-9]*",),
}
"""The same, where names hold a number."""

MIRRORS: Final = ("sandboxes/*/*/home/.hermes/*",)
"""A sandbox's own copy of a home of Hermes; what is written there never reaches the real one."""

INSTRUCTIONS: Final = (
    ".agents/*",
    ".aider*",
    ".amazonq/*",
    ".augment-guidelines",
    ".augment/*",
    ".claude/*",
    ".clinerules",
    ".clinerules/*",
    ".codex/*",
    ".continue/*",
    ".cursor/*",
    ".cursorrules",
    ".gemini/*",
    ".github/agents/*",
    ".github/chatmodes/*",
    ".github/instructions/*",
    ".github/prompts/*",
    ".goosehints",
    ".hermes.md",
    ".hermes/*",
    ".junie/*",
    ".kiro/*",
    ".mcp.json",
    ".openhands/*",
    ".opencode/*",
    ".qwen/*",
    ".roo/*",
    ".roomodes",
    ".roorules*",
    ".rules",
    ".trae/*",
    ".vscode/mcp.json",
    ".windsurf/*",
    ".windsurfrules",
    "agent.md",
    "agents.local.md",
    "agents.md",
    "agents.override.md",
    "claude.local.md",
    "claude.md",
    "copilot-instructions.md",
    "crush.md",
    "gemini.md",
    "hermes.md",
    "opencode.json",
    "opencode.jsonc",
    "qwen.md",
    "soul.md",
    "warp.md",
)
"""Files that instruct this or another agent, in any folder."""

RUN_BY_GIT: Final = (
    ".git/config",
    ".git/hooks/*",
    ".git/modules/*/config",
    ".git/modules/*/hooks/*",
)
"""Files that make git run something, in any folder."""

START_FILES: Final = (
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".config/autostart",
    ".config/environment.d",
    ".config/fish",
    ".config/git",
    ".config/systemd/user",
    ".gitconfig",
    ".kshrc",
    ".local/bin",
    ".local/share/applications",
    ".local/share/systemd/user",
    ".login",
    ".pam_environment",
    ".profile",
    ".tmux.conf",
    ".vimrc",
    ".xinitrc",
    ".xprofile",
    ".xsessionrc",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "Library/LaunchAgents",
    "bin",
)
"""What runs by itself when a person logs in, opens a shell or types a command."""
