"""`hermes` with nothing configured, on a real terminal."""

import pytest

from hermes.sdk.testing.model_server import ScriptedModel
from program import Program
from terminal import CTRL_C, CTRL_D, Terminal

KEY = "key-0123456789abcdef"


def test_a_provider_is_added_and_the_chat_goes_on_with_it(program: Program) -> None:
    with ScriptedModel(["hello"]) as model, Terminal(program) as terminal:
        for asked, given in (
            ("1 or 2:", "3"),
            ("Please type 1 or 2", "1"),
            ("Address", "ftp://example.com"),
            ("not an address", model.base_url),
            ("Model:", ""),
            ("A model name is needed", "scripted"),
            ("Key", f"{KEY} and more"),
            ("a character that no key has", KEY),
        ):
            terminal.until(asked)
            terminal.say(given)
        terminal.until("Saved in ~/home/config.yaml.")
        terminal.prompt()
        terminal.say("hi")
        terminal.until("\nhello")
        assert KEY not in terminal.text
    assert model.requests[0].headers["authorization"] == f"Bearer {KEY}"
    config = (program.home / "config.yaml").read_text(encoding="utf-8")
    assert "${HERMES_MODEL_KEY}" in config
    assert KEY not in config
    env_file = program.home / ".env"
    assert env_file.stat().st_mode & 0o777 == 0o600
    assert f'HERMES_MODEL_KEY="{KEY}"' in env_file.read_text(encoding="utf-8")
    assert program.run("model").returncode == 0


def test_an_endpoint_without_a_key_leaves_no_env_file(program: Program) -> None:
    with ScriptedModel(["hello"]) as model, Terminal(program) as terminal:
        for asked, given in (
            ("1 or 2:", "1"),
            ("Address", model.base_url),
            ("Model:", "scripted"),
            ("Key", ""),
        ):
            terminal.until(asked)
            terminal.say(given)
        terminal.prompt()
        terminal.say("hi")
        terminal.until("\nhello")
    assert not (program.home / ".env").exists()
    assert "authorization" not in model.requests[0].headers


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D])
@pytest.mark.parametrize("deep", [False, True])
def test_leaving_saves_nothing(program: Program, key: str, deep: bool) -> None:
    with Terminal(program) as terminal:
        terminal.until("1 or 2:")
        if deep:
            terminal.say("1")
            terminal.until("Address")
        terminal.type(key)
        assert terminal.status() == 2
        assert terminal.lines[-1] == "Nothing was saved."
    assert not program.home.exists()


def test_without_a_terminal_one_sentence_says_what_to_do(program: Program) -> None:
    run = program.run("chat", stdin=b"hi")
    assert (run.returncode, run.stdout, run.stderr.count(b"\n")) == (2, b"", 1)
    assert b"hermes model MODEL" in run.stderr
