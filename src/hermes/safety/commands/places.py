"""Which paths a command must not end, and which it should not write unasked.

These are names in a text. What the file tools refuse and the sandbox hides is decided by
`safety.paths` on real files; here it is only told which commands somebody should look at.
"""

import posixpath
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct

from hermes.safety.commands.expand import absolute
from hermes.safety.commands.model import UNKNOWN

# fmt: off
SYSTEM: Final = frozenset((
    "/", "/home", "/root", "/etc", "/usr", "/var", "/bin", "/sbin", "/boot", "/lib", "/lib32",
    "/lib64", "/opt", "/srv", "/mnt", "/media", "/dev", "/proc", "/sys", "/Users", "/System",
    "/Library", "/Applications", "/private", "/private/etc", "/private/var", "/Volumes",
    "/usr/bin", "/usr/lib", "/usr/sbin", "/usr/local", "/usr/lib64", "/nix", "/snap",
))
SHELL_STARTS: Final = frozenset((
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zprofile",
    ".zshenv", ".zlogin", ".kshrc", ".cshrc", ".tcshrc", ".inputrc", ".xinitrc", ".xprofile",
    ".pam_environment",
))
CREDENTIALS: Final = frozenset((
    ".netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials", "authorized_keys", ".my.cnf",
    ".vault-token", ".htpasswd",
))
SECRET_FOLDERS: Final = (".ssh", ".aws", ".gnupg", ".kube", ".docker", ".config/gh",
                         ".config/gcloud", ".azure", ".password-store")
STARTS: Final = (".config/autostart", ".config/systemd", "Library/LaunchAgents", ".config/fish")
# fmt: on
_DEVICE: Final = r"/dev/(?:sd[a-z]|nvme\d|hd[a-z]|mmcblk\d|vd[a-z]|xvd[a-z]|disk\d|dm-\d|md\d)"
_DOTENV: Final = r"\.env(?:rc)?(?:\..+)?"
_EXAMPLE: Final = r"\.(?:example|sample|template|dist|defaults?)$"
_KEYFILE: Final = (
    r"id_(?:rsa|dsa|ecdsa|ed25519)|.+\.(?:pem|key|p12|pfx|kdbx|keystore)|credentials(?:\.json)?"
    r"|secrets?\.(?:ya?ml|json|toml)|shadow|service[-_]account.*\.json"
)
_WILD: Final = r"[*?\[]"
_PROBES: Final = ("Documents", "src", "x1")
_DOT_PROBES: Final = (".config", ".ssh")
_THROWAWAY: Final = (
    r"(?i)(?:out(?:put)?|results?|log|te?mp|test|err(?:ors?)?|stdout|stderr|dump|debug|empty|new|foo"
    r"|nohup)\w*(?:\.\w+)?|.*\.(?:log|tmp|out|err|pid|lock|cache|stamp|o|bak)(?:\.\d+)?"
    r"|\.(?:git)?keep|__init__\.py|.*\.done"
)


class Places(Struct, frozen=True, kw_only=True):
    """What matters here: the person's home, that of Hermes, its Python, and its processes."""

    home: str
    hermes_home: str = ""
    python: str = ""
    pids: frozenset[int] = frozenset()

    def ruinous(self, word: str, cwds: Sequence[str]) -> bool:
        """Whether removing `word` with all that is in it ends the system, a home or Hermes."""
        return any(self._ruinous(path) for path in _paths(word, cwds))

    def _ruinous(self, path: str) -> bool:
        ends = {self.home, self.hermes_home, self.python} - {""}
        own = [folder for folder in (self.hermes_home, self.python) if folder]
        if path in SYSTEM or path in ends:
            return True
        if any(folder.startswith(f"{path}/") for folder in (*own, self.home)) and path != "/tmp":
            return True
        if not re.search(_WILD, path):
            return False
        folder, _, name = path.rpartition("/")
        if re.search(_WILD, folder):
            return any(
                fnmatchcase(each, path) for each in SYSTEM if each.count("/") == path.count("/")
            )
        if folder == "" and any(
            fnmatchcase(each[1:], name) for each in SYSTEM if each.count("/") == 1
        ):
            return True
        everything = all(fnmatchcase(each, name) for each in _PROBES) or all(
            fnmatchcase(each, name) for each in _DOT_PROBES
        )
        return everything and ((folder or "/") in SYSTEM or folder in ends)

    def kept(self, word: str, cwds: Sequence[str]) -> str:
        """The family of rules that a write to `word` meets; empty if it may just be written."""
        for path in _paths(word, cwds) or [word]:
            if family := self._kept(path):
                return family
        return ""

    def _kept(self, path: str) -> str:
        name = posixpath.basename(path)
        if path.startswith(("/etc/", "/private/etc/", "/boot/", "/sys/", "/proc/sys/")):
            return "write_system"
        if path == "/etc" or path.startswith("/var/spool/cron"):
            return "write_system"
        if self.hermes_home and path in (
            f"{self.hermes_home}/.env",
            f"{self.hermes_home}/config.yaml",
        ):
            return "write_own_settings"
        if name in SHELL_STARTS or any(f"/{folder}/" in f"{path}/" for folder in STARTS):
            return "write_startup"
        if name in CREDENTIALS or any(f"/{folder}/" in f"/{path}/" for folder in SECRET_FOLDERS):
            return "write_credentials"
        if re.fullmatch(_DOTENV, name) and not re.search(_EXAMPLE, name):
            return "write_env_file"
        if name == "config.yaml":
            return "write_env_file"
        if "/.git/hooks/" in f"/{path}" or f"/{path}".endswith("/.git/config"):
            return "write_startup"
        return ""

    def secret(self, word: str, cwds: Sequence[str]) -> bool:
        """Whether `word` names a file that holds secrets, as far as a name tells."""
        for path in _paths(word, cwds) or [word]:
            name = posixpath.basename(path)
            if name in CREDENTIALS or re.fullmatch(_KEYFILE, name):
                return True
            if re.fullmatch(_DOTENV, name) and not re.search(_EXAMPLE, name):
                return True
            if any(f"/{folder}/" in f"/{path}/" for folder in SECRET_FOLDERS):
                return True
            if self.hermes_home and f"{path}/".startswith(f"{self.hermes_home}/"):
                return True
        return False


def device(word: str) -> bool:
    """Whether `word` is a disk."""
    return bool(re.match(_DEVICE, absolute(word, "/")))


def throwaway(word: str) -> bool:
    """Whether a file is made to be emptied and written again, as far as its name tells."""
    return (
        word.startswith(("/dev/", "/tmp/", "/var/tmp/", UNKNOWN))
        or re.fullmatch(_THROWAWAY, posixpath.basename(word)) is not None
    )


def _paths(word: str, cwds: Sequence[str]) -> list[str]:
    """The absolute paths that a word may mean; none if the folder is not known."""
    if UNKNOWN in word or len(word) > 4096:
        return []
    if word.startswith("/"):
        return [absolute(word, "/")]
    return [absolute(word, cwd) for cwd in cwds]
