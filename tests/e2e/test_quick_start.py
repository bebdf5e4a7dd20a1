"""`make chat` of the README, with the program that is already installed here."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.sdk.testing.model_server import ScriptedModel
from program import Program

ROOT = Path(__file__).parent.parent.parent

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """What the Makefile takes for an environment in which Hermes is installed already."""
    folder = tmp_path / "venv"
    folder.mkdir()
    (folder / "bin").symlink_to(Path(sys.executable).parent)
    for stamp in (".made", ".local"):
        (folder / stamp).touch()
    return folder


def make(program: Program, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["make", "-C", ROOT, "--no-print-directory", *arguments],
        env=program.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "message",
    [
        "Say hello",
        'it\'s "quoted", `id`, $HOME, $(id), $$ and 100% of # it\\',
        "-q is no option here",
        "你好",
    ],
)
def test_a_message_reaches_the_model_as_it_was_typed(
    program: Program, venv: Path, message: str
) -> None:
    with ScriptedModel(["The answer"]) as model:
        program.configure(model.base_url)
        done = make(program, "chat", f"VENV={venv}", f"MESSAGE={message}")
    assert (done.returncode, done.stdout) == (0, b"The answer\n"), done.stderr
    assert model.requests[0].messages[-1]["content"] == message


def test_a_message_from_the_environment_is_taken_too(program: Program, venv: Path) -> None:
    with ScriptedModel(["The answer"]) as model:
        program.configure(model.base_url)
        program.env["MESSAGE"] = "costs $5"
        done = make(program, "chat", f"VENV={venv}")
    assert (done.returncode, done.stdout) == (0, b"The answer\n"), done.stderr
    assert model.requests[0].messages[-1]["content"] == "costs $5"


def test_a_turn_that_fails_fails_make_and_leaves_stdout_empty(program: Program, venv: Path) -> None:
    with ScriptedModel([]) as model:
        address = model.base_url
    program.configure(address)
    done = make(program, "chat", f"VENV={venv}", "MESSAGE=hi")
    assert done.returncode != 0
    assert done.stdout == b""
    assert b"Nothing answers" in done.stderr


def test_without_a_message_and_without_a_person_there_is_nothing_to_say(
    program: Program, venv: Path
) -> None:
    done = make(program, "chat", f"VENV={venv}")
    assert done.returncode != 0
    assert done.stdout == b""


def test_a_python_that_is_too_old_is_named_before_anything_is_made(
    program: Program, tmp_path: Path
) -> None:
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    old.chmod(0o700)
    done = make(program, "chat", f"VENV={tmp_path / 'new'}", f"PYTHON={old}", "MESSAGE=hi")
    assert done.returncode != 0
    assert done.stdout == b""
    assert b"Hermes needs Python 3.11" in done.stderr
    assert not (tmp_path / "new").exists()


def test_an_environment_that_cannot_be_made_is_not_taken_for_one(
    program: Program, tmp_path: Path
) -> None:
    broken = tmp_path / "python3"
    broken.write_text(
        f'#!/bin/sh\n[ "$2" = venv ] && exit 3\nexec {sys.executable} "$@"\n', encoding="utf-8"
    )
    broken.chmod(0o700)
    venv = tmp_path / "new"
    for _ in range(2):
        done = make(program, "chat", f"VENV={venv}", f"PYTHON={broken}", "MESSAGE=hi")
        assert done.returncode != 0
        assert done.stdout == b""
        assert not (venv / ".made").exists()
