"""Loading `config.yaml`: nothing is substituted in silence, and every refusal names its line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.core.errors import ConfigError, UserError
from hermes.system.config.explain import explain
from hermes.system.config.load import Config, load
from hermes.system.config.settings import Settings
from hermes.system.env import Environment
from hermes.system.paths import Home

CASES = Path(__file__).parent.parent / "cases"
EMPTY = Environment({})


def home_with(folder: Path, text: str) -> Home:
    home = Home(folder)
    home.config.write_text(text, encoding="utf-8")
    return home


def loaded(folder: Path, text: str, **env: str) -> Config:
    return load(home_with(folder, text), Environment(env))


def test_a_missing_and_an_empty_file_are_all_defaults(tmp_path: Path) -> None:
    assert load(Home(tmp_path), EMPTY).settings == Settings()
    assert loaded(tmp_path, "# nothing\n").settings == Settings()
    assert loaded(tmp_path, "agent:\nmodel: null\nproviders: ~\n").settings == Settings()


def test_the_readme_example_of_the_reference_loads(tmp_path: Path) -> None:
    config = loaded(tmp_path, (CASES / "config_bench.yaml").read_text("utf-8"))
    assert config.settings.model.default == "mock-model"
    assert config.settings.model.context_length == 20_000_000
    assert config.settings.agent.max_turns == 500
    assert config.settings.approvals.mode == "off"
    (problem,) = config.problems
    assert (problem.kind, problem.key) == ("unserved", "gateway.api_server.max_concurrent_runs")
    assert problem.line == 11


def test_a_reference_file_with_every_key_loads_and_has_no_unknown_key(tmp_path: Path) -> None:
    config = loaded(tmp_path, (CASES / "config_reference.yaml").read_text("utf-8"))
    assert {p.kind for p in config.problems} == {"unserved"}
    assert len(config.problems) > 800
    assert all(p.line for p in config.problems)
    assert config.settings.tool_output.max_lines == 2000


@pytest.mark.parametrize(
    ("text", "place", "cause"),
    [
        ("agent:\n  max_turns: 5\n timeout: 3\n", ":3:", "block"),
        ("model: {default: x\nagent: 5\n", ":2:", "mapping"),
        ("a: 1\nb: 2\na: 3\n", ":3:1", "twice"),
        ("- a\n- b\n", ":1:", "key: value"),
        ("a: !secret x\n", ":1:", "!secret"),
        ("a: &x [*x]\n", ":1:", "alias"),
        ("a: b\n\x07c: d\n", ":2:1", "U+0007"),
        ("model:\n\tdefault: x\n", ":2:", "token"),
    ],
)
def test_a_broken_file_is_refused_with_file_line_and_cause(
    tmp_path: Path, text: str, place: str, cause: str
) -> None:
    home = home_with(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        load(home, EMPTY)
    assert f"config.yaml{place}" in error.value.message
    assert cause in error.value.message
    assert home.config.read_text("utf-8") == text


def test_a_broken_file_points_to_the_last_one_that_worked(tmp_path: Path) -> None:
    loaded(tmp_path, "timezone: Europe/Paris\n")
    home = home_with(tmp_path, "timezone: [\n")
    with pytest.raises(ConfigError, match=r"config\.yaml\.last-good"):
        load(home, EMPTY)
    assert home.config_last_good.read_text("utf-8") == "timezone: Europe/Paris\n"


def test_a_value_of_the_wrong_type_does_not_become_the_last_good_file(tmp_path: Path) -> None:
    loaded(tmp_path, "timezone: UTC\n")
    with pytest.raises(ConfigError):
        loaded(tmp_path, "timezone: [UTC]\n")
    assert Home(tmp_path).config_last_good.read_text("utf-8") == "timezone: UTC\n"


def test_bytes_that_are_not_utf8_are_named_by_line(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.config.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(ConfigError, match=r"config.yaml:2 is not UTF-8 \(offset 8\)"):
        load(home, EMPTY)


def test_an_alias_bomb_is_refused(tmp_path: Path) -> None:
    lines = ["a: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"b{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(ConfigError, match="100,000"):
        loaded(tmp_path, "\n".join(lines))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("agent:\n  api_max_retries: many\n", (":2", "many", "whole number", "api_max_retries: 5")),
        ("agent:\n  api_max_retries: -1\n", (":2", "-1", "at least 0")),
        ("agent: [1]\n", (":1", "agent", "section")),
        ("approvals: {mode: sometimes}\n", (":1", "smart or manual or off", "mode: smart")),
        ("security: {redact_secrets: maybe}\n", (":1", "true or false")),
        ("terminal:\n  env_passthrough: '[A, B]'\n", (":2", "Take the quotes away: [A, B]")),
        ("terminal:\n  env_passthrough: A\n", (":2", "Write a list: [A]")),
        ("timezone: 5\n", (":1", "text", '"5"')),
        ("display: {language: true}\n", (":1", "text")),
        ("terminal: {timeout: 0}\n", (":1", "above 0")),
        ("terminal: {timeout: .inf}\n", (":1", "number")),
        ("providers:\n  x:\n    headers:\n      A: [b]\n", (":4", "providers.x.headers.A")),
        ("budget:\n  usd:\n    day: lots\n", (":3", "budget.usd.day", "number")),
    ],
)
def test_a_wrong_type_names_line_value_and_what_would_be_right(
    tmp_path: Path, text: str, parts: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError) as error:
        loaded(tmp_path, text)
    for part in parts:
        assert part in str(error.value)


def test_a_wrong_secret_is_not_repeated_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        loaded(tmp_path, "model: {api_key: [hunter2hunter2]}\n")
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("spelling", ["false", "'false'", "no", "off", "'off'", "0", "FALSE"])
def test_false_is_false_however_it_is_spelled(tmp_path: Path, spelling: str) -> None:
    config = loaded(tmp_path, f"security:\n  redact_secrets: {spelling}\n")
    assert config.settings.security.redact_secrets is False


@pytest.mark.parametrize("spelling", ["off", "'off'", "false", "OFF"])
def test_approvals_off_is_off_under_both_versions_of_yaml(tmp_path: Path, spelling: str) -> None:
    assert loaded(tmp_path, f"approvals: {{mode: {spelling}}}\n").settings.approvals.mode == "off"


def test_numbers_may_be_text(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path, "agent: {api_max_retries: '5'}\nterminal: {timeout: '1.5'}\n"
    ).settings
    assert (settings.agent.api_max_retries, settings.terminal.timeout) == (5, 1.5)


@pytest.mark.parametrize(
    ("written", "meant"),
    [("none", "unlimited"), ("unlimited", "unlimited"), ("null", None), ("7", 7), ("'7'", 7)],
)
def test_the_turn_limit_knows_words_and_numbers(
    tmp_path: Path, written: str, meant: object
) -> None:
    assert loaded(tmp_path, f"agent: {{max_turns: {written}}}\n").settings.agent.max_turns == meant


def test_model_may_be_a_name_or_a_section(tmp_path: Path) -> None:
    assert loaded(tmp_path, "model: some/name\n").settings.model.default == "some/name"
    config = loaded(tmp_path, "model: {default: x, price: {input: 1, output: 2}}\n")
    price = config.settings.model.price.price()
    assert price is not None
    assert (price.input, price.output, price.cached) == (1, 2, None)


def test_models_of_a_provider_may_be_a_list_or_a_map(tmp_path: Path) -> None:
    text = "providers:\n  a: {models: [m1, m.2]}\n  b: {models: {m1: {context_length: 9}, m2: }}\n"
    providers = loaded(tmp_path, text).settings.providers
    assert list(providers["a"].models) == ["m1", "m.2"]
    assert providers["b"].models["m1"].context_length == 9


def test_an_unknown_key_is_reported_with_line_and_nearest_name(tmp_path: Path) -> None:
    config = loaded(
        tmp_path,
        "agent:\n  api_max_retires: 3\nmax_turns: 5\nzzqqy: 1\ndiscord:\n  require_mentoin: true\n",
    )
    found = {(p.key, p.line, p.kind) for p in config.problems}
    assert found == {
        ("agent.api_max_retires", 2, "unknown"),
        ("max_turns", 3, "unknown"),
        ("zzqqy", 4, "unknown"),
        ("discord.require_mentoin", 6, "unknown"),
    }
    texts = " ".join(p.text for p in config.problems)
    for meant in ("agent.api_max_retries?", "agent.max_turns?", "discord.require_mention?"):
        assert meant in texts


def test_free_sections_of_the_reference_are_not_unknown(tmp_path: Path) -> None:
    config = loaded(
        tmp_path,
        "mcp_servers: {files: {command: npx}}\nplatforms: {x: {extra: {y: 1}}}\n"
        "custom_providers: [{name: x, base_url: y}]\nauxiliary: {vision: {extra_body: {a: 1}}}\n",
    )
    assert {p.kind for p in config.problems} == {"unserved"}


def test_the_layers_are_defaults_then_file_then_environment_then_flags(tmp_path: Path) -> None:
    home = home_with(tmp_path, "terminal:\n  timeout: 10\n")
    env = Environment({"TERMINAL_TIMEOUT": "20"})
    key = "terminal.timeout"
    assert load(home, EMPTY).settings.terminal.timeout == 10
    assert load(home, env).settings.terminal.timeout == 20
    assert load(home, env, flags={key: 30}).settings.terminal.timeout == 30
    assert load(home, env, flags={key: None}).settings.terminal.timeout == 20
    assert load(home, EMPTY, skip_file=True).settings.terminal.timeout == 180
    assert load(Home(tmp_path / "none"), EMPTY).origin(key).name == "default"
    config = load(home, env, flags={key: 30})
    assert [x.name for x in config.layers(key)] == ["default", "file", "environment", "flag"]
    assert config.layers(key)[1].source == f"{home.config}:2"
    assert "TERMINAL_TIMEOUT" in config.layers(key)[2].source


def test_a_skipped_file_may_be_broken(tmp_path: Path) -> None:
    assert load(home_with(tmp_path, "a: [\n"), EMPTY, skip_file=True).settings == Settings()


def test_yolo_switches_asking_off_and_its_absence_does_not(tmp_path: Path) -> None:
    assert loaded(tmp_path, "{}\n", HERMES_YOLO_MODE="1").settings.approvals.mode == "off"
    assert loaded(tmp_path, "{}\n", HERMES_YOLO_MODE="0").settings.approvals.mode == "smart"


def test_a_wrong_variable_is_named_and_not_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        loaded(tmp_path, "agent: {max_turns: 3}\n", HERMES_MAX_ITERATIONS="abc")
    assert "HERMES_MAX_ITERATIONS" in error.value.message
    assert "config.yaml" not in error.value.message


def test_references_are_expanded_from_environment_and_env_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("FILE_KEY=from-file-1\nBOTH=from-file-2\n", encoding="utf-8")
    (tmp_path / ".env").chmod(0o600)
    text = "model: {api_key: '${FILE_KEY}', base_url: 'http://${BOTH}/${NOT_SET}v1'}\n"
    config = loaded(tmp_path, text, BOTH="host")
    assert config.settings.model.api_key == "from-file-1"
    assert config.settings.model.base_url == "http://host/v1"
    (problem,) = config.problems
    assert (problem.kind, problem.key, problem.line) == ("unset", "model.base_url", 1)
    assert "NOT_SET" in problem.text
    assert "from-file-1" in config.secret_values()


def test_a_reference_is_resolved_anew_at_each_start(tmp_path: Path) -> None:
    text = "model: {api_key: '${K}'}\n"
    assert loaded(tmp_path, text, K="one").settings.model.api_key == "one"
    assert loaded(tmp_path, text, K="two").settings.model.api_key == "two"
    assert "one" not in Home(tmp_path).config_cache.read_text("utf-8")


def test_a_second_start_neither_parses_nor_differs(tmp_path: Path) -> None:
    home = home_with(tmp_path, (CASES / "config_reference.yaml").read_text("utf-8"))
    first = load(home, EMPTY)
    script = (
        "import sys; from pathlib import Path; from hermes.system.paths import Home;"
        "from hermes.system.env import Environment; from hermes.system.config.load import load;"
        "import msgspec; c = load(Home(Path(sys.argv[1])), Environment({}));"
        "print(msgspec.json.encode([c.settings, c.problems]).decode());"
        "print([m for m in ('ruamel', 'difflib', 'dotenv') if m in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, check=True, timeout=60
    ).stdout.decode()
    told, modules = output.splitlines()
    assert modules == "[]"
    assert len(json.loads(told)[1]) == len(first.problems)


def test_a_damaged_cache_is_read_again_from_the_file(tmp_path: Path) -> None:
    home = home_with(tmp_path, "timezone: UTC\n")
    load(home, EMPTY)
    home.config_cache.write_bytes(b'{"digest": \xff')
    assert load(home, EMPTY).settings.timezone == "UTC"


def test_an_edited_file_is_never_served_from_the_cache(tmp_path: Path) -> None:
    assert loaded(tmp_path, "timezone: UTC\n").settings.timezone == "UTC"
    assert loaded(tmp_path, "timezone: GMT\n").settings.timezone == "GMT"


def test_the_copies_of_a_file_with_a_key_in_it_are_private(tmp_path: Path) -> None:
    loaded(tmp_path, "model: {api_key: sk-123456789}\n")
    home = Home(tmp_path)
    for copy in (home.config_cache, home.config_last_good):
        assert copy.stat().st_mode & 0o077 == 0


def test_merge_keys_and_anchors_are_followed(tmp_path: Path) -> None:
    text = "x: &t {timeout: 9}\nterminal:\n  <<: *t\n  cwd: /x\n"
    config = loaded(tmp_path, text)
    assert (config.settings.terminal.timeout, config.settings.terminal.cwd) == (9, "/x")


def test_a_file_with_a_byte_order_mark_and_windows_newlines_loads(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.config.write_bytes("\ufefftimezone: UTC\r\nagent:\r\n  max_turns: 5\r\n".encode())
    settings = load(home, EMPTY).settings
    assert (settings.timezone, settings.agent.max_turns) == ("UTC", 5)


def test_an_explanation_shows_each_layer_and_hides_secrets(tmp_path: Path) -> None:
    text = "model:\n  api_key: sk-very-secret\n  default: ä\nproviders:\n  p: {api_key: '${K}'}\n"
    config = loaded(tmp_path, text, HERMES_MODEL="other", K="sk-hidden-too")
    (model,) = explain(config, "model.default")
    assert model.value == "other"
    assert [layer.value for layer in model.layers] == ["", "ä", "other"]
    assert f"{config.home.config}:3" in "\n".join(model.lines())
    everything = repr([e for k in ("model", "providers") for e in explain(config, k)])
    assert "sk-" not in everything
    assert "${K}" in everything


def test_an_unserved_key_is_explained_and_an_unknown_one_refused(tmp_path: Path) -> None:
    config = loaded(tmp_path, "discord:\n  reactions: false\n")
    (found,) = explain(config, "discord.reactions")
    assert (found.value, found.served) == (False, False)
    with pytest.raises(UserError, match=r"terminal\.timeout"):
        explain(config, "terminal.timeuot")


def test_own_files_are_utf8_whatever_the_locale(tmp_path: Path) -> None:
    home = home_with(tmp_path, "timezone: 'Zürich 🌍'\n")
    (tmp_path / ".env").write_text("NAME=žluťoučký\n", encoding="utf-8")
    script = (
        "import sys; from pathlib import Path; from hermes.system.paths import Home;"
        "from hermes.system.env import Environment; from hermes.system.config.load import load;"
        "from hermes.system.config.edit import set_value;"
        "h = Home(Path(sys.argv[1])); c = load(h, Environment.current());"
        "assert c.settings.timezone == 'Z\\u00fcrich \\U0001f30d', ascii(c.settings.timezone);"
        "assert c.secrets.get('NAME').startswith('\\u017e'); set_value(h, 'model', '\\u6a21');"
        "assert load(h, Environment.current()).settings.model.default == '\\u6a21'"
    )
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        env=env,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert home.config.read_text("utf-8") == "timezone: 'Zürich 🌍'\nmodel:\n  default: \"模\"\n"
