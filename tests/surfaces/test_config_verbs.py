"""`hermes config`: what is said about the file, and what is done to it."""

import json

from program import Program

FILE = """\
# mine
model:
  default: m1  # the good one
  api_key: sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD
stt:
  enabled: true
"""
SECRET = b"abcdefghijklmnop"


def write(program: Program, text: str = FILE) -> None:
    program.home.mkdir(exist_ok=True)
    (program.home / "config.yaml").write_text(text, encoding="utf-8")


def read(program: Program) -> str:
    return (program.home / "config.yaml").read_text(encoding="utf-8")


def test_show_lists_what_is_set_and_by_whom_and_hides_secrets(program: Program) -> None:
    write(program)
    program.env["TERMINAL_TIMEOUT"] = "9"
    run = program.run("config", "show")
    rows = {line.split()[0]: line for line in run.stdout.decode().splitlines() if line}
    assert rows["model.default"].split()[1:] == ["m1", "~/home/config.yaml:3"]
    assert "TERMINAL_TIMEOUT" in rows["terminal.timeout"]
    assert rows["stt.enabled"].split()[1:] == ["true"]
    assert "agent.max_turns" not in rows
    assert SECRET not in run.stdout


def test_get_prints_one_value_for_scripts(program: Program) -> None:
    write(program)
    assert program.run("config", "get", "model.default").stdout == b"m1\n"
    assert program.run("config", "get", "agent.api_max_retries", "--json").stdout == b"3\n"
    assert program.run("config", "get", "security.redact_secrets").stdout == b"true\n"
    unset = program.run("config", "get", "model.base_url")
    assert (unset.returncode, unset.stdout) == (0, b"")


def test_get_never_prints_a_secret_and_says_so(program: Program) -> None:
    write(program)
    for arguments in (("model.api_key",), ("model", "--json"), ()):
        run = program.run("config", "get", *arguments)
        assert run.returncode == 0
        assert SECRET not in run.stdout + run.stderr
        assert b"model.api_key" in run.stderr
    assert json.loads(program.run("config", "get", "model", "--json").stdout)["model.default"]


def test_set_changes_one_line_and_says_which(program: Program) -> None:
    write(program)
    run = program.run("config", "set", "model", "m2")
    assert run.stdout == b"~/home/config.yaml:3: model.default is now m2\n"
    assert read(program) == FILE.replace("default: m1", "default: m2")


def test_set_warns_of_a_key_without_effect(program: Program) -> None:
    write(program)
    unserved = program.run("config", "set", "stt.enabled", "false")
    assert (unserved.returncode, b"not served" in unserved.stderr) == (0, True)
    program.env["HERMES_MODEL"] = "other"
    hidden = program.run("config", "set", "model.default", "m3")
    assert (hidden.returncode, b"HERMES_MODEL" in hidden.stderr) == (0, True)
    assert "enabled: false" in read(program)
    assert "default: m3" in read(program)


def test_set_refuses_an_unknown_key_and_a_wrong_value(program: Program) -> None:
    write(program)
    unknown = program.run("config", "set", "model.defaultx", "x")
    assert (unknown.returncode, b"model.default" in unknown.stderr) == (2, True)
    assert program.run("config", "set", "agent.api_max_retries", "many").returncode == 2
    assert read(program) == FILE


def test_unset_takes_the_key_out(program: Program) -> None:
    write(program)
    assert program.run("config", "unset", "model.default").returncode == 0
    assert read(program) == FILE.replace("  default: m1  # the good one\n", "")
    assert program.run("config", "unset", "model.default").returncode == 2


def test_check_is_content_with_unserved_keys_and_not_with_unknown_ones(program: Program) -> None:
    write(program)
    run = program.run("config", "check")
    assert (run.returncode, b"config.yaml:6: stt.enabled" in run.stdout) == (0, True)
    write(program, FILE + "modelx: x\nproviders:\n  a: {api_key: '${NO_SUCH}'}\n")
    run = program.run("config", "check")
    assert run.returncode == 1
    assert b"config.yaml:7: there is no key modelx" in run.stdout
    assert b"NO_SUCH" in run.stdout


def test_check_finds_an_env_file_that_others_can_read(program: Program) -> None:
    write(program)
    (program.home / ".env").write_text("A_KEY=abcdefgh\n", encoding="utf-8")
    (program.home / ".env").chmod(0o644)
    run = program.run("config", "check")
    assert (run.returncode, b"chmod 600" in run.stdout) == (1, True)


def test_a_broken_file_is_refused_with_its_line_and_left_alone(program: Program) -> None:
    broken = "model:\n  default: [\n"
    write(program, broken)
    for arguments in (("check",), ("show",), ("set", "model.default", "x")):
        run = program.run("config", *arguments)
        assert (run.returncode, run.stdout) == (2, b""), arguments
        assert b"config.yaml:3" in run.stderr
    assert read(program) == broken
    assert program.run("config", "path").stdout.decode().strip() == str(
        program.home / "config.yaml"
    )


def test_explain_puts_the_winner_first(program: Program) -> None:
    write(program)
    program.env["HERMES_MODEL"] = "other"
    lines = program.run("config", "explain", "model.default").stdout.decode().splitlines()
    assert lines[0] == "model.default"
    assert lines[1].startswith("* other")
    assert "config.yaml:3" in lines[2]
    assert program.run("config", "explain", "no.such.key").returncode == 2
