"""The demo model for tests, fetched once and kept in pytest's cache folder."""

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
