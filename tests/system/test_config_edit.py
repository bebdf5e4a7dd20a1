"""Editing `config.yaml`: only the key changes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.core.errors import ConfigError, UserError
from hermes.system.config.document import parse
from hermes.system.config.edit import set_value, set_values, unset
from hermes.system.config.load import load
from hermes.system.env import Environment
from hermes.system.paths import Home

CASES = Path(__file__).parent.parent / "cases"
COMMENTED = (CASES / "config_commented.yaml").read_text("utf-8")
SMALL = (CASES / "config_small.yaml").read_text("utf-8")
SECTIONS = (CASES / "config_reference.yaml").read_text("utf-8").partition("\ndashboard:")[0]
SECTIONS = SECTIONS[SECTIONS.index("display:") :] + "\n"


def edited(folder: Path, text: str, key: str, value: str | None) -> str:
    home = Home(folder)
    home.config.write_bytes(text.encode())
    if value is None:
        unset(home, key)
    else:
        set_value(home, key, value)
    return home.config.read_bytes().decode()


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """Lines that are only in `before`, and only in `after`."""
    old, new = before.splitlines(), after.splitlines()
    return [x for x in old if x not in new], [x for x in new if x not in old]


def test_a_five_line_file_stays_small(tmp_path: Path) -> None:
    after = edited(tmp_path, SMALL, "display.streaming", "false")
    assert after == SMALL + "display:\n  streaming: false\n"


def test_one_value_changes_one_line_and_keeps_its_comment(tmp_path: Path) -> None:
    after = edited(tmp_path, COMMENTED, "agent.max_turns", "7")
    gone, new = changed_lines(COMMENTED, after)
    assert gone == ["    max_turns: 500          # four spaces here"]
    assert new == ["    max_turns: 7          # four spaces here"]


def test_references_stay_raw_when_another_key_is_set(tmp_path: Path) -> None:
    after = edited(tmp_path, COMMENTED, "model.default", "new-model")
    assert "  api_key: ${MOCK_KEY}      # never the key itself\n" in after
    assert "  default: new-model     # quoted on purpose\n" in after


def test_a_reference_can_be_set(tmp_path: Path) -> None:
    after = edited(tmp_path, SMALL, "model.api_key", "${MY_KEY}")
    assert "  api_key: ${MY_KEY}\n" in after


def test_a_new_key_goes_to_the_end_of_its_section_with_its_indentation(tmp_path: Path) -> None:
    after = edited(tmp_path, COMMENTED, "agent.run_budget_seconds", "90")
    gone, new = changed_lines(COMMENTED, after)
    assert (gone, new) == ([], ["    run_budget_seconds: 90"])
    lines = after.splitlines()
    assert lines[lines.index(new[0]) - 1] == "    api_max_retries: '5'"


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("", "timezone", "UTC", "timezone: UTC\n"),
        ("# only a comment", "timezone", "UTC", "# only a comment\ntimezone: UTC\n"),
        ("timezone: GMT", "timezone", "UTC", "timezone: UTC"),
        ("timezone:\n", "timezone", "UTC", "timezone: UTC\n"),
        ("timezone:  # where\n", "timezone", "UTC", "timezone: UTC  # where\n"),
        ("agent:\n# c\n", "agent.max_turns", "5", "agent:\n  max_turns: 5\n# c\n"),
        ("agent: null # c\n", "agent.max_turns", "5", "agent:  # c\n  max_turns: 5\n"),
        ("agent: {}\n", "agent.max_turns", "5", "agent: {max_turns: 5}\n"),
        ("agent: {max_turns: 3} # c\n", "agent.max_turns", "5", "agent: {max_turns: 5} # c\n"),
        ("terminal: {cwd: .}\n", "terminal.timeout", "5", "terminal: {cwd: ., timeout: 5}\n"),
        ("model: old # c\n", "model", "new", "model: new # c\n"),
        ("model: old\n", "model.default", "new", "model: new\n"),
        (
            "model: old\nx: 1\n",
            "model.provider",
            "p",
            "model:\n  default: old\n  provider: p\nx: 1\n",
        ),
        ("model:\n  default: a\n", "model", "b", "model:\n  default: b\n"),
        ("a: 1\r\ntimezone: x\r\n", "display.language", "de", None),
        ("terminal:\n  env_passthrough:\n  - A\n  - B\nz: 1\n", "terminal.env_passthrough", "[C]",
         "terminal:\n  env_passthrough: [C]\nz: 1\n"),
        ("terminal: {env_passthrough: [A]}\n", "terminal.env_passthrough", "[B, 'a b']",
         'terminal: {env_passthrough: [B, "a b"]}\n'),
        ("timezone: >\n  a\n  b\nz: 1\n", "timezone", "UTC", "timezone: UTC\nz: 1\n"),
        ("approvals: {mode: smart}\n", "approvals.mode", "off", 'approvals: {mode: "off"}\n'),
        ("security: {}\n", "security.redact_secrets", "no", "security: {redact_secrets: false}\n"),
        ("providers:\n  a.b:\n    base_url: x\n", "providers.a.b.base_url", "here",
         "providers:\n  a.b:\n    base_url: here\n"),
        ("a: &x 1\ntimezone: *x\n", "timezone", "UTC", "a: &x 1\ntimezone: UTC\n"),
        ("discord:\n  reactions: true\n", "discord.reactions", "false",
         "discord:\n  reactions: false\n"),
    ],
)  # fmt: skip
def test_a_setting_in_every_shape_of_file(
    tmp_path: Path, before: str, key: str, value: str, after: str | None
) -> None:
    result = edited(tmp_path, before, key, value)
    if after is None:
        assert result == before + "display:\r\n  language: de\r\n"
    else:
        assert result == after


@pytest.mark.parametrize(
    ("before", "key", "after"),
    [
        ("a: 1\ntimezone: UTC # c\nb: 2\n", "timezone", "a: 1\nb: 2\n"),
        ("agent:\n  max_turns: 5\nb: 2\n", "agent.max_turns", "b: 2\n"),
        ("agent:\n  # why\n  max_turns: 5\nb: 2\n", "agent.max_turns", "  # why\nb: 2\n"),
        ("agent: {max_turns: 5, x: 1}\n", "agent.max_turns", "agent: {x: 1}\n"),
        ("agent: {x: 1, max_turns: 5}\n", "agent.max_turns", "agent: {x: 1}\n"),
        ("terminal:\n  env_passthrough:\n  - A\nb: 2\n", "terminal", "b: 2\n"),
        ("budget:\n  usd:\n    day: 5\nb: 2\n", "budget.usd.day", "b: 2\n"),
    ],
)
def test_an_unset_key_leaves_everything_else(
    tmp_path: Path, before: str, key: str, after: str
) -> None:
    assert edited(tmp_path, before, key, None) == after


def test_unsetting_what_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not set timezone"):
        edited(tmp_path, SMALL, "timezone", None)


@pytest.mark.parametrize("text", ["model: [a\n", "a: 1\n b: 2\n", "a: 1\na: 2\n"])
def test_a_broken_file_is_not_edited(tmp_path: Path, text: str) -> None:
    home = Home(tmp_path)
    home.config.write_text(text, encoding="utf-8")
    for change in (lambda: set_value(home, "timezone", "UTC"), lambda: unset(home, "a")):
        with pytest.raises(ConfigError, match=r"config.yaml:"):
            change()
    assert home.config.read_text("utf-8") == text


@pytest.mark.parametrize(
    ("key", "value", "part"),
    [
        ("agent.max_turns", "many", "whole number"),
        ("agent.max_turns", "0", "at least 1"),
        ("approvals.mode", "perhaps", "smart or manual or off"),
        ("terminal.env_passthrough", "A", "[one, two]"),
        ("terminal.timeuot", "5", "terminal.timeout"),
        ("terminal", "5", "terminal.cwd"),
        ("discord.reactions", "[", "discord.reactions"),
    ],
)
def test_a_wrong_value_is_refused_before_anything_is_written(
    tmp_path: Path, key: str, value: str, part: str
) -> None:
    home = Home(tmp_path)
    home.config.write_text(COMMENTED, encoding="utf-8")
    with pytest.raises(UserError) as error:
        set_value(home, key, value)
    assert part in str(error.value)
    assert home.config.read_text("utf-8") == COMMENTED


def test_a_place_that_cannot_be_edited_alone_is_refused(tmp_path: Path) -> None:
    text = "timezone: &t UTC\ndisplay: {language: *t}\n"
    with pytest.raises(ConfigError, match="Nothing was changed"):
        edited(tmp_path, text, "timezone", "GMT")
    assert Home(tmp_path).config.read_text("utf-8") == text


def test_a_wrong_value_in_the_file_can_be_set_right(tmp_path: Path) -> None:
    after = edited(tmp_path, "agent: {max_turns: lots}\n", "agent.max_turns", "5")
    assert after == "agent: {max_turns: 5}\n"


def test_several_keys_are_set_together_or_not_at_all(tmp_path: Path) -> None:
    home = Home(tmp_path)
    set_values(home, {"model": "m", "model.provider": "custom", "agent.max_turns": "5"})
    assert home.config.read_text("utf-8") == SMALL.replace("mock-model", "m")
    before = home.config.read_text("utf-8")
    with pytest.raises(UserError):
        set_values(home, {"model.default": "other", "agent.max_turns": "x"})
    assert home.config.read_text("utf-8") == before


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    home = Home(tmp_path)
    set_value(home, "timezone", "UTC")
    assert home.config.stat().st_mode & 0o777 == 0o600
    home.config.chmod(0o640)
    set_value(home, "timezone", "GMT")
    assert home.config.stat().st_mode & 0o777 == 0o640


def test_a_byte_order_mark_survives(tmp_path: Path) -> None:
    after = edited(tmp_path, "\ufefftimezone: UTC\n", "timezone", "GMT")
    assert after == "\ufefftimezone: GMT\n"


def test_processes_that_edit_at_once_lose_nothing(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from hermes.system.paths import Home;"
        "from hermes.system.config.edit import set_value;"
        "[set_value(Home(Path(sys.argv[1])), sys.argv[2], str(i)) for i in range(1, 6)]"
    )
    keys = ["agent.max_turns", "terminal.timeout", "logging.backup_count"]
    workers = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), k]) for k in keys]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    settings = load(Home(tmp_path), Environment({})).settings
    assert settings.agent.max_turns == settings.terminal.timeout == 5
    assert settings.logging.backup_count == 5


VALUES = st.one_of(
    st.tuples(st.just("agent.max_turns"), st.integers(1, 10**9)),
    st.tuples(st.just("terminal.timeout"), st.floats(0.001, 1e6)),
    st.tuples(st.just("display.streaming"), st.booleans()),
    st.tuples(st.just("model.price.input"), st.floats(0, 100)),
    st.tuples(
        st.sampled_from(["model.default", "timezone", "model.api_key", "providers.p.base_url"]),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    ),
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    change=VALUES,
    text=st.sampled_from([COMMENTED, SMALL, SECTIONS, ""]),
)
def test_setting_a_key_changes_nothing_else_and_keeps_every_comment(
    tmp_path: Path, change: tuple[str, Any], text: str
) -> None:
    key, value = change
    typed = str(value).lower() if isinstance(value, bool) else str(value)
    after = edited(tmp_path, text, key, typed)
    tree = parse(after, "after").tree
    at: Any = tree
    *parents, leaf = key.split(".")
    for name in parents:
        at = at[name]
    assert at[leaf] == value
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            assert line in after.splitlines()
    assert len(after.splitlines()) <= len(text.splitlines()) + len(parents) + 1
    # Taking it away again gives what was there before, but for the key itself.
    unset(Home(tmp_path), key)
    rest = parse(Home(tmp_path).config.read_text("utf-8"), "rest").tree
    assert _pruned(rest, key) == _pruned(parse(text, "before").tree, key)


def _pruned(tree: Any, key: str) -> Any:
    """`tree` without `key` and without sections that hold nothing."""
    name, _, rest = key.partition(".")
    out = {}
    for k, v in tree.items():
        if k == name and not rest:
            continue
        kept = _pruned(v, rest if k == name else "") if isinstance(v, dict) else v
        if kept not in ({}, None, ""):
            out[k] = kept
    return out
