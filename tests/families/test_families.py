"""Which test answers for which reported fault.

`cases/bugs.jsonl` holds the reports of the families that concern rooms that exist; each names the
tests that keep it from coming back.
"""

import ast
import json
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from covered_loop import LOOP
from covered_tools import TOOLS

TESTS: Final = Path(__file__).parent.parent
ROWS: Final = [
    json.loads(line)
    for line in (TESTS / "cases" / "bugs.jsonl").read_text(encoding="utf-8").splitlines()
]
COVERED: Final = LOOP | TOOLS


@cache
def defined(file: str) -> frozenset[str]:
    """The names of the tests that `file` defines."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    functions = (n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(n.name for n in functions if n.name.startswith("test_"))


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_every_reported_fault_has_tests_that_exist(row: dict[str, str]) -> None:
    named = COVERED.get(row["id"], ())
    assert named, f"no test answers for {row['id']}: {row['symptom']}"
    missing = [
        test for test in named if test.partition("::")[2] not in defined(test.partition("::")[0])
    ]
    assert missing == []


def test_no_test_is_named_for_a_fault_that_is_not_here() -> None:
    assert sorted(COVERED) == sorted(row["id"] for row in ROWS)
