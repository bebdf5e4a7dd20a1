"""Where Hermes keeps its files, and what the environment says."""

from pathlib import Path

import pytest

from hermes.core.errors import UserError
from hermes.system.env import Environment
from hermes.system.paths import Home


def test_an_environment_is_a_snapshot() -> None:
    values = {"A": "1", "B": "off", "C": " YES "}
    env = Environment(values)
    values["A"] = "2"
    assert env["A"] == "1"
    assert [env.flag(n) for n in ("A", "B", "C", "D")] == [True, False, True, False]
    changed = env.with_(A=None, D="on")
    assert (env.get("A"), changed.get("A"), changed.flag("D")) == ("1", None, True)
    assert "hunter2" not in repr(Environment({"K": "hunter2"}))


def test_hermes_home_is_authoritative(tmp_path: Path) -> None:
    env = Environment({"HOME": "/h", "HERMES_HOME": str(tmp_path / "x"), "HERMES_PROFILE": "work"})
    assert Home.locate(env).root == tmp_path / "x"
    assert Home.locate(env.with_(HERMES_HOME="~/y")).root == Path("/h/y")
    assert Home.locate(Environment({"HOME": "/h"})).root == Path("/h/.hermes")


def test_without_any_home_nothing_is_guessed() -> None:
    with pytest.raises(UserError, match="HERMES_HOME"):
        Home.locate(Environment({}))


def test_a_profile_is_a_home_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "profiles/work").mkdir(parents=True)
    (tmp_path / "profiles/play").mkdir()
    env = Environment({"HERMES_HOME": str(tmp_path)})
    work = Home.locate(env, "work")
    assert (work.root, work.profile) == (tmp_path / "profiles/work", "work")
    inside = env.with_(HERMES_HOME=str(work.root))
    assert Home.locate(inside).root == work.root
    assert Home.locate(inside, "play").root == tmp_path / "profiles/play"
    assert Home.locate(inside, "default").root == tmp_path
    assert Home.locate(env).profile == "default"


@pytest.mark.parametrize("name", ["nobody", "../x", "a/b", "Upper", ".hidden"])
def test_a_profile_that_is_not_there_is_refused_and_not_made(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="profile"):
        Home.locate(Environment({"HERMES_HOME": str(tmp_path)}), name)
    assert list(tmp_path.iterdir()) == []


def test_a_home_is_made_for_its_owner_only(tmp_path: Path) -> None:
    home = Home(tmp_path / "a" / "b")
    home.prepare()
    home.prepare()
    for folder in (home.root, home.logs, home.cache, home.blobs, home.locks):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not home.config.exists()


def test_a_home_that_is_a_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "home"
    file.write_text("mine", encoding="utf-8")
    for root in (file, file / "below"):
        with pytest.raises(UserError) as error:
            Home(root).prepare()
        assert "is a file" in error.value.message
        assert str(root) in error.value.message
    assert file.read_text("utf-8") == "mine"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that refuses root too")
def test_a_home_that_cannot_be_written_is_refused_in_one_sentence() -> None:
    with pytest.raises(UserError) as error:
        Home(Path("/proc/self/hermes")).prepare()
    assert "cannot be written: /proc/self/hermes" in error.value.message
    assert "HERMES_HOME" in str(error.value)


def test_paths_are_shown_with_a_tilde() -> None:
    home = Home(Path("/home/me/.hermes"), Path("/home/me"))
    assert home.display(home.config) == "~/.hermes/config.yaml"
    assert home.display("/home/me") == "~"
    assert home.display("/home/meat") == "/home/meat"
    assert Home(Path("/x")).display("/home/me") == "/home/me"
