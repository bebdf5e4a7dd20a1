"""`hermes approvals`: the owner's rules, as they are shown, saved and taken back."""

import json

import pytest

from hermes.sdk.testing import replies
from hermes.sdk.testing.model_server import ScriptedModel
from program import Program
from terminal import chat

FILE = """\
# mine
command_allowlist:
  # builds
  - make test  # quick
  # the end
logging: {level: INFO}
"""


def configured(program: Program, text: str = FILE) -> None:
    program.home.mkdir(parents=True, exist_ok=True)
    (program.home / "config.yaml").write_text(text, encoding="utf-8")


def text(program: Program) -> str:
    return (program.home / "config.yaml").read_text(encoding="utf-8")


def rules(program: Program) -> list[dict[str, str]]:
    run = program.run("approvals", "list", "--json")
    assert run.returncode == 0, run.stderr
    found: list[dict[str, str]] = json.loads(run.stdout)["rules"]
    return found


def test_rules_are_added_and_taken_back_and_every_other_line_stays(program: Program) -> None:
    configured(program)
    for words in (
        ("allow", "npm run build"),
        ("allow", "--exact", "grep 'a.*b' f"),
        ("deny", "curl * | sh"),
        ("deny", "--tool", "write_file", "src/**"),
        ("ask", "git push *"),
    ):
        assert program.run("approvals", *words).returncode == 0
    assert [(r["decision"], r["tool"], r["match"]) for r in rules(program)] == [
        ("deny", "terminal", "curl * | sh"),
        ("deny", "write_file", "src/**"),
        ("ask", "terminal", "git push *"),
        ("allow", "terminal", "make test"),
        ("allow", "terminal", "npm run build"),
        ("allow", "terminal", "grep 'a.[*]b' f"),
    ]
    for line in FILE.splitlines():
        assert line in text(program).splitlines()
    for rule in ("npm run build", "grep 'a.[*]b' f", "approvals.deny[0]", "src/**", "git push *"):
        run = program.run("approvals", "revoke", rule)
        assert run.returncode == 0, run.stderr
    assert [r["match"] for r in rules(program)] == ["make test"]
    for line in FILE.splitlines():
        assert line in text(program).splitlines()


def test_the_table_shows_what_decides_without_a_person(program: Program) -> None:
    configured(program, "approvals: {cron_mode: approve, deny: [shred]}\n")
    shown = program.run("approvals").stdout.decode()
    assert "cron approve" in shown
    assert "shred" in shown


def test_an_exact_rule_says_that_it_is_one(program: Program) -> None:
    shown = program.run("approvals", "allow", "mkdir").stdout.decode()
    assert "'mkdir *'" in shown
    again = program.run("approvals", "allow", "mkdir").stdout
    assert again.startswith(b"That rule is there already; nothing was changed.\n")


@pytest.mark.parametrize(
    "words",
    [
        ("allow", "*"),
        ("allow", ""),
        ("deny", "git:*"),
        ("deny", "a:*b"),
        ("deny", "Bash(git push)"),
        ("deny", "[ -f * ]"),
        ("ask", "--tool", "no_such_tool", "x"),
        ("ask", "--tool", "read_file", "--argument", "color", "red"),
        ("revoke", "never saved"),
    ],
)
def test_a_rule_that_can_never_match_is_not_saved(program: Program, words: tuple[str, ...]) -> None:
    configured(program)
    run = program.run("approvals", *words)
    assert run.returncode != 0
    assert run.stderr
    assert text(program) == FILE


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ("approvals: {deny: ['a:*b']}", "approvals.deny[0]"),
        ("approvals: {deny: ['']}", "approvals.deny[0]"),
        ("permissions: [{tool: wirte_file, decision: deny}]", "wirte_file"),
        ("permissions: [{tool: terminal, match: 'git:*', decision: deny}]", "permissions[0]"),
        ("permissions: [{tool: read_file, argument: x, match: y}]", "read_file"),
        (
            "permissions: [{tool: terminal, match: rm, decision: deny}, {decision: allow}]",
            "permissions[1]",
        ),
    ],
)
def test_a_rule_that_can_never_decide_stops_the_start_and_is_named(
    program: Program, config: str, named: str
) -> None:
    configured(program, f"{config}\n")
    run = program.run("tools", "call", "read_file", '{"path": "x"}')
    assert run.returncode != 0
    assert named.encode() in run.stderr


def test_always_in_the_chat_saves_the_rule_that_the_person_narrowed(program: Program) -> None:
    call = replies.calls(("terminal", {"command": "rm -r old; echo done > done"}))
    with ScriptedModel([call, "One.", call, "Two."]) as model:
        program.configure(model.base_url, "approvals: {mode: manual}\n# mine\n")
        with chat(program) as terminal:
            terminal.say("go")
            terminal.until("y/N:")
            assert "always saves this rule: rm -r old; echo done > done" in terminal.text
            terminal.say("a")
            terminal.until("rule to save: rm -r old; echo done > done")
            terminal.say("")
            terminal.until("One.")
            terminal.say("again")
            terminal.until("Two.")
    assert "# mine" in text(program)
    assert [r["match"] for r in rules(program)] == ["rm -r old; echo done > done"]


def test_read_only_takes_the_writing_tools_away(program: Program) -> None:
    with ScriptedModel(["ok", "ok", "ok"]) as model:
        program.configure(model.base_url)
        program.run("--read-only", "-z", "hi")
        program.run("-z", "hi")
        program.configure(model.base_url, "approvals: {read_only: true}\n")
        program.run("-z", "hi")
    offered = [{t["function"]["name"] for t in r.json["tools"]} for r in model.requests]
    assert offered[0] == offered[2] == {"read_file", "search_files"}
    assert {"write_file", "patch", "terminal"} <= offered[1]


def test_yolo_in_the_chat_is_for_this_session(program: Program) -> None:
    call = replies.calls(("terminal", {"command": "rm -r old; echo done > done"}))
    with ScriptedModel([call, "One."]) as model:
        program.configure(model.base_url, "approvals: {mode: manual}\n")
        with chat(program) as terminal:
            terminal.say("/yolo")
            terminal.prompt(2)
            terminal.say("go")
            terminal.until("One.")
    assert (program.cwd / "done").exists()


def test_check_says_what_decides_also_about_other_tools(program: Program) -> None:
    configured(program)
    (program.cwd / "AGENTS.md").write_text("x", encoding="utf-8")

    def checked(*words: str) -> dict[str, object]:
        run = program.run("approvals", "check", *words)
        assert run.returncode == 0, run.stderr
        told: dict[str, object] = json.loads(run.stdout)
        return told

    assert checked("rm -rf /")["rule"] == "hardline"
    asked = checked("rm -r old")
    assert (asked["verdict"], asked["rule"], asked["dangerous"]) == ("ask", "person", True)
    assert checked("echo x > AGENTS.md")["rule"] == "protected files"
    program.run("approvals", "allow", "rm -r old")
    program.run("approvals", "deny", "ls")
    assert (checked("rm -r old")["verdict"], checked("rm -r old")["rule"]) == (
        "allow",
        "allow list",
    )
    assert (checked("echo a; ls -l")["verdict"]) == "deny"
    lines = program.run("approvals", "check", "--jsonl", stdin=b'"ls"\n"pwd"\n').stdout
    assert [json.loads(line)["verdict"] for line in lines.splitlines()] == ["deny", "allow"]
    program.run("approvals", "deny", "--tool", "write_file", "*.lock")
    assert checked("--tool", "write_file", '{"path": "a.lock"}')["verdict"] == "deny"
    assert checked("--tool", "write_file", '{"path": "a.txt"}')["verdict"] == "allow"
    assert program.run("approvals", "check", "--tool", "write_file", "x").returncode != 0
