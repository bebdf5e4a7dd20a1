"""Which hooks may run, and which configurations of hooks can be read."""

import json
import stat
from pathlib import Path

import pytest

from hermes.core.clock import SystemClock
from hermes.core.errors import ConfigError
from hermes.ports.hooks import HookEvent
from hermes.safety.hooks.configured import Hook, hooks_of
from hermes.safety.hooks.consent import Consents
from hermes.system.config.sections import HookSection, HooksSection
from hermes.system.paths import Home


def one(event: HookEvent, command: str) -> Hook:
    section = HooksSection(**{event: (HookSection(command=command),)})
    (hook,) = hooks_of(section, where="config.yaml", user=None)
    return hook


def test_consent_is_for_one_event_and_one_command_and_keeps_foreign_rows(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", tmp_path)
    home.root.mkdir()
    foreign = {"event": "x", "command": "y", "approved_at": "z", "more": 1}
    home.hook_consents.write_text(json.dumps({"approvals": [foreign]}), encoding="utf-8")
    consents = Consents(home, SystemClock(), accept=False)
    hook = one("pre_tool_call", "/bin/true")
    consents.allow(hook)
    consents.allow(hook)
    rows = json.loads(home.hook_consents.read_text(encoding="utf-8"))["approvals"]
    assert rows[0] == foreign
    assert [(row["event"], row["command"]) for row in rows[1:]] == [("pre_tool_call", "/bin/true")]
    assert stat.S_IMODE(home.hook_consents.stat().st_mode) == 0o600
    others = one("post_tool_call", "/bin/true"), one("pre_tool_call", "/bin/true x")
    assert [consents.of(other) for other in (hook, *others)] == ["allowed", "new", "new"]
    assert consents.revoke("/bin/true") == 1
    assert consents.of(hook) == "new"


def test_a_consent_that_the_reference_wrote_counts(tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path)
    row = {"event": "pre_tool_call", "command": "/bin/true", "approved_at": "2026-01-01T00:00:00Z"}
    home.hook_consents.write_text(json.dumps({"approvals": [row]}), encoding="utf-8")
    assert Consents(home, SystemClock(), accept=False).of(one("pre_tool_call", "/bin/true")) == (
        "allowed"
    )


@pytest.mark.parametrize(
    "keys",
    [
        {"command": ""},
        {"command": "  "},
        {"command": "echo 'open"},
        {"command": "a\0b"},
        {"command": "/bin/true", "matcher": "("},
    ],
)
def test_a_hook_that_cannot_be_read_stops_the_run(keys: dict[str, str]) -> None:
    section = HooksSection(pre_tool_call=(HookSection(**keys),))
    with pytest.raises(ConfigError, match=r"config.yaml: hooks.pre_tool_call\[0\]"):
        hooks_of(section, where="config.yaml", user=None)
