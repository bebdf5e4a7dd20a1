"""The checkpoints of this home, as configured."""

import contextlib
from pathlib import Path

import anyio

from hermes.core.clock import Clock
from hermes.core.ids import IdSource
from hermes.ports.files import Files
from hermes.stores.checkpoints.keep import MEBI, Limits
from hermes.stores.checkpoints.store import CheckpointStore, Keep, private_paths
from hermes.system.config.sections import CheckpointsSection
from hermes.system.env import Environment
from hermes.system.paths import Home


def checkpoint_store(
    home: Home,
    section: CheckpointsSection,
    *,
    files: Files,
    env: Environment,
    clock: Clock,
    ids: IdSource,
) -> CheckpointStore:
    """Nothing is opened yet."""
    limits = Limits(
        file=section.max_file_size_mb * MEBI,
        total=section.max_total_size_mb * MEBI,
        snapshots=section.max_snapshots,
    )
    return CheckpointStore(
        home.checkpoints,
        home=home.root,
        user=home.user,
        files=files,
        keep=Keep(limits=limits, age=section.retention_days * 86_400.0),
        private=private_paths(home.root),
        env=env,
        clock=clock,
        ids=ids,
    )


async def prune_when_due(
    store: CheckpointStore, home: Home, section: CheckpointsSection, clock: Clock
) -> None:
    """Prune at most each `min_interval_hours`, by the age of a stamp."""
    stamp = anyio.Path(home.checkpoints / "pruned")
    if not section.auto_prune or not Path(home.checkpoints / "checkpoints.db").exists():
        return
    with contextlib.suppress(FileNotFoundError):
        age = clock.now() - (await stamp.stat()).st_mtime
        if age < section.min_interval_hours * 3_600:
            return
    await store.prune(dry_run=False, keep_orphans=True)
    await stamp.touch(mode=0o600)
