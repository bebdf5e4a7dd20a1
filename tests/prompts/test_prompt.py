"""What a model reads first: small, stable for a day, and the owner's own where they say so."""

import json
from pathlib import Path

import pytest

from hermes.core.errors import UserError
from hermes.core.people import Origin
from hermes.core.transcript import ToolSchema
from hermes.prompts.assemble import Assembler
from program import Program

TOOL = ToolSchema(name="t", description="d", parameters="{}")
NOON = 1_767_268_800.0


def prompt(folder: Path, *, now: float = NOON, profile: str = "full") -> str:
    assembler = Assembler(soul=folder / "SOUL.md", profile=profile, system="Test")  # type: ignore[arg-type]
    frozen = assembler.assemble(
        origin=Origin(surface="cli"), cwd="/work", tools=(TOOL,), model="custom/m", now=now
    )
    return frozen.text


def test_the_base_prompt_costs_at_most_3000_tokens(program: Program) -> None:
    size = json.loads(program.run("prompt-size", "--json").stdout)
    assert 0 < size["estimated_tokens"] <= 3000


def test_sessions_of_one_day_share_their_prompt_byte_for_byte(tmp_path: Path) -> None:
    assert prompt(tmp_path) == prompt(tmp_path, now=NOON + 3600)
    assert prompt(tmp_path) != prompt(tmp_path, now=NOON + 86_400)


def test_what_changes_with_the_day_stands_last(tmp_path: Path) -> None:
    today, tomorrow = prompt(tmp_path), prompt(tmp_path, now=NOON + 86_400)
    shared = next(i for i, (a, b) in enumerate(zip(today, tomorrow, strict=False)) if a != b)
    assert today[:shared].endswith("Date: ")


def test_the_owners_soul_replaces_the_built_in_identity(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text("You are Iris.\n", encoding="utf-8")
    assert prompt(tmp_path).startswith("You are Iris.\n\nHow to work")


def test_an_empty_soul_is_no_soul(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text(" \n", encoding="utf-8")
    assert prompt(tmp_path).startswith("You are Hermes")


def test_a_soul_that_is_not_text_is_refused_and_named(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_bytes(b"You are \xff\xfe")
    with pytest.raises(UserError, match=r"SOUL\.md"):
        prompt(tmp_path)


def test_the_lean_prompt_says_little_and_nothing_of_the_day(tmp_path: Path) -> None:
    lean = prompt(tmp_path, profile="lean")
    assert len(lean) < 400
    assert lean == prompt(tmp_path, now=NOON + 86_400, profile="lean")
