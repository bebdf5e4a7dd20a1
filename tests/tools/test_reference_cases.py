"""The reference implementation's own cases of files, commands and code, through the dispatcher.

A case passes, or stands in the `*_deviations.toml` beside its file with the better behaviour named;
one that stands there and passes is a failure too.
"""

import json
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from reference_cases import Place, differences, results, variables_of

CASES: Final = Path(__file__).parent.parent / "cases"
SETS: Final = ("file_tools", "terminal_tools")
ROWS: Final = [
    (each, json.loads(line))
    for each in SETS
    for line in (CASES / f"{each}.jsonl").read_text(encoding="utf-8").splitlines()
]
DEVIATIONS: Final = {
    each: tomllib.loads((CASES / f"{each}_deviations.toml").read_text(encoding="utf-8"))
    for each in SETS
}


@pytest.mark.parametrize(("kind", "row"), ROWS, ids=[row["id"] for _, row in ROWS])
async def test_a_case_gives_what_the_reference_gives_or_something_better(
    kind: str, row: dict[str, Any], tmp_path: Path
) -> None:
    deviations = DEVIATIONS[kind]
    place = Place(tmp_path)
    place.make(row["setup"])
    found = await results(row, place, variables_of(row, place))
    wrong = differences(row, place, found[-1], deviations["everywhere"])
    if row["id"] in deviations["cases"]:
        assert wrong, f"{row['id']} is listed as a deviation and is none"
    else:
        assert not wrong, f"{row['id']}: {'; '.join(wrong)}; result {found[-1]}"


@pytest.mark.parametrize("kind", SETS)
def test_every_deviation_names_a_case_and_a_reason(kind: str) -> None:
    assert set(DEVIATIONS[kind]["cases"]) <= {row["id"] for each, row in ROWS if each == kind}
    assert all(
        isinstance(reason, str) and reason
        for each in DEVIATIONS[kind].values()
        for reason in each.values()
    )
