"""One policy: what the file tools say of a path is what a command in the sandbox finds."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hands import hands
from hermes.core.errors import ToolError
from hermes.core.ids import CallId, SessionId, TurnId
from hermes.core.people import Origin
from hermes.ports.tool import SessionState, Tool, ToolContext
from hermes.safety.path_area import real
from hermes.safety.paths import PathPolicy
from hermes.terminals.sandbox.jail import Engine
from sandbox_rig import ENGINES, Place, sandboxes, throw_away

pytestmark = pytest.mark.anyio

PATHS = (
    "ws/notes.txt",
    "ws/deep/down/notes.txt",
    "documents/letter.txt",
    "dotfiles/vimrc",
    "disk/keys/id_rsa",
    ".ssh/id_ed25519",
    ".ssh/authorized_keys",
    ".ssh/config",
    ".ssh/known_hosts",
    ".aws/credentials",
    ".azure/token",
    ".cargo/config.toml",
    ".cargo/credentials.toml",
    ".config/gh/hosts.yml",
    ".config/gcloud/credentials.db",
    ".config/ghostty/config",
    ".config/fish/config.fish",
    ".config/autostart/x.desktop",
    ".config/systemd/user/x.service",
    ".docker/config.json",
    ".gnupg/secring.gpg",
    ".kube/config",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".git-credentials",
    ".gitconfig",
    ".bashrc",
    ".profile",
    ".zshrc",
    ".local/bin/tool",
    ".local/share/applications/x.desktop",
    ".hermes/SOUL.md",
    ".hermes/config.yaml",
    ".hermes/.env",
    ".hermes/auth.json",
    ".hermes/hermes.db",
    ".hermes/hermes.db-wal",
    ".hermes/skills/x/SKILL.md",
    ".hermes/skills/.hub/lock.json",
    ".hermes/memories/USER.md",
    ".hermes/vault/key",
    ".hermes/cache/config.json",
    ".hermes/cache/terminal-output/1.txt",
    ".hermes/profiles/p/.env",
    ".hermes/profiles/p/hermes.db",
    ".hermes/profiles/p/SOUL.md",
    "venv/lib/module.py",
    "other/.ssh/id_rsa",
    "other/.hermes/.env",
    "other/.hermes/config.yaml",
    "other/plain.txt",
    "/etc/passwd",
    "/usr/lib/os-release",
)

ASK = """
for path; do
  read=- write=-
  { head -c1 "$path" | grep -q .; } 2>/dev/null && read=r
  { : >> "$path"; } 2>/dev/null && write=w
  printf '%s\\0%s\\0' "$path" "$read$write"
done
"""


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    engine: Engine = request.param
    with throw_away(engine) as place:
        yield place


def policy_of(place: Place) -> PathPolicy:
    user = place.user
    return PathPolicy(
        home=user / ".hermes", user=user, people=[user / "other"], interpreter=[user / "venv"]
    )


async def answers(place: Place, policy: PathPolicy, paths: list[str]) -> dict[str, str]:
    """What the file tools do with each path when nobody is there to be asked."""
    tools = hands(policy, records=place.user / "records")
    return {path: await answer(tools, policy, path) for path in paths}


async def answer(tools: dict[str, Tool], policy: PathPolicy, path: str) -> str:
    state = SessionState("/")

    async def works(tool: str, **arguments: str) -> bool:
        context = ToolContext(
            session=SessionId("s"),
            turn=TurnId("t"),
            call=CallId("c"),
            origin=Origin(surface="cli"),
            state=state,
            touches=(path,),
        )
        try:
            output = await tools[tool].run({"path": path, **arguments}, context)
        except ToolError:
            return False
        return output.outcome == "ok"

    read = await works("read_file")
    asked = policy.asks(Path(path)) is not None
    write = not asked and await works("write_file", content="SECRET\n")
    return f"{'r' if read else '-'}{'w' if write else '-'}"


async def test_file_tools_and_commands_find_the_same(place: Place) -> None:
    paths = [str(place.user / name) for name in PATHS]
    for path in paths:
        if not path.startswith(("/etc/", "/usr/")):
            place.put(path)
    place.user.joinpath(".vimrc").symlink_to(place.user / "dotfiles/vimrc")
    place.user.joinpath("other/.aws").symlink_to(place.user / "disk/keys")
    policy = policy_of(place)
    jails = sandboxes(place.user, choice=place.choice, policy=policy)
    jail = await jails.jail(place.workspace)
    said = place.bash(jail, ASK, *paths)
    words = said.stdout.split("\0")[:-1]
    found = dict(zip(words[::2], words[1::2], strict=True))
    assert list(found) == paths, said.stderr
    assert found == await answers(place, policy, paths)
    assert {"rw", "r-", "--"} <= set(found.values())
    assert len(paths) > 30


def test_where_paths_lead_is_found_as_the_library_finds_it(tmp_path: Path) -> None:
    (tmp_path / "real/deep").mkdir(parents=True)
    (tmp_path / "real/deep/file").touch()
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "again").symlink_to(tmp_path / "folder/deep")
    (tmp_path / "real/up").symlink_to("../again/file")
    (tmp_path / "nowhere").symlink_to("missing/too")
    (tmp_path / "loop").symlink_to("loop")
    names = "real again folder/deep folder/up again/file again/none nowhere nowhere/x loop/x none/x"
    paths = ["/", "/usr", *(f"{tmp_path}/{name}" for name in names.split())]
    assert [path or "/" for path in real(paths)] == [os.path.realpath(path) for path in paths]


async def test_what_appears_in_the_home_of_hermes_later_is_seen_only_if_it_may_be(
    place: Place,
) -> None:
    place.put(".hermes/skills/old/SKILL.md", "old\n")
    place.put(".hermes/.env", "OLD=1\n")
    jail = await place.jail()
    script = f"cd {str(place.user)!r}; echo ready; read -r; cat .hermes/{{.env,auth.json}} "
    with subprocess.Popen(
        jail.argv(["/bin/bash", "-c", script + ".hermes/hermes.db-wal .hermes/skills/*/SKILL.md"]),
        env={"PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        place.put("new", "NEW=2\n").replace(place.user / ".hermes/.env")
        place.put(".hermes/auth.json", "token\n")
        place.put(".hermes/hermes.db-wal", "conversation\n")
        place.put(".hermes/skills/new/SKILL.md", "new\n")
        said, _ = process.communicate("\n", timeout=20)
    assert said.splitlines() == ["new", "old"]


async def test_protected_paths_that_come_to_be_during_a_session_are_told(place: Place) -> None:
    place.put("dotfiles/vimrc")
    place.user.joinpath(".vimrc").symlink_to(place.user / "dotfiles/vimrc")
    place.put(".bashrc")
    place.put(".config/x")
    jail = await place.jail()
    assert jail.appeared() == ()
    place.put(".zshenv", "echo hello\n")
    place.put(".config/autostart/x.desktop")
    place.user.joinpath(".vimrc").unlink()
    place.put(".vimrc", "call system('true')\n")
    names = {str(Path(path).relative_to(place.user)) for path in jail.appeared()}
    assert names == {".zshenv", ".config/autostart", ".vimrc"}


async def test_what_is_exposed_is_open_and_nothing_else(place: Place) -> None:
    for name in (".ssh/id_rsa", ".ssh/config", ".aws/credentials", ".config/gh/hosts.yml"):
        place.put(name)
    jail = await place.jail(expose=("ssh", "gh"))
    said = place.bash(jail, "cat .ssh/id_rsa; cat .config/gh/hosts.yml; cat .aws/credentials")
    assert said.stdout == "SECRET\nSECRET\n"
    assert said.returncode != 0
