"""The gate before a write: JSON, YAML and TOML that its own reader would refuse is not written.

A gate must not be wrong against a person. What the owner of a file reads is accepted, what cannot
be judged is let through, and a file that was broken before may be written, broken or not.
"""

import re
from typing import Final

from hermes.tools.files.checks.formats import Format, format_of
from hermes.tools.files.checks.parsers import find_fault
from hermes.tools.files.checks.problems import Problem

NAMES: Final[dict[Format, str]] = {
    "json": "JSON",
    "jsonc": "JSON (comments and trailing commas are allowed here)",
    "yaml": "YAML",
    "toml": "TOML",
}
"""The formats that are gated. JSON Lines are appended to line by line, so they are only linted."""

CONSTANT: Final = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|(?<![\w.])(?P<constant>-?(?:NaN|Infinity))(?!\w)'
)


def gate(path: str, old: str | None, new: str) -> str | None:
    """Why `new` must not be written to `path`, which holds `old` (None: a new file), or None.

    The reason names line, column, what is there and what works. Never raises. Costs about 7 µs a
    character of YAML and next to nothing else; longer YAML than `parsers.YAML_CHARS` is not read.
    """
    form = format_of(path, new)
    if form is None or form not in NAMES:
        return None
    fault = find_fault(form, new)
    if isinstance(fault, Problem):
        if old is not None and isinstance(find_fault(form, old), Problem):
            return None
        return f"this would not be valid {NAMES[form]}: {fault}. {_advice(form, fault, new)}"
    if form == "json" and (constant := _constant(new)) and not (old and _constant(old)):
        return (
            f"{constant} is not JSON, and most readers refuse the whole file. "
            "Use null, a number or a string there."
        )
    return None


def _advice(form: Format, fault: Problem, text: str) -> str:
    lines = text.split("\n")
    here = lines[fault.line - 1].lstrip() if fault.line <= len(lines) else ""
    if form == "json" and here.startswith(("//", "/*", "#")):
        return "Whatever reads this file is not known to take comments: leave them out."
    return (
        "Correct that place and call again; changes that are only valid together go into one "
        "call. (A file that is meant to be invalid can be written with the terminal.)"
    )


def _constant(text: str) -> str | None:
    """The first NaN or Infinity outside strings, with its place."""
    if "NaN" not in text and "Infinity" not in text:
        return None
    for match in CONSTANT.finditer(text):
        if found := match["constant"]:
            line = text.count("\n", 0, match.start()) + 1
            column = match.start() - text.rfind("\n", 0, match.start())
            return f"line {line}, column {column}: {found}"
    return None
