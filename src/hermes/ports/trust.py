"""Which folders a person trusts to bring settings, hooks and skills of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedFolder:
    """A decision about a folder. `at` is an ISO 8601 time; `same` is false if another folder has
    taken its place since, and the decision does not count for that."""

    path: str
    trusted: bool
    at: str
    same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A folder that brings things of its own: `things` are the names of those files and folders.

    `standing`: `trusted`, `refused` for good, or `unknown`. Only for `trusted` may any be used.
    """

    root: Path
    things: Sequence[str]
    standing: Literal["trusted", "refused", "unknown"]


class FolderTrust(Protocol):
    """The trusted folders of a home. Every method raises ConfigError for a broken store."""

    def trusted(self, path: Path) -> bool:
        """Whether `path` is a trusted folder or inside one."""
        ...

    def project(self, folder: Path) -> Project | None:
        """The nearest folder from `folder` upwards that brings things of its own."""
        ...

    def decide(self, path: Path, *, trusted: bool) -> Path:
        """Trust a folder, or never; its real path. Raises UserError for one that is too wide."""
        ...

    def forget(self, path: Path) -> bool:
        """Take the decision about a folder back; whether there was one."""
        ...

    def listed(self) -> tuple[TrustedFolder, ...]:
        """Every decision, by path."""
        ...
