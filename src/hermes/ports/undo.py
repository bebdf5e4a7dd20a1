"""What the checkpoints hold, and how it is brought back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

StateKind = Literal["file", "link", "nothing"]

NotCovered = Literal[
    "too_large",  # more than checkpoints.max_file_size_mb
    "unreadable",
    "not_a_file",  # a folder, pipe, socket or device
    "changing",  # written to while it was read
    "store_full",  # checkpoints.max_total_size_mb, or the disk
    "private",  # Hermes's own
    "late",  # a snapshot's time was up
    "unsure",  # a file that may have been there before, unseen
]
"""Why the old state of a file is not there."""

GapCode = Literal[
    "too_many",  # more files than a snapshot covers
    "place",  # the root of the machine, a person's home folder, or Hermes's own home
    "late",
    "store_full",
    "unlisted",  # the files could not be listed
    "nested",  # repositories inside, which a snapshot leaves out
    "cut_off",  # Hermes ended before the command did
    "failed",
]
"""Why a command's changes may be more than what the checkpoint shows."""

Deed = Literal["written", "removed", "linked", "mode"]

Hindrance = Literal[
    "not_covered",
    "edited_after",  # not as the agent left it
    "edited_between",  # changed by somebody between two changes of the agent
    "unknown",  # it is not known what the agent left
    "moved",  # its folder is another one now
    "not_a_file",
    "unreadable",
    "not_kept",  # its present state cannot be captured first
    "damaged",  # the stored content is not what it was
    "refused",  # the file system said no, to this file or one that is written together with it
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """What stands at a path. `sha256` is of a file's content or a link's target; `mode` holds the
    permission bits of a file."""

    kind: StateKind
    sha256: bytes | None = None
    size: int = 0
    mode: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """One file of a checkpoint.

    `was` is None if it is `not_covered`, with the system's words in `detail`. `left` is what the
    tool left, None if that is not known. `mixed` says that somebody else changed the file between
    two changes of this turn. `new_folders` counts the folders above it that were not there.
    """

    path: str
    tool: str
    was: FileState | None
    left: FileState | None
    mixed: bool = False
    not_covered: NotCovered | None = None
    detail: str = ""
    new_folders: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GapNote:
    """What a checkpoint does not cover; `detail` is a number, a path, or the system's words."""

    tool: str
    code: GapCode
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRow:
    """A checkpoint in a list. Numbers count up within a workspace.

    `at` is in seconds since the epoch, `files` counts all of its files and `missed` those that are
    not covered; `bytes` is what the captured contents take in the store.
    """

    number: int
    at: float
    session: str
    tools: tuple[str, ...]
    files: int
    missed: int
    bytes: int
    gaps: tuple[GapNote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceRow:
    """A folder that has checkpoints; `bytes` is what they and its last snapshot take."""

    root: str
    checkpoints: int
    bytes: int
    exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a restore did, or would do, with one file: a deed, or why not (in `detail` the system's
    words). Neither: it is as it was already."""

    path: str
    deed: Deed | None = None
    hindrance: Hindrance | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A whole restore. `undo` is the checkpoint of the state before it, None if nothing changed."""

    outcomes: tuple[Outcome, ...]
    undo: int | None

    @property
    def complete(self) -> bool:
        """Whether everything is as it was."""
        return not any(outcome.hindrance for outcome in self.outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What a prune took away, or would: how many checkpoints for which reason, and bytes."""

    aged: int = 0
    surplus: int = 0
    orphaned: int = 0
    oversize: int = 0
    freed: int = 0
    left: int = 0

    @property
    def checkpoints(self) -> int:
        return self.aged + self.surplus + self.orphaned + self.oversize


class CheckpointHistory(Protocol):
    """The captured past, for the person it belongs to. Everything raises StoreError."""

    async def root(self, folder: str) -> str:
        """The workspace that `folder` belongs to."""
        ...

    async def workspaces(self) -> tuple[WorkspaceRow, ...]:
        """All of them, the last used first."""
        ...

    async def checkpoints(self, root: str) -> tuple[CheckpointRow, ...]:
        """Those of one workspace, the newest first."""
        ...

    async def files(self, root: str, number: int) -> tuple[ChangedFile, ...]:
        """The files of a checkpoint, by path; raises UserError if there is no such checkpoint."""
        ...

    async def content(self, sha256: bytes) -> bytes:
        """A captured content; raises Corrupt if it is not what it was."""
        ...

    async def restore(
        self,
        root: str,
        number: int,
        *,
        paths: Sequence[str] = (),
        only: bool = False,
        overwrite: bool = False,
        dry_run: bool = False,
    ) -> Restored:
        """Bring the files that the agent changed back to how they were before checkpoint `number`,
        undoing all later ones too, or just that one (`only`).

        `paths` limits it to these files and what is below these folders. `overwrite` takes edits
        of other people back as well. Raises UserError if there is no such checkpoint.
        """
        ...

    async def prune(self, *, dry_run: bool, keep_orphans: bool) -> Pruned:
        """Take away what is too old, too much, or of a folder that is gone."""
        ...

    async def clear(self) -> Pruned:
        """Take everything away."""
        ...
