"""Checkpoints on a disk that is full or read-only: nothing is changed that cannot be taken back."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parent.parent / "support"
SMALL = "mount -t tmpfs -o size=1200k none"


def with_mounts(script: str, folder: Path, what: str) -> "subprocess.CompletedProcess[str]":
    """Run the child in a name space in which it, or `script`, may mount."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    child = f'{script} && exec "$2" -m checkpoint_disk_child "$1" {what}' if what else script
    return subprocess.run(
        [*command, child, "sh", str(folder), sys.executable],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SUPPORT)},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    if shutil.which("unshare") is None or with_mounts(f'{SMALL} "$1"', tmp_path, "").returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    return tmp_path


@pytest.mark.parametrize(
    ("where", "what", "first"),
    [('"$1"', "full", "NoSpace unchanged"), ('"$1/work"', "full-work", "refused unchanged")],
)
def test_a_full_disk_changes_nothing_and_the_same_restore_works_when_there_is_space(
    folder: Path, where: str, what: str, first: str
) -> None:
    run = with_mounts(f"{SMALL} {where}", folder, what)
    assert run.stdout.splitlines() == [first, "written changed"], run.stderr


def test_a_read_only_home_is_an_error_for_a_restore_and_stops_no_tool(folder: Path) -> None:
    run = with_mounts("true", folder, "read-only")
    assert run.stdout.splitlines() == ["StoreError unchanged", "StoreError True", "went on"], (
        run.stderr
    )
