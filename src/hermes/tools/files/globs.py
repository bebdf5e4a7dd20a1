"""Patterns of file names, and the ignore files of git, as regular expressions over paths."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from hermes.core.errors import ToolError


@dataclass(frozen=True, slots=True)
class _Part:
    """One pattern; `whole` if it is for the whole path and not for its last part."""

    regex: re.Pattern[str]
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Glob:
    """Patterns for paths below a folder: those that fit one of `parts` and none of `but`.

    `hidden` tells that they name something that begins with a dot. `names` are simple patterns for
    a file's name, one of which every path that fits has, in letters and `*` alone; none if that
    says nothing. `folder` is where all that fits lies, relative, or empty.
    """

    parts: tuple[_Part, ...]
    but: tuple[_Part, ...]
    hidden: bool
    names: tuple[str, ...]
    folder: str

    def match(self, path: str) -> bool:
        """Whether the relative `path` fits; composed and decomposed characters are the same."""
        text = path if path.isascii() else unicodedata.normalize("NFC", path)
        name = text[text.rfind("/") + 1 :]
        if self.parts and not _fits(self.parts, text, name):
            return False
        return not _fits(self.but, text, name)


def _fits(parts: tuple[_Part, ...], path: str, name: str) -> bool:
    return any(part.regex.fullmatch(path if part.whole else name) for part in parts)


@lru_cache(maxsize=256)
def glob(pattern: str, root: str = "") -> Glob:
    """Read `*`, `?`, `[...]`, `{a,b}` and `**`; raises ToolError for one that is not closed.

    A pattern without `/` is for names in any folder. Several are divided by commas; one that begins
    with `!` takes away. One that begins with the path of the folder `root` is for what is below it.
    """
    split = [part.strip() for part in _divided(pattern)]
    if len(split) == 1 and all("*" in part for part in pattern.split()):
        split = pattern.split()
    wanted = [part for part in split if part and not part.startswith("!")]
    if len(split) > 1 and not pattern.startswith("!"):
        # A comma may also be part of a name.
        wanted.append(pattern)
    wanted = [_relative(part, root) for part in wanted]
    unwanted = [_relative(part[1:], root) for part in split if part.startswith("!") and part[1:]]
    simple = [word for part in wanted for word in _expanded(part)]
    return Glob(
        parts=tuple(map(_part, wanted)),
        but=tuple(map(_part, unwanted)),
        hidden=any(re.search(r"(?:^|[/{,])\.", part) for part in wanted),
        names=_names(simple),
        folder=_folder(wanted[0]) if len(wanted) == 1 else "",
    )


def _relative(pattern: str, root: str) -> str:
    pattern = unicodedata.normalize("NFC", pattern)
    inside = root.rstrip("/") + "/"
    if len(inside) > 1 and pattern.startswith(inside):
        # It is for that folder, even if no other / is left.
        pattern = "/" + pattern[len(inside) :]
    pattern = pattern.removeprefix("./")
    return pattern + "**" if pattern.endswith("/") else pattern


def _part(pattern: str) -> _Part:
    try:
        return _Part(re.compile(translate(pattern.lstrip("/")), re.DOTALL), "/" in pattern)
    except re.error as e:
        raise ToolError(f"{pattern!r} is no pattern for names: {e}.") from e


def _divided(pattern: str) -> list[str]:
    """`pattern` at its commas, but for those in braces and brackets."""
    parts = [""]
    for piece in re.findall(
        r"\\.|\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\[!?\]?[^\]]*\]|.", pattern, re.S
    ):
        if piece == ",":
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def _expanded(pattern: str) -> list[str]:
    """What the braces of `pattern` stand for, without braces; `*` if that is too much."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        each = todo.pop()
        inner = re.search(r"(?<!\\)\{([^{}]*)\}", each)
        if inner is None:
            done.append(each)
        else:
            todo += [each[: inner.start()] + x + each[inner.end() :] for x in inner[1].split(",")]
        if len(done) + len(todo) > 32:
            return ["*"]
    return done


def _names(patterns: list[str]) -> tuple[str, ...]:
    found = []
    for pattern in patterns:
        name = re.sub(r"\[[^/]*\]|\\.", "*", pattern).rpartition("/")[2]
        # What a name's other normal form may hide is left open too.
        simple = re.sub(r"[^A-JL-Za-z0-9._ -]+", "*", name)
        if not simple.strip("*"):
            return ()
        found.append(simple)
    return tuple(found)


def _folder(pattern: str) -> str:
    """The folders that `pattern` begins with, as far as they are plain."""
    if not pattern.isascii():
        return ""
    plain = re.match(r"/?((?:[\w. -]+/)*)", pattern)
    found = plain[1].rstrip("/") if plain else ""
    return "" if {".", ".."} & set(found.split("/")) else found


def translate(pattern: str) -> str:
    """The regular expression for `pattern`, without anchors; raises ToolError."""
    parts: list[str] = []
    depth = at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if pattern.startswith("**", at - 1) and pattern[at - 2 : at - 1] in ("", "/", "{", ","):
            at += 1
            if pattern.startswith("/", at):
                parts.append("(?:.*/)?")
                at += 1
            else:
                parts.append(".*" if pattern[at : at + 1] in ("", ",", "}") else "[^/]*")
        elif char == "*":
            parts.append("[^/]*")
        elif char == "?":
            parts.append("[^/]")
        elif char == "[":
            end = pattern.find("]", at + 2 if pattern[at : at + 1] in ("!", "^") else at + 1)
            if end < 0:
                raise ToolError(f"{pattern!r} is no pattern for names: [ is not closed.")
            parts.append(_class(pattern[at:end]))
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


def _class(inner: str) -> str:
    negated = inner[0] in "!^"
    inner = inner[negated:]
    first = "\\" + inner[0] if inner[0] == "-" else ""
    rest = re.sub(r"([^\w-])", r"\\\1", inner[bool(first) :])
    return f"(?!/)[{'^' if negated else ''}{first}{rest}]"


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
