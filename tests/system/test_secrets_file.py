"""Keys from the environment and `.env`."""

from pathlib import Path

import pytest
from dotenv import dotenv_values
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.core.errors import ConfigError
from hermes.system.env import Environment
from hermes.system.paths import Home
from hermes.system.secrets import Secrets, is_secret_name


def secrets(folder: Path, text: str, mode: int = 0o600, **env: str) -> Secrets:
    home = Home(folder)
    home.env_file.write_text(text, encoding="utf-8")
    home.env_file.chmod(mode)
    return Secrets.read(home, Environment(env))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("K=plain", "plain"),
        ("export K = spaced  ", "spaced"),
        ("K=a#b # comment", "a#b"),
        ("K='single # $x \\n'", "single # $x \\n"),
        ('K="double \\"q\\" \\n end" # c', 'double "q" \n end'),
        ('K="two\nlines"', "two\nlines"),
        ("# c\n\n  K=x\r\n", "x"),
        ("\ufeffK=bom", "bom"),
        ("A=1\nK=ünï", "ünï"),
        ("K=a=b==", "a=b=="),
        ("K=1\nK=2", "2"),
    ],
)
def test_a_line_of_the_env_file(tmp_path: Path, line: str, value: str) -> None:
    assert secrets(tmp_path, line).get("K") == value


def test_the_environment_comes_first_and_empty_is_unset(tmp_path: Path) -> None:
    found = secrets(tmp_path, "A=file\nB=file\nC=\n", A="env", B="")
    assert [found.get(n) for n in "ABCD"] == ["env", "file", None, None]
    assert [found.source(n) for n in "ABCD"] == ["environment", ".env", None, None]


def test_a_line_that_is_none_is_refused_with_its_number(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.env:3 "):
        secrets(tmp_path, "A=1\n# c\nnot a line\n")
    with pytest.raises(ConfigError, match=r"\.env:2 ") as error:
        secrets(tmp_path, 'A=1\nKEY="hunter2 never closed\n')
    assert "hunter2" not in str(error.value)


def test_a_file_that_others_can_read_is_a_problem(tmp_path: Path) -> None:
    assert secrets(tmp_path, "A=1").problems == ()
    (problem,) = secrets(tmp_path, "A=1", mode=0o644).problems
    assert "0644" in problem
    assert "chmod 600" in problem


def test_a_missing_file_is_no_problem(tmp_path: Path) -> None:
    found = Secrets.read(Home(tmp_path), Environment({"A_KEY": "value-123"}))
    assert (found.problems, found.values()) == ((), ("value-123",))


def test_values_are_those_of_secret_names_only(tmp_path: Path) -> None:
    found = secrets(tmp_path, "X_API_KEY=aaaaaaaa\nX_BASE_URL=bbbbbbbb\n", BOT_TOKEN="cccccccc")
    assert set(found.values()) == {"aaaaaaaa", "cccccccc"}
    assert "aaaaaaaa" not in repr(found)


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("OPENROUTER_API_KEY", True),
        ("api_key", True),
        ("MATRIX_PASSWORD", True),
        ("TOOL_GATEWAY_USER_TOKEN", True),
        ("VERTEX_CREDENTIALS_PATH", False),
        ("key_env", False),
        ("max_tokens", False),
        ("MONKEY", False),
        ("BROWSERBASE_PROJECT_ID", False),
    ],
)
def test_a_name_says_whether_it_holds_a_secret(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(values=st.lists(st.text("ab #=/-", max_size=8).map(str.strip), max_size=4))
def test_quoted_values_read_as_another_reader_reads_them(tmp_path: Path, values: list[str]) -> None:
    lines = [f"K{i}='{v}' # note" for i, v in enumerate(values)]
    lines += [f'D{i}="{v}"' for i, v in enumerate(values)]
    found = secrets(tmp_path, "\n".join(lines))
    other = dotenv_values(tmp_path / ".env", interpolate=False)
    assert {n: found.get(n) or "" for n in other} == other
