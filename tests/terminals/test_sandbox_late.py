"""What comes to be where a sandbox could not cover it is noticed, whenever that is."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.terminals.sandbox.late import Late
from hermes.terminals.sandbox.plan import leads_to

PATHS = ("a", "b/c", "b/d/e", "link", "f/g/h/i")
STEPS = ("make", "link", "remove", "rename", "look", "above")


def change(root: Path, step: str, name: str) -> None:
    """One change at a path or at the folder that is to hold it."""
    path = root / name
    if step == "above":
        path.parent.mkdir(parents=True, exist_ok=True)
    elif step == "make" and path.parent.is_dir() and not os.path.lexists(path):
        path.touch()
    elif step == "link" and path.parent.is_dir() and not os.path.lexists(path):
        path.symlink_to("/usr")
    elif step == "remove" and os.path.lexists(path):
        path.unlink()
    elif step == "rename" and (top := root / name.split("/", maxsplit=1)[0]).is_dir():
        away = root / f"away-{len(list(root.iterdir()))}"
        if not away.exists():
            top.rename(away)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.sampled_from(PATHS)), max_size=12))
def test_every_change_is_told_at_the_next_look(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    root = tmp_path_factory.mktemp("late")
    (root / "link").symlink_to("/etc")
    late = {str(root / name): leads_to(str(root / name)) for name in PATHS}
    watched = Late(late)
    for step, name in steps:
        change(root, step, name)
        came = tuple(sorted(path for path, was in late.items() if leads_to(path) != was))
        assert watched.appeared() == came
