"""The reference implementation's own cases of the four file tools, through the dispatcher.

A case passes, or stands in `file_tools_deviations.toml` with the better behaviour named; one that
stands there and passes is a failure too.
"""

import json
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from reference_cases import Place, differences, results, variables_of

CASES: Final = Path(__file__).parent.parent / "cases"
ROWS: Final = [
    json.loads(line)
    for line in (CASES / "file_tools.jsonl").read_text(encoding="utf-8").splitlines()
]
DEVIATIONS: Final = tomllib.loads(
    (CASES / "file_tools_deviations.toml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
async def test_a_case_gives_what_the_reference_gives_or_something_better(
    row: dict[str, Any], tmp_path: Path
) -> None:
    place = Place(tmp_path)
    place.make(row["setup"])
    found = await results(row, place, variables_of(row, place))
    wrong = differences(row, place, found[-1], DEVIATIONS["everywhere"])
    if row["id"] in DEVIATIONS["cases"]:
        assert wrong, f"{row['id']} is listed as a deviation and is none"
    else:
        assert not wrong, f"{row['id']}: {'; '.join(wrong)}; result {found[-1]}"


def test_every_deviation_names_a_case_and_a_reason() -> None:
    assert set(DEVIATIONS["cases"]) <= {row["id"] for row in ROWS}
    assert all(
        isinstance(reason, str) and reason
        for each in DEVIATIONS.values()
        for reason in each.values()
    )
