"""Each store in turn."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.ports.store import Lease
from journals import (
    CLI,
    STORES,
    A,
    Open,
    Store,
    epoch,
)
from places import applets, open_place, place, shell_place, small_disk  # noqa: F401  fixtures
from terminal_rig import backend, folder, kind, leash, run  # noqa: F401  fixtures


@pytest.fixture(params=STORES)
def open_store(request: pytest.FixtureRequest) -> Open:
    return STORES[request.param]


@pytest.fixture
async def store(open_store: Open, tmp_path: Path) -> AsyncIterator[Store]:
    made = await open_store(tmp_path)
    yield made
    await made.aclose()


@pytest.fixture
async def lease(store: Store) -> Lease:
    return await store.create(A, CLI, cwd="/w", epoch=epoch(), now=1.0)
