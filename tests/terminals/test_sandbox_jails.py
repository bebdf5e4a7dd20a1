"""How a sandbox is made, used and refused, and what its failures are told as."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from hermes.core.errors import ConfigError, ToolError
from hermes.safety.paths import PathPolicy
from hermes.system.process import Reaper
from hermes.terminals.sandbox.jail import Engine, Jail
from hermes.terminals.sandbox.plan import Level
from hermes.terminals.sandbox.sandboxes import Choice
from sandbox_rig import ENGINES, Place, sandboxes, throw_away

pytestmark = pytest.mark.anyio

NO_ENGINE = Choice(engine="none", passed_over={"bubblewrap": "not found", "landlock": "it is off"})
LEVELS: tuple[Level, ...] = ("protect", "workspace-write", "read-only")


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    engine: Engine = request.param
    with throw_away(engine) as place:
        yield place


async def run(jail: Jail, script: str, cwd: Path) -> tuple[int, bytes]:
    """As a terminal does: by a keeper in the sandbox."""
    reaper = Reaper(jail=jail)
    said = bytearray()
    try:
        tree = reaper.start(["/bin/bash", "-c", script], cwd=str(cwd), env={"PATH": os.defpath})
        status = await tree.stream(said.extend)
        tree.leave()
    finally:
        await reaper.aclose()
    return status, bytes(said)


async def test_the_keeper_works_inside_and_hands_on_no_descriptor(place: Place) -> None:
    place.put(".ssh/id_rsa")
    script = "cat ../.ssh/id_rsa; echo new > made; ls /proc/self/fd | wc -l"
    status, said = await run(await place.jail(), script, place.workspace)
    assert status == 0
    assert (place.workspace / "made").read_text(encoding="utf-8") == "new\n"
    # The three standard ones, and that of the listing.
    assert said.splitlines()[-1].strip() == b"4"
    assert b"SECRET" not in said


@pytest.mark.parametrize("level", LEVELS)
async def test_what_each_level_lets_be_written(place: Place, level: Level) -> None:
    place.put("documents/x")
    place.put(".cache/pip/x")
    jail = await place.jail(sandbox=level)
    names = ("ws/x", "documents/x", ".cache/pip/x", ".hermes/cache/terminal-state/x")
    script = 'for name in "${@}"; do (: >> "$name") 2>/dev/null && echo "$name"; done'
    with_tmp = f"/tmp/hermes-test-{os.getpid()}-{place.choice.engine}"
    try:
        written = place.bash(jail, script, *names, with_tmp).stdout.splitlines()
        assert Path(with_tmp).exists()
    finally:
        Path(with_tmp).unlink(missing_ok=True)
    expected = {
        "protect": list(names),
        "workspace-write": ["ws/x", ".cache/pip/x", names[-1]],
        "read-only": [names[-1]],
    }[level]
    assert written == [*expected, with_tmp]


async def test_a_bubblewrap_that_does_not_work_is_passed_over_with_its_own_words(
    tmp_path: Path,
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho no permissions to create namespaces >&2\nexit 1\n", "utf-8")
    broken.chmod(0o755)
    choice = await sandboxes(tmp_path, env={"PATH": str(tmp_path)}).choice()
    assert choice.engine in {"landlock", "none"}
    assert choice.passed_over["bubblewrap"] == "no permissions to create namespaces"


async def test_level_off_is_no_sandbox() -> None:
    jail = await sandboxes(Path("/nowhere"), sandbox="off").jail(Path("/"))
    assert jail.argv(["/bin/true", "x"]) == ["/bin/true", "x"]
    assert (jail.engine, jail.warning, jail.hint(b"Permission denied", 1)) == ("none", None, None)


async def test_without_an_engine_protect_goes_on_and_says_so_once(tmp_path: Path) -> None:
    made = sandboxes(tmp_path, choice=NO_ENGINE)
    first, second = await made.jail(tmp_path), await made.jail(tmp_path)
    assert first.argv(["/bin/true"]) == ["/bin/true"]
    assert "without a sandbox" in str(first.warning)
    assert "not found" in str(first.warning)
    assert second.warning is None


@pytest.mark.parametrize(
    "settings",
    [
        {"sandbox": "workspace-write"},
        {"sandbox": "read-only"},
        {"network": "none"},
        {"network": "allow-list", "network_allow": ("example.org",)},
    ],
)
async def test_without_an_engine_what_needs_one_is_refused(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    async with sandboxes(tmp_path, choice=NO_ENGINE, **settings) as made:
        with pytest.raises(ToolError, match="No sandbox works here") as refusal:
            await made.jail(tmp_path)
    assert "not found" in str(refusal.value)


def test_a_name_that_opens_nothing_is_an_error_that_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean `gcloud`"):
        sandboxes(tmp_path, expose=("gclod",))


@pytest.mark.parametrize(
    "entry", ["", "*", "a b", "host:port", "https://host", "user@host", "*.*.x"]
)
def test_what_is_no_host_is_an_error(tmp_path: Path, entry: str) -> None:
    with pytest.raises(ConfigError, match="no host"):
        sandboxes(tmp_path, network="allow-list", network_allow=(entry,))


def test_hosts_without_the_policy_that_reads_them_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="allow-list"):
        sandboxes(tmp_path, network_allow=("example.org",))


async def test_a_workspace_in_the_home_of_hermes_is_read_only_there(place: Place) -> None:
    place.put(".hermes/project/a.txt", "here\n")
    jail = await place.jail(place.user / ".hermes/project", sandbox="workspace-write")
    said = place.bash(jail, "cd .hermes/project && cat a.txt && echo x > b.txt")
    assert said.stdout == "here\n"
    assert said.returncode != 0


async def test_a_home_of_hermes_in_the_workspace_is_kept_there(place: Place) -> None:
    place.put("ws/hermes home/.env")
    place.put("ws/hermes home/config.yaml", "x: 1\n")
    policy = PathPolicy(home=place.workspace / "hermes home", user=place.user)
    made = sandboxes(place.user, choice=place.choice, policy=policy, sandbox="workspace-write")
    jail = await made.jail(place.workspace)
    script = "cd ws; cat 'hermes home'/.env; cat 'hermes home'/config.yaml; mv 'hermes home' gone"
    said = place.bash(jail, script)
    assert said.stdout == "x: 1\n"
    assert (place.workspace / "hermes home/.env").exists()


async def test_an_account_whose_home_is_the_root_has_a_sandbox(place: Place) -> None:
    policy = PathPolicy(home=place.user / ".hermes", user=Path("/"))
    jail = await sandboxes(place.user, choice=place.choice, policy=policy).jail(place.workspace)
    said = place.bash(jail, "echo works > ws/x; cat ws/x; echo no > /etc/hermes-test")
    assert said.stdout == "works\n"
    assert not Path("/etc/hermes-test").exists()


async def test_the_agent_of_ssh_is_reached_wherever_its_socket_is(place: Place) -> None:
    agent = place.user / ".ssh/agent/socket"
    place.put(".ssh/id_rsa")
    agent.parent.mkdir()
    place.env["SSH_AUTH_SOCK"] = str(agent)
    listener = await anyio.create_unix_listener(agent)
    async with listener:
        jail = await place.jail()
        python = "import socket; socket.socket(socket.AF_UNIX).connect(__import__('sys').argv[1])"
        said = place.bash(jail, f'exec {sys.executable} -c "{python}" "$1"', str(agent))
    assert said.returncode == 0, said.stderr
    assert place.bash(jail, "cat .ssh/id_rsa").returncode != 0


async def test_a_folder_above_a_protected_path_is_not_moved_away(place: Place) -> None:
    place.put(".config/gh/hosts.yml")
    place.bash(await place.jail(), "mv .config elsewhere")
    assert (place.user / ".config/gh/hosts.yml").exists()


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("cat .aws/credentials", "`terminal.local.expose`: aws"),
        ("cat ~/.hermes/.env", "at every level"),
        ("echo x >> ~/.bashrc", "read-only"),
        ("touch /usr/bin/x", "read-only"),
        ("echo 'sudo: The \"no new privileges\" flag is set'; exit 1", "sudo"),
    ],
)
async def test_a_failure_that_the_sandbox_caused_is_explained(
    place: Place, script: str, told: str
) -> None:
    place.put(".aws/credentials")
    place.put(".bashrc")
    place.put(".hermes/.env")
    jail = await place.jail()
    said = place.bash(jail, script.replace(".aws", f"{str(place.user)!r}/.aws"))
    hint = jail.hint((said.stdout + said.stderr).encode(), said.returncode)
    assert hint is not None, said
    assert told in hint
    assert f"({place.choice.engine}, level protect)" in hint


async def test_a_socket_that_is_closed_is_named(place: Place) -> None:
    hint = (await place.jail()).hint(b"Cannot connect to the Docker daemon at unix:///x", 1)
    # Landlock does not close it.
    assert (hint is None) == (place.choice.engine == "landlock")
    assert hint is None or "`terminal.local.expose`" in hint


@pytest.mark.parametrize(
    ("output", "exit_code"),
    [
        ("cat: /no/such/file: No such file or directory", 1),
        ("mkdir: cannot create directory 'ws/a/b': No such file or directory", 1),
        ("Permission denied (publickey).", 255),
        ("FAILED tests/test_x.py::test_read_only", 1),
        ("cat: /usr/bin/x: Read-only file system", 0),
        ("Connection refused", 1),
    ],
)
async def test_other_failures_are_not_put_on_the_sandbox(
    place: Place, output: str, exit_code: int
) -> None:
    assert (await place.jail()).hint(output.encode(), exit_code) is None
