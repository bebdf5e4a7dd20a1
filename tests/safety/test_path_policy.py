"""The path policy: what it says of one path, and that its lists say the same."""

import os
from pathlib import Path

import pytest

from hermes.safety.opaque import opaque
from hermes.safety.path_area import Area
from hermes.safety.paths import PathPolicy


@pytest.fixture
def policy(tmp_path: Path) -> PathPolicy:
    return PathPolicy(
        home=tmp_path / "user/.hermes",
        user=tmp_path / "user",
        people=[tmp_path / "other"],
        interpreter=[tmp_path / "venv"],
        extra=["rules/*.txt", "HOUSE.md"],
    )


# path -> may be read, may be written, and whether a person is asked first
CASES = {
    "work/notes.txt": "r w",
    "work/.env.example": "r w",
    "work/.env": "- ?",
    "work/deep/.ENV.Local": "- ?",
    "work/.envrc": "- ?",
    "work/agents.md": "r ?",
    "work/deep/CLAUDE.md": "r ?",
    "work/GEMINI.md": "r ?",
    "work/.cursor/rules/deep/a.mdc": "r ?",
    "work/.github/Copilot-Instructions.md": "r ?",
    "work/.github/workflows/ci.yml": "r w",
    "work/.windsurfrules": "r ?",
    "work/.clinerules/x": "r ?",
    "work/.aider.conf.yml": "r ?",
    "work/.hermes/sub/deep/x": "r ?",
    "work/.git/hooks/pre-commit": "r ?",
    "work/rules/a.txt": "r ?",
    "work/house.md": "r ?",
    "work/sandboxes/docker/t1/home/.hermes/memories/x.md": "r -",
    "user/.hermes/SOUL.md": "r ?",
    "user/.hermes/skills/x/SKILL.md": "r ?",
    "user/.hermes/config.yaml": "r -",
    "user/.hermes/.env": "- -",
    "user/.hermes/auth.json": "- -",
    "user/.hermes/hermes.db": "- -",
    "user/.hermes/profiles/p/SOUL.md": "r -",
    "user/.hermes/profiles/p/auth/token": "- -",
    "user/.ssh/id_ed25519": "- -",
    "user/.ssh/config": "r ?",
    "user/.config/gh/hosts.yml": "- -",
    "user/.config/ghostty/config": "r w",
    "user/.bashrc": "r ?",
    "other/.aws/credentials": "- -",
    "other/.hermes/config.yaml": "r -",
    "venv/lib/x.py": "r -",
    "/etc/hosts": "r -",
    "/usr/lib/systemd/system/x.service": "r -",
    "/usr/src/app/main.py": "r w",
    "/run/docker.sock": "- -",
}


@pytest.mark.parametrize(("name", "expected"), CASES.items())
def test_what_may_be_done_with_a_path(
    policy: PathPolicy, tmp_path: Path, name: str, expected: str
) -> None:
    path = Path(os.path.realpath(tmp_path / name))
    read = "-" if policy.unreadable(path) else "r"
    write = "-" if policy.unwritable(path) else "?" if policy.asks(path) else "w"
    assert f"{read} {write}" == expected


def listed(areas: tuple[Area, ...], path: Path) -> bool:
    """As a sandbox would have it that is made from the lists alone."""

    def among(roots: tuple[Path, ...]) -> bool:
        return any(path.is_relative_to(root) for root in roots)

    return any(
        (among(a.roots) and not among(a.but))
        or any(Path(str(path).lower()).match(p.lower()) or _below(path, p) for p in a.patterns)
        for a in areas
    )


def _below(path: Path, pattern: str) -> bool:
    return pattern.endswith("/*") and any(
        Path(str(each).lower()).match(pattern.lower()) for each in path.parents
    )


@pytest.mark.parametrize("name", CASES)
def test_the_lists_say_what_the_answers_say(policy: PathPolicy, tmp_path: Path, name: str) -> None:
    path = Path(os.path.realpath(tmp_path / name))
    assert (policy.unreadable(path) is not None) == listed(policy.hidden, path)
    fixed = listed((*policy.read_only, *policy.hidden[1:]), path)
    assert (policy.unwritable(path) is not None) == fixed
    assert (policy.asks(path) is not None) == listed(policy.asked, path)


def test_a_store_that_is_a_link_is_denied_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "disk/keys").mkdir(parents=True)
    (tmp_path / ".ssh").symlink_to(tmp_path / "disk/keys")
    policy = PathPolicy(home=tmp_path / ".hermes", user=tmp_path)
    assert policy.unreadable(tmp_path / "disk/keys/id_rsa")
    assert policy.unwritable(tmp_path / "disk/keys/id_rsa")
    assert not policy.unreadable(tmp_path / "disk/keys/config")


def test_safe_roots_are_the_only_place_to_write_and_open_nothing(tmp_path: Path) -> None:
    user = tmp_path / "user"
    policy = PathPolicy(home=user / ".hermes", user=user, safe_roots=[user, tmp_path / "ok"])
    assert policy.writable == (user, tmp_path / "ok")
    assert policy.unwritable(tmp_path / "ok/a.txt") is None
    assert "HERMES_WRITE_SAFE_ROOT" in str(policy.unwritable(tmp_path / "okay/a.txt"))
    assert policy.unwritable(user / ".ssh/id_rsa")
    assert policy.unreadable(tmp_path / "okay/a.txt") is None


def test_a_profile_may_not_touch_another_one(tmp_path: Path) -> None:
    base = tmp_path / "base"
    policy = PathPolicy(home=base / "profiles/mine", user=tmp_path / "user")
    assert policy.unwritable(base / "profiles/mine/notes.md") is None
    assert policy.asks(base / "profiles/mine/notes.md")
    for other in (base / "skills/x/SKILL.md", base / "profiles/theirs/memories/MEMORY.md"):
        assert policy.unwritable(other) == "it belongs to another profile"
        assert policy.unreadable(other) is None
    for secret in (base / ".env", base / "profiles/theirs/auth.json", base / "state.db"):
        assert policy.unreadable(secret)


def test_a_home_inside_another_is_not_another_profile(tmp_path: Path) -> None:
    policy = PathPolicy(home=tmp_path / ".hermes/trial", user=tmp_path)
    assert policy.unwritable(tmp_path / ".hermes/trial/notes.md") is None
    assert policy.unwritable(tmp_path / ".hermes/notes.md")


def test_protection_of_instructions_can_be_switched_off_and_nothing_else_with_it(
    tmp_path: Path,
) -> None:
    policy = PathPolicy(home=tmp_path / "h", user=tmp_path / "u", protect=False)
    assert policy.asks(tmp_path / "AGENTS.md") is None
    assert policy.asks(tmp_path / ".env")
    assert policy.asks(tmp_path / "u/.bashrc")


def test_confined_nothing_outside_is_read_and_nothing_is_written(tmp_path: Path) -> None:
    policy = PathPolicy(home=tmp_path / "h", user=None, confine=tmp_path / "here")
    assert policy.unreadable(tmp_path / "here/a.txt") is None
    assert policy.unreadable(tmp_path / "here/.env")
    assert policy.unreadable(tmp_path / "there/a.txt")
    assert policy.unwritable(tmp_path / "here/a.txt")
    assert policy.writable == ()


@pytest.mark.parametrize(
    ("name", "exists", "refused"),
    [
        ("a.docx", False, True),
        ("A.XLSX", False, True),
        ("a.db-wal", False, True),
        ("release-journal", True, False),
        ("a.png", True, True),
        ("a.png", False, False),
        ("a.pdf", True, True),
        ("a.txt", True, False),
        ("Makefile", True, False),
    ],
)
def test_text_does_not_replace_what_is_no_text(name: str, exists: bool, refused: bool) -> None:
    assert (opaque(Path("/w") / name, exists=exists) is not None) == refused
