"""Patterns of file names, and the ignore files of git, as regular expressions over paths."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from hermes.core.errors import ToolError


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern for paths below a folder. One without `/` is for the last part, in any folder;
    `hidden` tells that it names something that begins with a dot."""

    regex: re.Pattern[str]
    whole: bool
    hidden: bool

    def match(self, path: str) -> bool:
        """Whether the relative `path` fits; composed and decomposed characters are the same."""
        text = unicodedata.normalize("NFC", path)
        return self.regex.fullmatch(text if self.whole else text.rpartition("/")[2]) is not None


@lru_cache(maxsize=256)
def glob(pattern: str) -> Glob:
    """`*`, `?`, `[...]`, `{a,b}` and `**`; raises ToolError for one that is not closed."""
    pattern = unicodedata.normalize("NFC", pattern).removeprefix("./")
    whole = "/" in pattern
    body = translate(pattern.strip("/"))
    hidden = any(part.startswith(".") for part in re.split(r"[/{,]", pattern))
    try:
        return Glob(re.compile(body, re.DOTALL), whole, hidden)
    except re.error as e:
        raise ToolError(f"{pattern!r} is no pattern for names: {e}.") from e


def translate(pattern: str) -> str:
    """The regular expression for `pattern`, without anchors; raises ToolError."""
    parts: list[str] = []
    depth = at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if pattern.startswith("**", at - 1):
            at += 1
            if pattern.startswith("/", at):
                parts.append("(?:.*/)?")
                at += 1
            else:
                parts.append(".*")
        elif char == "*":
            parts.append("[^/]*")
        elif char == "?":
            parts.append("[^/]")
        elif char == "[":
            end = pattern.find("]", at + 2 if pattern[at : at + 1] in ("!", "^") else at + 1)
            if end < 0:
                raise ToolError(f"{pattern!r} is no pattern for names: [ is not closed.")
            inner = pattern[at:end].replace("\\", r"\\").replace("[", r"\[")
            parts.append(f"[^{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]")
            at = end + 1
        elif char == "{":
            depth += 1
            parts.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            parts.append(")")
        elif char == "," and depth:
            parts.append("|")
        elif char == "\\" and at < len(pattern):
            parts.append(re.escape(pattern[at]))
            at += 1
        else:
            parts.append(re.escape(char))
    if depth:
        raise ToolError(f"{pattern!r} is no pattern for names: {{ is not closed.")
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class _Rule:
    regex: re.Pattern[str]
    keep: bool
    folders: bool


class IgnoreFile:
    """The rules of one `.gitignore` (gitignore(5)); the last that fits decides."""

    def __init__(self, text: str) -> None:
        self._rules = [rule for line in text.split("\n") if (rule := _rule(line)) is not None]

    def ignores(self, path: str, *, folder: bool) -> bool | None:
        """Whether `path`, relative to the file's folder, is ignored; None if no rule fits."""
        for rule in reversed(self._rules):
            if (folder or not rule.folders) and rule.regex.fullmatch(path):
                return not rule.keep
        return None


def _rule(line: str) -> _Rule | None:
    line = line.rstrip("\r")
    if not line.endswith("\\ "):
        line = line.rstrip(" ")
    if not line or line.startswith("#"):
        return None
    keep = line.startswith("!")
    line = line[keep:]
    folders = line.endswith("/")
    line = line.rstrip("/")
    anchored = "/" in line
    line = line.removeprefix("/").replace("{", "\\{").replace("}", "\\}")
    try:
        regex = re.compile(("" if anchored else "(?:.*/)?") + translate(line), re.DOTALL)
    except (ToolError, re.error):
        # git takes a rule that is not closed for one that fits nothing.
        return None
    return _Rule(regex, keep, folders)
