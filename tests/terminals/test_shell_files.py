"""Files through a shell: what depends on the way to it, and on what it finds there."""

import os
import shlex
import shutil
from pathlib import Path

import pytest

from hermes.ports.files import FileFault, Write
from hermes.terminals.shell_files.channel import Shell
from hermes.terminals.shell_files.files import ShellFiles, home_there
from places import ODD_NAMES, sha

ENV = {"PATH": os.environ["PATH"], "HOME": "/the/home of\nit"}


def plain(script: str) -> list[str]:
    return ["sh", "-c", script]


def files(tmp_path: Path, shell: Shell = plain, path: str = ENV["PATH"]) -> ShellFiles:
    records = str(tmp_path / "records")
    return ShellFiles(shell, records=records, home=None, env={**ENV, "PATH": path})


def with_only(tmp_path: Path, *commands: str) -> ShellFiles:
    """Files of a machine that has no other commands; its shell is known by its path."""
    folder = tmp_path / "commands"
    folder.mkdir()
    for command in ("sh", *commands):
        found = shutil.which(command)
        assert found
        (folder / command).symlink_to(found)
    return files(tmp_path, lambda s: [f"{folder}/sh", "-c", s], str(folder))


async def test_the_home_folder_is_asked_of_the_shell() -> None:
    assert await home_there(plain, env=ENV) == ENV["HOME"]
    assert await home_there(plain, env={**ENV, "HOME": ""}) is None


async def test_a_way_that_splits_arguments_again_needs_one_more_quote(tmp_path: Path) -> None:
    there = files(tmp_path, lambda s: ["sh", "-c", "exec sh -c " + shlex.quote(s)])
    for name in ODD_NAMES:
        path = f"{tmp_path}/{name}"
        await there.commit([Write(path=path, data=b"it's\0\n", expect=None)])
        assert (await there.read(path, limit=99))[0] == b"it's\0\n"


async def test_what_did_not_arrive_whole_changes_nothing(tmp_path: Path) -> None:
    cut = 'head -c "$1" | exec sh -c "$2"'
    whole = 1 << 20
    path = tmp_path / "a" / "file"
    write = Write(path=str(path), data=b"x" * 50_000, expect=None)
    for size in (0, 1, 2000, 50_000):
        there = files(tmp_path, lambda s, n=size: ["sh", "-c", cut, "sh", str(n), s])  # type: ignore[misc]
        with pytest.raises(FileFault) as fault:
            await there.commit([write])
        assert fault.value.code == "unreachable"
        assert not path.parent.exists()
        assert list((tmp_path / "records").iterdir()) == []
    await files(tmp_path, lambda s: ["sh", "-c", cut, "sh", str(whole), s]).commit([write])
    assert path.read_bytes() == b"x" * 50_000


async def test_a_machine_without_a_command_says_so_and_claims_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    there = with_only(tmp_path, "date")
    for look in (
        there.stat(str(path)),
        there.stat(str(tmp_path / "none")),
        there.read(str(path), limit=9),
        there.tree(str(tmp_path), limit=9),
        there.commit([Write(path=str(path), data=b"new", expect=sha(b"old"))]),
    ):
        with pytest.raises(FileFault) as fault:
            await look
        assert fault.value.code == "other"
    assert path.read_bytes() == b"old"


async def test_without_a_digest_over_there_a_page_is_still_right(tmp_path: Path) -> None:
    data = b"x" * 100_000 + b"\nlast"
    path = tmp_path / "file"
    path.write_bytes(data)
    there = with_only(tmp_path, "date", "stat", "head")
    page = await there.page(str(path), first=2, lines=9, width=9)
    assert page.lines == (b"last",)
    assert page.sha256 == sha(data)


async def test_the_folder_for_records_must_be_ones_own(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    (tmp_path / "records").mkdir()
    os.chown(tmp_path / "records", 65534, 65534)
    with pytest.raises(FileFault) as fault:
        await files(tmp_path).commit([Write(path=str(tmp_path / "x"), data=b"", expect=None)])
    assert fault.value.code == "denied"
    assert not (tmp_path / "x").exists()


async def test_records_that_others_may_write_to_are_not_followed(tmp_path: Path) -> None:
    """A plan is a script: whoever can leave one there could have it run."""
    records = tmp_path / "records"
    (records / "t.evil").mkdir(parents=True)
    (records / "t.evil" / "plan").write_text(
        f"settle() {{ mkdir {tmp_path}/ran; }}\n", encoding="utf-8"
    )
    records.chmod(0o777)
    with pytest.raises(FileFault):
        await files(tmp_path).stat("/")
    assert not (tmp_path / "ran").exists()
