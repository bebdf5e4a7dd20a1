"""Files to be looked at and changed, through each implementation of the `Files` port."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from hermes.core.clock import SystemClock
from hermes.ports.files import Change, FaultCode, FileFault, Files
from hermes.terminals.local_files import LocalFiles
from hermes.terminals.ripgrep import Ripgrep
from hermes.terminals.shell_files.files import ShellFiles

SHELLS: Final = ("bash", "dash", "busybox sh")
KINDS: Final = ("local", *SHELLS)
ROOT: Final = os.geteuid() == 0

NOBODY: Final = ("/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")

ODD_NAMES: Final = (
    "-rf",
    "a b",
    "new\nline",
    "ends in newline\n",
    'it\'s "quoted" \\ `date` $(date) ${x}',
    "*?[a]",
    "\x01\x7f\t",
    os.fsdecode(b"\xff\xfe.txt"),
    "名前",
    "n" * 255,
    "..x",
    "%s\\n",
)


@dataclass
class Place:
    """A folder of files, seen through one implementation, and its folder for records."""

    kind: str
    folder: Path
    records: Path
    path: str
    files: Files = field(init=False)

    def __post_init__(self) -> None:
        self.files = self.again()

    def again(self, before: Sequence[str] = (), lead: str = "", patience: float = 30) -> Files:
        """The same files through another object; a shell is started by the command `before`, and
        first runs `lead`."""
        home = str(self.folder / "home")
        if self.kind == "local":
            ripgrep = Ripgrep(path=self.path)
            return LocalFiles(home=home, records=self.records, clock=SystemClock(), ripgrep=ripgrep)
        shell = "sh" if self.kind == "busybox sh" else self.kind
        program = shutil.which(shell, path=self.path)
        assert program is not None
        return ShellFiles(
            lambda script: (*before, program, "-c", lead + script),
            records=str(self.records),
            home=home,
            env={"PATH": self.path, "HOME": home},
            patience=patience,
        )

    def at(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def put(self, name: str, data: bytes = b"old\n") -> str:
        """A file with `data`; its path."""
        path = Path(self.at(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return str(path)

    def everything(self) -> dict[str, tuple[object, ...]]:
        """All that can be seen below the folder: kind and mode, owner, content or target."""
        found: dict[str, tuple[object, ...]] = {}
        for folder, folders, files in os.walk(self.folder):
            for name in (*folders, *files):
                path = Path(folder, name)
                at = path.lstat()
                content: object = None
                if path.is_symlink():
                    content = os.readlink(path)
                elif path.is_file():
                    content = path.read_bytes()
                found[str(path)] = (oct(at.st_mode), at.st_uid, at.st_gid, at.st_nlink, content)
        return found

    def leftovers(self) -> list[str]:
        """Names that a commit should have taken away again."""
        found = [path for path in self.everything() if "/.hermes-" in path]
        return found + [str(path) for path in self.records.glob("*") if path.name != "lock"]

    async def refuses(self, changes: Sequence[Change], *codes: FaultCode) -> FileFault:
        """`changes` fault with one of `codes`, and everything is as it was."""
        before = self.everything()
        with pytest.raises(FileFault) as fault:
            await self.files.commit(changes)
        assert fault.value.code in codes, fault.value
        assert self.everything() == before
        assert self.leftovers() == []
        return fault.value


def sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


@pytest.fixture(scope="session")
def applets(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with all commands of busybox, and nothing else."""
    busybox = shutil.which("busybox")
    assert busybox is not None, "install busybox: the port is promised for its shell too"
    folder = tmp_path_factory.mktemp("applets")
    subprocess.run([busybox, "--install", "-s", folder], check=True)
    return str(folder)


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    kind = request.param
    path = os.environ["PATH"]
    if kind == "busybox sh":
        path = request.getfixturevalue("applets")
    elif kind == "dash" and shutil.which("dash") is None:
        pytest.skip("there is no dash here")
    folder = tmp_path / "place"
    folder.mkdir()
    made = Place(kind=kind, folder=folder, records=tmp_path / "records", path=path)
    yield made
    assert made.leftovers() == []


@pytest.fixture
def shell_place(place: Place) -> Place:
    if place.kind == "local":
        pytest.skip("a promise of shells")
    return place


@pytest.fixture
def open_place(shell_place: Place) -> Iterator[Place]:
    """One that any user can get at, through shells that may be started by NOBODY."""
    if not ROOT:
        pytest.skip("only root can become somebody else")
    with TemporaryDirectory() as name:
        above = Path(name)
        above.chmod(0o755)
        path = shell_place.path
        if shell_place.kind == "busybox sh":
            path = f"{above}/applets"
            shutil.copytree(shell_place.path, path, symlinks=True)
            Path(path).chmod(0o755)
        folder = above / "place"
        folder.mkdir(mode=0o755)
        yield Place(kind=shell_place.kind, folder=folder, records=above / "records", path=path)


@pytest.fixture
def small_disk(place: Place) -> Iterator[Path]:
    """A file system of 256 KiB below the folder of `place`."""
    if not ROOT:
        pytest.skip("only root can mount a small disk")
    folder = place.folder / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)
