"""A hostile command in the sandbox, at each level and by each engine."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hermes.terminals.sandbox import attempts
from hermes.terminals.sandbox.jail import Engine, Jail
from hermes.terminals.sandbox.plan import Level
from hermes.terminals.sandbox.trial import Outcome, trial
from sandbox_rig import ENGINES, Place, throw_away

pytestmark = pytest.mark.anyio

LEVELS: tuple[Level, ...] = ("protect", "workspace-write", "read-only")
SUPPORT = Path(__file__).parents[1] / "support"
CHILD = SUPPORT / "sandbox_child.py"
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
SECRETS = (".ssh/id_rsa", ".aws/credentials", ".netrc", ".hermes/.env", ".hermes/hermes.db")


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    engine: Engine = request.param
    with throw_away(engine) as place:
        furnish(place)
        yield place


def furnish(place: Place) -> None:
    for name in (*SECRETS, ".bashrc", ".gitconfig", ".hermes/config.yaml", ".hermes/SOUL.md"):
        place.put(name)


@pytest.fixture
def door() -> Iterator[str]:
    """A socket where tmux has its own."""
    folder = Path(f"/tmp/tmux-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"hermes-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        yield str(path)
    path.unlink()


def of(outcomes: Sequence[Outcome], attempt: str) -> list[Outcome]:
    return [each for each in outcomes if each.attempt == attempt]


@pytest.mark.parametrize("level", LEVELS)
async def test_nothing_breaks_out(place: Place, level: Level, door: str) -> None:
    outcomes = await trial(place.sandboxes(sandbox=level), place.workspace)
    assert [each for each in outcomes if each.verdict == "broken"] == []
    assert {each.attempt for each in outcomes} == attempts.ATTEMPTS.keys()
    targets = {each.target for each in of(outcomes, "read")}
    assert {str(place.user / name) for name in SECRETS} <= targets
    known = {each.attempt for each in outcomes if each.verdict == "open"}
    assert known - {"connect"} == {"connect_tcp"}
    doors = {each.target: each.verdict for each in of(outcomes, "connect")}
    assert doors[door] == ("held" if place.choice.engine == "bubblewrap" else "open")


async def test_without_a_network_nothing_of_this_machine_is_reached(place: Place) -> None:
    outcomes = await trial(place.sandboxes(network="none"), place.workspace)
    assert [each.verdict for each in of(outcomes, "connect_tcp")] == ["held"]
    assert [each for each in outcomes if each.verdict == "broken"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("read", "{user}/.ssh/id_rsa"),
        ("write", "{user}/.bashrc"),
        ("write", "{user}/.hermes"),
        ("rename", "{user}/.aws"),
        ("through_link", "{user}/.netrc", "{user}"),
        ("through_hard_link", "{user}/.netrc", "{user}"),
        ("through_proc", "{user}/.netrc"),
        ("in_background", "{user}/.netrc"),
        ("environment_of", "{pid}"),
        ("signal", "{pid}"),
        ("connect", "{door}"),
    ],
    ids=lambda words: words[0],
)
def test_without_a_sandbox_the_same_attempts_succeed(words: Sequence[str], door: str) -> None:
    # Else the tests above would prove nothing.
    with throw_away("landlock") as place:
        furnish(place)
        names = {"user": place.user, "pid": os.getpid(), "door": door}
        line = "\n".join(word.format(**names) for word in words)
        program = [sys.executable, "-I", "-S", attempts.__file__, line]
        said = subprocess.run(
            Jail(engine="none", level="off").argv(program),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=30,
            check=True,
        )
    assert said.stdout == "0 broken\n"


# Landlock has no process namespace; there the keeper alone ends what it started.
@pytest.mark.parametrize("place", ["bubblewrap"], indirect=True)
async def test_what_a_command_leaves_behind_ends_with_its_sandbox(place: Place) -> None:
    jail = await place.jail()
    # It holds the output open, whose end is what is waited for.
    said = place.bash(jail, "setsid bash -c 'trap \"\" TERM HUP; exec sleep 600' & echo done")
    assert said.stdout == "done\n"


@pytest.mark.parametrize("place", ["bubblewrap"], indirect=True)
async def test_who_kills_what_is_outside_of_a_sandbox_kills_what_is_in_it(place: Place) -> None:
    jail = await place.jail()
    with subprocess.Popen(
        jail.argv(["/bin/bash", "-c", "trap '' TERM HUP; echo ready; setsid sleep 600 & wait"]),
        stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"]},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.kill()
        # The end of the output: nobody holds it any more.
        assert process.stdout.read() == b""


async def test_sudo_and_other_set_user_id_programs_gain_nothing(place: Place) -> None:
    said = place.bash(await place.jail(), "grep -E 'NoNewPrivs|CapEff' /proc/self/status")
    lines = dict(line.split(":\t") for line in said.stdout.splitlines())
    assert lines["NoNewPrivs"] == "1"
    # SYS_ADMIN, SYS_PTRACE, SYS_RAWIO, SYS_MODULE, MKNOD, DAC_READ_SEARCH
    assert int(lines["CapEff"], 16) & sum(1 << n for n in (21, 19, 17, 16, 27, 2)) == 0


def python_for_nobody() -> tuple[str, dict[str, str]]:
    """A Python of our version that any account may run, and what makes it find our packages."""
    packages = next(p for p in sys.path if p.endswith("site-packages"))
    source = str(Path(attempts.__file__).parents[4] / "src")
    env = {"PYTHONPATH": f"{source}:{packages}:{SUPPORT}", "PYTHONDONTWRITEBYTECODE": "1"}
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for python in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        # setpriv has its rights until it has started something; what that may start counts.
        code = f"import hermes.terminals.sandbox.trial as _; open({str(CHILD)!r})\n"
        code += "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
        if (
            subprocess.run([*NOBODY, python, "-c", code], env=env, capture_output=True, check=False)
        ).returncode == 0:
            return python, env
    pytest.skip("nobody may read this checkout, or run a Python of this version")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_breaks_out_of_an_ordinary_accounts_sandbox(engine: Engine, level: Level) -> None:
    python, env = python_for_nobody()
    with throw_away(engine) as place:
        furnish(place)
        for path in (place.user.parent, place.user, *place.user.rglob("*")):
            os.chown(path, 65534, 65534)
        said = subprocess.run(
            [*NOBODY, python, str(CHILD), engine, level, str(place.user)],
            env={**env, "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
    assert said.returncode == 0, said.stderr
    verdicts = {line.split()[1]: line.split()[0] for line in said.stdout.splitlines()}
    assert verdicts.pop("connect_tcp") == "open"
    verdicts.pop("connect", None)
    assert set(verdicts.values()) == {"held"}
    assert {"read", "write", "unmount", "bind_elsewhere", "trace", "signal"} <= verdicts.keys()
