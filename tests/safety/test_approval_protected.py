"""What only a person changes: files that instruct agents, and what Hermes allows itself."""

import pytest

from approval_rig import Session, guarded, one, rules, run, write
from rig import CLI, Rig

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("off", [True, False])
@pytest.mark.parametrize(
    "command",
    [
        "echo x > AGENTS.md",
        "echo x >> ./sub/../agents.md",
        "echo x | tee -a CLAUDE.md",
        "cp notes .cursorrules",
        "cp notes/AGENTS.md .",
        "mv notes SOUL.md",
        "sed -i s/a/b/ AGENTS.md",
        "true && echo x >| AGENTS.md",
        "echo x > AGENT*.md",
        "f=AGENTS.md; echo x > $f",
        "python3 -c \"open('AGENTS.md', 'w').write('x')\"",
        "rm AGENTS.md",
        "find . -name AGENTS.md -delete",
        "find . -name '*.md' -exec sed -i s/a/b/ {} +",
        "git checkout HEAD~1 -- AGENTS.md",
    ],
)
async def test_a_command_that_writes_what_instructs_agents_is_always_a_question(
    rig: Rig, command: str, off: bool
) -> None:
    (rig.folder / "notes").mkdir()
    (rig.folder / "notes" / "AGENTS.md").write_text("new", encoding="utf-8")
    (rig.folder / "AGENTS.md").write_text("old", encoding="utf-8")
    allowing = {"rules": rules(("terminal", "", "allow")), "allowed": [command]}
    session = Session(guarded(rig, off=off, **allowing))
    (result,) = await session.run([run(command)], answers=["no"])
    assert result["status"] == "blocked"
    assert session.asked[0].choices == ("once", "no")
    assert (rig.folder / "AGENTS.md").read_text(encoding="utf-8") == "old"
    alone = await one(rig, command, origin=CLI)
    assert alone["status"] == "blocked"


@pytest.mark.parametrize(
    "command",
    [
        "cat AGENTS.md",
        "grep -n x AGENTS.md | head -3",
        "sed -n 1,5p CLAUDE.md",
        "cp AGENTS.md backup.md",
        "diff AGENTS.md backup.md > out.txt",
        "git add AGENTS.md",
        "git commit -m 'Say more in AGENTS.md'",
        "echo 'see AGENTS.md' >> notes.txt",
        "wc -l < AGENTS.md",
        "find . -name AGENTS.md -exec wc -l {} +",
        "ls -la AGENTS.md 2>/dev/null",
    ],
)
async def test_a_command_that_only_reads_them_is_none(rig: Rig, command: str) -> None:
    session = Session(guarded(rig))
    await session.run([run(command)])
    assert session.asked == []


@pytest.mark.parametrize("turned", [True, False])
async def test_a_link_is_protected_by_its_own_name_and_by_where_it_leads(
    rig: Rig, turned: bool
) -> None:
    link, target = ("AGENTS.md", "notes") if turned else ("notes", "AGENTS.md")
    (rig.folder / target).write_text("old", encoding="utf-8")
    (rig.folder / link).symlink_to(target)
    for call in (run(f"echo x > {link}"), write(link)):
        session = Session(guarded(rig, off=True))
        await session.run([call], answers=["no"])
        assert len(session.asked) == 1


async def test_a_protected_file_tool_call_is_asked_each_time_under_yolo(rig: Rig) -> None:
    session = Session(guarded(rig, off=True, rules=rules(("*", "", "allow"))))
    results = await session.run(
        [write("AGENTS.md"), write("sub/CLAUDE.md")], answers=["once", "no"]
    )
    assert len(session.asked) == 2
    assert (rig.folder / "AGENTS.md").exists()
    assert "error" in results[1]
    alone = Session(rig, origin=CLI)
    (result,) = await alone.run([write(".cursorrules")])
    assert "nobody is there" in result["error"]


@pytest.mark.parametrize(
    "command",
    [
        "hermes config get approvals.mode",
        "echo hermes config set approvals.mode off",
        "grep -rn 'hermes config set' .",
        "git commit -m 'hermes approvals allow'",
        "ls {home}/config.yaml",
    ],
)
async def test_speaking_of_it_is_no_change(rig: Rig, command: str) -> None:
    session = Session(guarded(rig))
    (result,) = await session.run([run(command.replace("{home}", str(rig.folder / "home")))])
    assert (result.get("status"), session.asked) == (None, [])


@pytest.mark.parametrize(
    "command",
    [
        "hermes config set approvals.mode off",
        "hermes approvals allow 'rm *'",
        "hermes --yolo -z hi",
        "HERMES_YOLO_MODE=1 hermes -z hi",
        "echo 'approvals: {mode: off}' >> {home}/config.yaml",
        "sed -i s/smart/off/ {home}/config.yaml",
    ],
)
async def test_no_command_changes_what_hermes_allows_itself(rig: Rig, command: str) -> None:
    (rig.folder / "home").mkdir()
    config = rig.folder / "home" / "config.yaml"
    config.write_text("approvals: {mode: smart}\n", encoding="utf-8")
    guarded(rig, off=True, allowed=["*"], rules=rules(("terminal", "", "allow")))
    result = await one(rig, command.replace("{home}", str(rig.folder / "home")))
    assert result["status"] == "blocked"
    assert config.read_text(encoding="utf-8") == "approvals: {mode: smart}\n"
