"""Prints the part of constraints.txt that an install needs, hashes included.

`python tools/pins.py local test` prints the pins of the core's dependencies, of the extra `local`
and of the group `test`, with all that they depend on, for `pip install --require-hashes -r`. pip
refuses hashes for an editable project and older ones do not know dependency groups; this needs
neither. What depends on what is read from the `# via` lines that `make constraints` writes.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PIN: Final = re.compile(r"([a-z0-9][a-z0-9.-]*)==\S+")
VIA: Final = re.compile(r"    #(?: via)? +(\S+)")


def canonical(requirement: str) -> str:
    """The normalised name at the head of a requirement (PEP 503)."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    if name is None:
        raise SystemExit(f"pyproject.toml: not a requirement: {requirement!r}")
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def roots(wanted: list[str]) -> set[str]:
    """What pyproject.toml itself asks for: the core, and the extras and groups `wanted`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    known = project["project"]["optional-dependencies"] | project["dependency-groups"]
    asked = list(project["project"]["dependencies"])
    for name in wanted:
        if name not in known:
            raise SystemExit(f"pyproject.toml has no extra or group {name!r}")
        asked += known[name]
    return {canonical(requirement) for requirement in asked}


def read_pins() -> tuple[dict[str, str], dict[str, set[str]]]:
    """From constraints.txt: the text of each pin, and which packages need it."""
    text: dict[str, str] = {}
    needed_by: dict[str, set[str]] = {}
    name = ""
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines(keepends=True):
        if pin := PIN.match(line):
            name = pin[1]
            text[name], needed_by[name] = line, set()
        elif via := VIA.match(line):
            needed_by[name].add(via[1])
        elif name:
            text[name] += line
    return text, needed_by


def main() -> int:
    """Print the pins for the extras and groups in argv, in the file's order."""
    text, needed_by = read_pins()
    chosen = roots(sys.argv[1:])
    if missing := sorted(chosen - text.keys()):
        raise SystemExit(f"constraints.txt lacks {', '.join(missing)}: run `make constraints`")
    while more := {name for name, by in needed_by.items() if by & chosen} - chosen:
        chosen |= more
    print("".join(pin for name, pin in text.items() if name in chosen), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
