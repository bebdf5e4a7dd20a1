"""Every path under the home of Hermes, and nothing outside it.

A home is an explicit value that is handed over. A process may serve several; none is the default.
"""

import os
import re
from pathlib import Path

from msgspec import Struct

from hermes.core.errors import UserError
from hermes.system.env import Environment
from hermes.system.i18n import t

_PROFILE = r"[a-z0-9][a-z0-9_-]{0,63}"
_DEFAULT_PROFILE = "default"


class Home(Struct, frozen=True):
    """One home: `$HERMES_HOME`, `~/.hermes`, or a profile below either.

    `root` is absolute. `user` is the person's own home folder, for display and `~`.
    """

    root: Path
    user: Path | None = None

    @classmethod
    def locate(cls, env: Environment, profile: str | None = None) -> "Home":
        """The home that `env` names, or its profile `profile`; touches nothing.

        `HERMES_HOME` is authoritative: `HERMES_PROFILE` counts only without it. Raises UserError
        for a profile that does not exist, and where there is no home to be found.
        """
        user = Path(env["HOME"]) if env.get("HOME") else None
        named = env.get("HERMES_HOME", "").strip()
        if named:
            root = _expand(named, user)
        elif user is not None:
            root = user / ".hermes"
            profile = profile or env.get("HERMES_PROFILE")
        else:
            raise UserError(t("paths.no_home"), hint=t("paths.no_home_hint"))
        root = Path(os.path.abspath(root))  # noqa: PTH100  resolve() would follow links
        return cls(_profile_root(root, profile) if profile else root, user)

    @property
    def profile(self) -> str:
        """The name of this home's profile, `default` for the home itself."""
        return self.root.name if self.root.parent.name == "profiles" else _DEFAULT_PROFILE

    @property
    def config(self) -> Path:
        return self.root / "config.yaml"

    @property
    def config_last_good(self) -> Path:
        """A copy of the newest `config.yaml` that could be loaded."""
        return self.root / "config.yaml.last-good"

    @property
    def config_cache(self) -> Path:
        """The parsed `config.yaml`; as worth protecting as the file itself."""
        return self.cache / "config.json"

    @property
    def env_file(self) -> Path:
        return self.root / ".env"

    @property
    def database(self) -> Path:
        return self.root / "hermes.db"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def models(self) -> Path:
        """Model files that were downloaded or converted for the local provider."""
        return self.root / "models"

    @property
    def blobs(self) -> Path:
        """Large results, kept by content."""
        return self.root / "blobs"

    @property
    def cache(self) -> Path:
        """What can be deleted at any time without losing anything."""
        return self.root / "cache"

    @property
    def checkpoints(self) -> Path:
        """What files held before tools changed them."""
        return self.root / "checkpoints"

    @property
    def commits(self) -> Path:
        """Records of changes to files that are under way."""
        return self.root / "commits"

    @property
    def locks(self) -> Path:
        return self.root / "locks"

    @property
    def soul(self) -> Path:
        return self.root / "SOUL.md"

    @property
    def history(self) -> Path:
        """Lines typed at the prompt."""
        return self.root / "history"

    @property
    def trusted_folders(self) -> Path:
        """Which folders may bring settings, hooks and skills of their own."""
        return self.root / "trusted_folders.json"

    @property
    def hook_consents(self) -> Path:
        """Which shell hooks may run; the name is the reference's."""
        return self.root / "shell-hooks-allowlist.json"

    def prepare(self) -> None:
        """Make the home and its folders, open to their owner only; raises UserError if it cannot
        be written. A folder that exists keeps its mode."""
        for folder in (self.root, self.logs, self.cache, self.blobs, self.locks):
            try:
                folder.mkdir(mode=0o700, parents=folder == self.root, exist_ok=True)
            except (FileExistsError, NotADirectoryError) as e:
                raise self._unusable(t("paths.is_a_file", path=self.display(folder))) from e
            except OSError as e:
                reason = e.strerror or str(e)
                raise self._unusable(
                    t("paths.unwritable", path=self.display(folder), reason=reason)
                ) from e
            if not os.access(folder, os.W_OK | os.X_OK):
                raise self._unusable(
                    t("paths.unwritable", path=self.display(folder), reason=t("paths.no_right"))
                )

    def display(self, path: Path | str) -> str:
        """`path` as a person would write it, with `~` for their home folder."""
        path = Path(path)
        if self.user is not None and path.is_relative_to(self.user):
            inner = path.relative_to(self.user)
            return "~" if inner == Path() else f"~/{inner}"
        return str(path)

    def _unusable(self, message: str) -> UserError:
        return UserError(message, hint=t("paths.home_hint"))


def _expand(path: str, user: Path | None) -> Path:
    if path == "~" or path.startswith("~/"):
        if user is None:
            raise UserError(t("paths.no_home"), hint=t("paths.no_home_hint"))
        return user / path[2:]
    return Path(path)


def _profile_root(root: Path, profile: str) -> Path:
    """The root of `profile`, where `root` may itself be that of another profile."""
    base = root.parent.parent if root.parent.name == "profiles" else root
    if profile == _DEFAULT_PROFILE:
        return base
    if not re.fullmatch(_PROFILE, profile):
        raise UserError(
            t("paths.bad_profile", name=repr(profile)), hint=t("paths.bad_profile_hint")
        )
    found = base / "profiles" / profile
    if not found.is_dir():
        raise UserError(
            t("paths.no_profile", name=profile), hint=t("paths.no_profile_hint", path=found)
        )
    return found
