"""What many tests share."""

from pathlib import Path

import pytest
from hypothesis import settings

from demo import demo_model  # noqa: F401  a fixture
from program import Program
from rig import Rig

settings.register_profile("hermes", deadline=None)
settings.load_profile("hermes")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    folder = tmp_path / "work"
    folder.mkdir()
    return Program(home=tmp_path / "home", cwd=folder)
