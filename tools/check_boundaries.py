"""The boundary lint: rules of the house that neither ruff nor import-linter can see.

In src/hermes, tools and tests below the root given (default: the repository):

- a broad except stands only at a boundary and says so with `# boundary: why` on its line, or
  below it; a marker without a broad except is refused too;
- text files name their codec;
- no module or folder is called after what it is not (utils, helpers, common, manager, ...).

In src/hermes: an import inside a function gives its reason, `# lazy: why`, on its line or in the
comment above, and at most 3 % of all imports are such. In tests: nothing sleeps on the wall clock.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

FOLDERS: Final = ("src/hermes", "tools", "tests")
BENCH_KIT: Final = "tests/bench/kit/"
"""Runs by itself on any Python, shared with other programs, and keeps its own style."""
LAZY_SHARE: Final = 0.03
BROAD: Final = ("Exception", "BaseException")
BANNED: Final = frozenset(
    (
        "util",
        "utils",
        "helper",
        "helpers",
        "common",
        "manager",
        "managers",
        "base",
        "mixin",
        "mixins",
    )
)
# Both at the end of a line of code, or alone on one; a string that speaks of them has a quote.
MARKED: Final = re.compile(r"^[^\"'`]*# (?:noqa: \S+ +)?boundary: \S")
LAZY: Final = re.compile(r"# lazy: \S")
FUNCTION: Final = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(kw_only=True)
class Tally:
    """What was counted over all files."""

    boundaries: int = 0
    imports: int = 0
    lazy: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Source:
    """One parsed file; `name` is its path below the root, with slashes."""

    name: str
    lines: list[str]
    module: ast.Module

    def line(self, number: int) -> str:
        """Line `number`, counted from 1; empty if there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def at(self, line: int, complaint: str) -> str:
        return f"{self.name}:{line}: {complaint}"


def called(node: ast.Call) -> str:
    """The dotted name of what is called, its head left out if that is not a plain name."""
    parts: list[str] = []
    target: ast.expr = node.func
    while isinstance(target, ast.Attribute):
        parts.append(target.attr)
        target = target.value
    parts.append(target.id if isinstance(target, ast.Name) else "")
    return ".".join(reversed(parts))


def is_broad(caught: ast.expr | None) -> bool:
    """Whether an except clause with this type catches nearly everything."""
    if caught is None:
        return True
    types = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(isinstance(kind, ast.Name) and kind.id in BROAD for kind in types)


def passes_on(handler: ast.ExceptHandler) -> bool:
    """Whether a handler only cleans up: it ends by raising what it caught."""
    match handler.body[-1]:
        case ast.Raise(exc=None):
            return True
        case _:
            return False


def broad_excepts(source: Source, tally: Tally) -> Iterator[str]:
    """Broad excepts without a marker, and markers without a broad except."""
    marked: set[int] = set()
    for node in ast.walk(source.module):
        if isinstance(node, ast.ExceptHandler) and is_broad(node.type):
            here = {n for n in (node.lineno, node.lineno + 1) if MARKED.search(source.line(n))}
            marked |= here
            tally.boundaries += bool(here)
            if not here and not passes_on(node):
                yield source.at(node.lineno, "broad except: name the error, or `# boundary: why`")
        elif (
            isinstance(node, ast.Call)
            and called(node) in ("suppress", "contextlib.suppress")
            and any(is_broad(kind) for kind in node.args)
        ):
            yield source.at(node.lineno, "suppresses everything: name the error")
    for number, line in enumerate(source.lines, 1):
        if number not in marked and MARKED.search(line):
            yield source.at(number, "a boundary marker without a broad except")


def is_text_mode(node: ast.Call, position: int) -> bool:
    """Whether this call of an `open` opens text: its mode is absent, or a literal without b."""
    named = [word.value for word in node.keywords if word.arg == "mode"]
    mode = named or node.args[position : position + 1]
    if not mode:
        return True
    value = mode[0].value if isinstance(mode[0], ast.Constant) else None
    return isinstance(value, str) and set(value) <= set("rwaxt+")


def codecs(source: Source) -> Iterator[str]:
    """Text files opened, and child processes read as text, in whatever codec the machine has."""
    for node in ast.walk(source.module):
        if not isinstance(node, ast.Call):
            continue
        name, words = called(node), {word.arg for word in node.keywords}
        if "encoding" in words or None in words:
            continue
        method = name.rpartition(".")[2]
        if name in ("open", "io.open"):
            guilty = is_text_mode(node, 1)
        elif method == "open" and name != "os.open":
            # Many things have a method `open`; a file's is given nothing, or a mode.
            guilty = len(node.args) + len(words) <= 1 and is_text_mode(node, 0)
        elif name.startswith("subprocess."):
            guilty = bool(words & {"text", "universal_newlines"})
        else:
            guilty = (method, len(node.args)) in (("read_text", 0), ("write_text", 1))
        if guilty:
            yield source.at(node.lineno, f"`{method}` without encoding: say encoding='utf-8'")


def has_reason(source: Source, line: int) -> bool:
    """Whether the import on `line`, or the comment and imports right above it, says why."""
    if LAZY.search(source.line(line)):
        return True
    above = source.line(line - 1).lstrip()
    return above.startswith(("#", "import ", "from ")) and has_reason(source, line - 1)


def imports(source: Source, tally: Tally) -> Iterator[str]:
    """Imports inside functions that give no reason."""
    inner = {
        id(node)
        for function in ast.walk(source.module)
        if isinstance(function, FUNCTION)
        for node in ast.walk(function)
    }
    for node in ast.walk(source.module):
        if isinstance(node, ast.Import | ast.ImportFrom):
            tally.imports += 1
            if id(node) not in inner:
                continue
            tally.lazy.append(source.at(node.lineno, "imported inside a function"))
            if not has_reason(source, node.lineno):
                yield source.at(node.lineno, "import inside a function: give `# lazy: why`")


def sleeps(source: Source) -> Iterator[str]:
    """Tests that wait for the wall clock instead of for what they wait for."""
    bare = any(
        isinstance(node, ast.ImportFrom)
        and node.module == "time"
        and any(alias.name == "sleep" for alias in node.names)
        for node in ast.walk(source.module)
    )
    for node in ast.walk(source.module):
        if isinstance(node, ast.Call):
            name = called(node)
            if name == "time.sleep" or (bare and name == "sleep"):
                yield source.at(node.lineno, "a test that sleeps: wait for the event itself")


def names(source: Source) -> Iterator[str]:
    """Module and folder names that say nothing about what is inside."""
    for part in source.name.removesuffix(".py").split("/"):
        if BANNED & set(part.strip("_").split("_")):
            yield source.at(1, f"`{part}` does not say what it holds: name it after that")


def check(source: Source, tally: Tally) -> Iterator[str]:
    """Every complaint about one file; what it has is added to `tally`."""
    yield from names(source)
    yield from broad_excepts(source, tally)
    yield from codecs(source)
    if source.name.startswith("src/"):
        yield from imports(source, tally)
    if source.name.startswith("tests/"):
        yield from sleeps(source)


def check_file(root: Path, path: Path, tally: Tally) -> list[str]:
    """Every complaint about the file at `path`; one that is not Python is its own."""
    name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
    try:
        module = ast.parse(text)
    except SyntaxError as e:
        return [f"{name}:{e.lineno}: {e.msg}"]
    source = Source(name=name, lines=text.splitlines(), module=module)
    return sorted(check(source, tally), key=lambda complaint: int(complaint.split(":")[1]))


def main() -> int:
    """Print the complaints about the root in argv; 1 if there are any."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
    tally = Tally()
    found: list[str] = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            if BENCH_KIT in path.as_posix():
                continue
            found += check_file(root, path, tally)
    if len(tally.lazy) > LAZY_SHARE * tally.imports:
        found += tally.lazy
        found.append(
            f"{len(tally.lazy)} of {tally.imports} imports stand inside functions,"
            f" at most {LAZY_SHARE:.0%} may"
        )
    print("\n".join(found) or "boundaries: all marked")
    print(
        f"({tally.boundaries} boundaries, {len(tally.lazy)} of {tally.imports} imports lazy)",
        file=sys.stderr,
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
