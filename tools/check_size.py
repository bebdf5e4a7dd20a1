"""The size lint: files of at most 400 lines, functions of at most 60.

Reads src/hermes, tools and tests below the root given (default: the repository). A module that
holds only a docstring, imports and literal assignments is data and may be longer. What is over a
limit today stands in tools/size_debt.txt as `path lines` or `path:Class.function lines`; an entry
larger than the truth fails too, so that the list can only shrink.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FILE_LINES: Final = 400
FUNCTION_LINES: Final = 60
FOLDERS: Final = ("src/hermes", "tools", "tests")
DEBT: Final = "tools/size_debt.txt"

LITERAL: Final = (
    ast.Constant,
    ast.Dict,
    ast.List,
    ast.Tuple,
    ast.Set,
    ast.UnaryOp,
    ast.unaryop,
    ast.expr_context,
)


def is_data(module: ast.Module) -> bool:
    """Whether `module` only imports and assigns literals."""
    for statement in module.body:
        match statement:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
                continue
            case ast.Assign(value=ast.expr() as value) | ast.AnnAssign(value=ast.expr() as value):
                if not all(isinstance(part, LITERAL) for part in ast.walk(value)):
                    return False
            case _:
                return False
    return True


def functions(node: ast.AST, inside: tuple[str, ...] = ()) -> Iterator[tuple[str, int]]:
    """Dotted name and number of lines of every function below `node`; decorators do not count."""
    for child in ast.iter_child_nodes(node):
        name = inside
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = (*inside, child.name)
            if not isinstance(child, ast.ClassDef):
                yield ".".join(name), (child.end_lineno or child.lineno) - child.lineno + 1
        yield from functions(child, name)


def measure(root: Path) -> Iterator[tuple[str, int, int]]:
    """What (a path, or path:function), how many lines it has, and how many it may have."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            module = ast.parse(text, filename=str(path))
            name = path.relative_to(root).as_posix()
            if not is_data(module):
                yield name, len(text.splitlines()), FILE_LINES
            for function, lines in functions(module):
                yield f"{name}:{function}", lines, FUNCTION_LINES


def read_debt(root: Path) -> dict[str, int]:
    """The recorded exceptions; `#` begins a comment. An unreadable line is a ValueError."""
    path, debt = root / DEBT, {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for line in lines:
        fields = line.partition("#")[0].split()
        if fields:
            what, size = fields
            debt[what] = int(size)
    return debt


def complaints(root: Path) -> Iterator[str]:
    """One line for everything that is too long, and for every debt that is no longer owed."""
    debt = read_debt(root)
    for what, lines, limit in measure(root):
        recorded = debt.pop(what, None)
        if recorded is None:
            if lines > limit:
                yield f"{what}: {lines} lines, at most {limit}: split it"
        elif lines <= limit:
            yield f"{DEBT}: remove {what}, it has {lines} lines now and may have {limit}"
        elif lines < recorded:
            yield f"{DEBT}: lower {what} from {recorded} to {lines}"
        elif lines > recorded:
            yield f"{what}: {lines} lines, and its debt may not grow beyond {recorded}: split it"
    for what in debt:
        yield f"{DEBT}: remove {what}, it is gone"


def main() -> int:
    """Print the complaints about the root in argv; 1 if there are any."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
    try:
        found = list(complaints(root))
    except SyntaxError as e:
        found = [f"{e.filename}:{e.lineno}: {e.msg}"]
    print("\n".join(found) or "sizes: all within their limits")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
