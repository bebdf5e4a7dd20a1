"""The demo model for tests: fetched once, kept in pytest's cache folder, run by one worker."""

from pathlib import Path

import anyio
import pytest

from hermes.core.errors import HermesError
from hermes.models.local.install import install


@pytest.fixture(scope="session")
def demo_model(request: pytest.FixtureRequest) -> Path:
    """The file of the demo model; skips, with the reason, where it cannot be fetched."""
    folder = request.config.cache.mkdir("demo-model")

    async def fetch() -> Path:
        return await install(folder, progress=lambda done, total: None)

    try:
        return anyio.run(fetch)
    except HermesError as e:
        pytest.skip(str(e))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put all tests that run the model on one worker (`--dist loadgroup`): it keeps a CPU busy."""
    for item in items:
        if item.get_closest_marker("localmodel"):
            item.add_marker(pytest.mark.xdist_group("localmodel"))
