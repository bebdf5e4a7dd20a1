"""The checkpoints of a run, opened when something is about to change."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, final

from hermes.core.clock import Clock
from hermes.ports.checkpoint import ChangeOrigin, CommandWatch
from hermes.system.config.sections import CheckpointsSection
from hermes.system.paths import Home

if TYPE_CHECKING:
    from hermes.stores.checkpoints.store import CheckpointStore


@final
class RunCheckpoints:
    """Implements `ports.checkpoint.Checkpoints`; most runs change nothing and load no store."""

    def __init__(self, make: "Callable[[], CheckpointStore]") -> None:
        self._make = make

    @cached_property
    def _store(self) -> "CheckpointStore":
        return self._make()

    async def before(self, origin: ChangeOrigin, paths: Sequence[str]) -> None:
        await self._store.before(origin, paths)

    async def after(self, origin: ChangeOrigin, left: Mapping[str, bytes | None]) -> None:
        await self._store.after(origin, left)

    async def command(self, origin: ChangeOrigin, command: str) -> CommandWatch | None:
        return await self._store.command(origin, command)

    async def prune_when_due(self, home: Home, section: CheckpointsSection, clock: Clock) -> None:
        """Prune at most each `min_interval_hours`, by the age of a stamp."""
        stamp = home.checkpoints / "pruned"
        if not section.auto_prune or not home.checkpoints.exists():
            return
        with suppress(FileNotFoundError):
            if clock.now() - stamp.stat().st_mtime < section.min_interval_hours * 3_600:
                return
        await self._store.prune(dry_run=False, keep_orphans=True)
        stamp.touch(mode=0o600)

    async def aclose(self) -> None:
        if "_store" in self.__dict__:
            await self._store.aclose()
