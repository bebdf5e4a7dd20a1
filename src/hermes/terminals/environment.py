"""What of its environment Hermes hands to the programs it starts."""

from collections.abc import Iterable, Mapping
from typing import Final

# fmt: off
ALLOWED: Final = frozenset((
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR",
    "TMP", "TEMP", "HERMES_HOME", "HERMES_PROFILE", "VIRTUAL_ENV", "SSH_AUTH_SOCK",
    "MANPATH", "INFOPATH", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "PYENV_ROOT", "NVM_DIR",
    "CARGO_HOME", "RUSTUP_HOME", "GOPATH", "GOROOT", "JAVA_HOME", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
    "PIP_CERT", "GIT_SSL_CAINFO", "NO_PROXY", "no_proxy", "DBUS_SESSION_BUS_ADDRESS",
))
ALLOWED_PREFIXES: Final = ("LC_", "XDG_", "CONDA_")
PROXIES: Final = frozenset(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY"))
SECRET_WORDS: Final = (
    "KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "CREDS", "AUTH", "DSN", "WEBHOOK",
    "BEARER", "COOKIE",
)
# fmt: on

FIXED: Final = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
}
"""What keeps a command from waiting for a person; a command may set them otherwise."""

MARKERS: Final = {"AI_AGENT": "hermes-agent", "HERMES_AGENT": "true"}


def child_environment(environ: Mapping[str, str], passthrough: Iterable[str]) -> dict[str, str]:
    """The part of `environ` that commands may see: an allow list, and the names passed through.

    Proxies are left out if their address holds credentials, and so is any allowed name that looks
    like a secret's. `passthrough` is a person's explicit wish and wins.
    """
    wanted = frozenset(passthrough)

    def allowed(name: str, value: str) -> bool:
        if name in wanted or name == "SSH_AUTH_SOCK":
            return True
        if name.upper() in PROXIES:
            return "@" not in value
        if any(word in name.upper() for word in SECRET_WORDS):
            return False
        return name in ALLOWED or name.startswith(ALLOWED_PREFIXES)

    return {name: value for name, value in environ.items() if allowed(name, value)}
