"""Workspace trust: which folder counts as the one that a person trusted."""

import json
import os
import shutil
import stat
import threading
from pathlib import Path

import pytest

from hermes.core.clock import SystemClock
from hermes.core.errors import ConfigError, UserError
from hermes.safety.trust import Trust
from hermes.system.paths import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    user = tmp_path / "user"
    (user / ".hermes").mkdir(parents=True)
    return Home(user / ".hermes", user)


@pytest.fixture
def trust(home: Home) -> Trust:
    return Trust(home, SystemClock())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "code" / "project"
    (root / ".hermes").mkdir(parents=True)
    (root / ".hermes" / "config.yaml").write_text("hooks: {}\n", encoding="utf-8")
    (root / "src" / "deep").mkdir(parents=True)
    return root


def test_trust_covers_what_is_inside_and_nothing_above_or_beside(
    trust: Trust, project: Path
) -> None:
    assert not trust.trusted(project)
    trust.decide(project, trusted=True)
    (project.parent / "project2").mkdir()
    assert trust.trusted(project)
    assert trust.trusted(project / "src" / "deep")
    assert not trust.trusted(project.parent)
    assert not trust.trusted(project.parent / "project2")


def test_a_trusted_subfolder_does_not_make_its_project_trusted(trust: Trust, project: Path) -> None:
    trust.decide(project / "src", trusted=True)
    found = trust.project(project / "src" / "deep")
    assert found is not None
    assert (found.root, found.standing) == (project, "unknown")


def test_a_decision_about_a_nearer_folder_wins(trust: Trust, project: Path) -> None:
    trust.decide(project.parent, trusted=True)
    trust.decide(project, trusted=False)
    assert trust.trusted(project.parent)
    assert not trust.trusted(project / "src")
    found = trust.project(project)
    assert found is not None
    assert found.standing == "refused"


def test_another_folder_in_its_place_is_not_trusted(trust: Trust, project: Path) -> None:
    trust.decide(project, trusted=True)
    moved = project.with_name("moved")
    project.rename(moved)
    shutil.copytree(moved, project)
    assert not trust.trusted(project)
    assert not trust.trusted(moved)
    (row,) = trust.listed()
    assert (row.path, row.same) == (str(project), False)


def test_a_symlink_is_what_it_leads_to(trust: Trust, project: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(project)
    assert trust.decide(link, trusted=True) == project
    assert trust.trusted(link / "src")
    other = tmp_path / "other"
    other.mkdir()
    link.unlink()
    link.symlink_to(other)
    assert not trust.trusted(link)
    assert trust.trusted(project)


def test_a_symlink_in_a_trusted_folder_leads_out_of_it(
    trust: Trust, project: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "out").symlink_to(outside)
    trust.decide(project, trusted=True)
    assert not trust.trusted(project / "out")


def test_the_nearest_folder_that_brings_something_is_found(trust: Trust, project: Path) -> None:
    found = trust.project(project / "src" / "deep")
    assert found is not None
    assert (found.root, found.things, found.standing) == (
        project,
        [".hermes/config.yaml"],
        "unknown",
    )
    (project / "src" / ".agents" / "skills").mkdir(parents=True)
    nearer = trust.project(project / "src" / "deep")
    assert nearer is not None
    assert (nearer.root, nearer.things) == (project / "src", [".agents/skills"])
    assert trust.project(project.parent) is None


def test_the_home_of_hermes_is_no_project(trust: Trust, home: Home) -> None:
    home.config.write_text("model: x\n", encoding="utf-8")
    assert home.user is not None
    below = home.user / "code"
    below.mkdir()
    assert trust.project(home.user) is None
    assert trust.project(below) is None


@pytest.mark.parametrize("wide", ["/", "~", "..", "~/.hermes"])
def test_a_folder_that_holds_more_than_a_project_is_refused(
    trust: Trust, home: Home, wide: str
) -> None:
    assert home.user is not None
    folder = {"/": Path("/"), "~": home.user, "..": home.user.parent, "~/.hermes": home.root}[wide]
    with pytest.raises(UserError):
        trust.decide(folder, trusted=True)
    assert trust.listed() == ()


def test_a_folder_that_is_not_there_is_refused(trust: Trust, project: Path) -> None:
    for path in (project / "none", project / ".hermes" / "config.yaml"):
        with pytest.raises(UserError):
            trust.decide(path, trusted=True)


def test_a_decision_is_taken_back_also_for_a_folder_that_is_gone(
    trust: Trust, project: Path
) -> None:
    trust.decide(project, trusted=True)
    shutil.rmtree(project)
    assert trust.forget(project)
    assert not trust.forget(project)
    assert trust.listed() == ()


def test_the_store_is_its_owners_alone(trust: Trust, home: Home, project: Path) -> None:
    old = os.umask(0)
    try:
        trust.decide(project, trusted=True)
    finally:
        os.umask(old)
    assert stat.S_IMODE(home.trusted_folders.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"folders": 1}', '{"folders": [1]}', '{"folders": [{"path": "/a"}]}', "null"],
)
def test_a_broken_store_trusts_nothing_is_named_and_kept(
    trust: Trust, home: Home, project: Path, text: str
) -> None:
    home.trusted_folders.write_text(text, encoding="utf-8")
    for act in (
        lambda: trust.trusted(project),
        lambda: trust.project(project),
        lambda: trust.decide(project, trusted=True),
        trust.listed,
    ):
        with pytest.raises(ConfigError, match=r"trusted_folders\.json"):
            act()
    assert home.trusted_folders.read_text(encoding="utf-8") == text


def test_writers_at_the_same_time_lose_nothing(home: Home, tmp_path: Path) -> None:
    folders = [tmp_path / f"f{i}" for i in range(8)]
    for folder in folders:
        folder.mkdir()

    def decide(folder: Path) -> None:
        Trust(home, SystemClock()).decide(folder, trusted=True)

    threads = [threading.Thread(target=decide, args=(folder,)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = json.loads(home.trusted_folders.read_text(encoding="utf-8"))["folders"]
    assert sorted(row["path"] for row in rows) == sorted(map(str, folders))


def test_a_name_that_is_no_text_can_be_trusted(trust: Trust, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    trust.decide(folder, trusted=True)
    assert trust.trusted(folder)
