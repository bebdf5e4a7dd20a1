"""One item of a list in `config.yaml` is added or taken out, and every other line stays."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.errors import ConfigError
from hermes.system.config.edit import append_item, remove_item
from hermes.system.config.load import load
from hermes.system.env import Environment
from hermes.system.paths import Home

KEY = "command_allowlist"

SHAPES = [
    "",
    "# only a comment\n",
    "logging: {level: INFO}\n",
    "command_allowlist:\nlogging: {level: INFO}\n",
    "command_allowlist: []  # none\nlogging: {level: INFO}\n",
    "command_allowlist: [a, 'b c'] # two\n",
    "command_allowlist:\n# first\n- a # one\n- 'b c'\n# last\nlogging: {level: INFO}\n",
    "logging: {level: INFO}\ncommand_allowlist:\n    - a\n    -   >-\n      b\n      c\n",
    "command_allowlist: [\n  a,  # one\n  b\n]\n",
    "command_allowlist:\r\n  - a\r\n  - b\r\n# end\r\n",
]


def home_with(folder: Path, text: str) -> Home:
    home = Home(folder, folder)
    folder.mkdir(parents=True, exist_ok=True)
    home.config.write_bytes(text.encode())
    return home


def held(home: Home) -> tuple[str, ...]:
    return load(home, Environment({})).settings.command_allowlist


@pytest.mark.parametrize("shape", SHAPES)
def test_an_item_is_added_and_taken_out_again(tmp_path: Path, shape: str) -> None:
    home = home_with(tmp_path / "h", shape)
    before = held(home)
    assert append_item(home, KEY, "rm -r '[*]' # x: y")
    assert held(home) == (*before, "rm -r '[*]' # x: y")
    assert not append_item(home, KEY, "rm -r '[*]' # x: y")
    kept = home.config.read_bytes().decode()
    for line in shape.splitlines():
        if "#" in line:
            assert line.strip("[] ").split("#")[1] in kept
    assert remove_item(home, KEY, "rm -r '[*]' # x: y")
    assert held(home) == before
    assert not remove_item(home, KEY, "rm -r '[*]' # x: y")
    for item in before:
        assert remove_item(home, KEY, item)
    assert held(home) == ()


def test_what_is_no_list_is_left_alone(tmp_path: Path) -> None:
    home = home_with(tmp_path / "h", "permissions: text\n")
    with pytest.raises(ConfigError):
        append_item(home, "permissions", {"tool": "terminal"})
    assert home.config.read_text(encoding="utf-8") == "permissions: text\n"


@given(item=st.text(min_size=1).filter(lambda t: "${" not in t), shape=st.sampled_from(SHAPES))
def test_any_text_is_read_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, item: str, shape: str
) -> None:
    home = home_with(tmp_path_factory.mktemp("h"), shape)
    append_item(home, KEY, item)
    assert item in held(home)
