"""Patches in tests: files in memory, and what a patch makes of them."""

from hermes.ports.files import FileKind
from hermes.tools.files.v4a import parse
from hermes.tools.files.v4a_plan import (
    Planned,
    PlanProblem,
    WriteText,
    plan,
)
from hermes.tools.files.v4a_types import (
    Parsed,
    PatchFault,
)


class Tree:
    """Files in memory, and links to them; a path is canonical once `./` is gone."""

    def __init__(self, files: dict[str, str], links: dict[str, str] | None = None) -> None:
        self.files = files
        self.links = links or {}

    async def locate(self, path: str, *, entry: bool) -> str | PlanProblem:
        path = path.removeprefix("./")
        return path if entry else self.links.get(path, path)

    async def kind(self, path: str) -> FileKind | None:
        if path in self.links:
            return "link"
        if any(name.startswith(path + "/") for name in self.files):
            return "folder"
        return "file" if path in self.files else None

    async def text(self, path: str) -> str | PlanProblem:
        text = self.files[path]
        if "\0" in text:
            return PlanProblem(code="unreadable", message=f"{path} is a binary file.")
        return text


def wrap(body: str) -> str:
    return f"*** Begin Patch\n{body}*** End Patch\n"


async def planned(body: str, tree: Tree) -> Planned | PatchFault:
    parsed = parse(wrap(body))
    return parsed if isinstance(parsed, PatchFault) else await plan(parsed, tree)


async def after(text: str, hunks: str) -> str:
    """The text of a file once `hunks` are in it; all must be well."""
    made = await planned(f"*** Update File: a\n{hunks}", Tree({"a": text}))
    assert isinstance(made, Planned), made
    if not made.changes:
        assert made.notes
        return text
    (change,) = made.changes
    assert isinstance(change, WriteText)
    return change.text


async def refused(text: str, hunks: str) -> PatchFault:
    made = await planned(f"*** Update File: a\n{hunks}", Tree({"a": text}))
    assert isinstance(made, PatchFault), made
    return made


def fault(patch: str) -> PatchFault:
    made = parse(patch)
    assert isinstance(made, PatchFault), made
    return made


def operations(patch: str) -> tuple[object, ...]:
    made = parse(patch)
    assert isinstance(made, Parsed), made
    return made.operations
