"""One dialect of regular expressions, for ripgrep and for Python's `re` alike.

A pattern is read once and written for each engine, so that both find the same. It is what most
dialects share: a lone `{` and a `[` in a class are text; `\\<`, `\\x{e9}`, `(?<name>...)` and
`[[:alpha:]]` are known; set operations in a class are not. Lines may end in CRLF.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from hermes.core.errors import ToolError

NESTED: Final = 60

_SPACE: Final = r"\t\x0b\x0c \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_CONTROLS: Final = {"t": "\t", "r": "\r", "n": "\n", "f": "\f", "v": "\v", "a": "\a"}
_START: Final = r"(?<![\w])(?=[\w])"
_END: Final = r"(?<=[\w])(?![\w])"
_BOUNDS: Final = {
    "<": _START,
    ">": _END,
    "b{start}": _START,
    "b{end}": _END,
    "b{start-half}": r"(?<![\w])",
    "b{end-half}": r"(?![\w])",
    "b": f"{_START}|{_END}",
    "B": f"(?!{_START}|{_END})",
    "A": r"\A",
    "z": r"\Z",
    "Z": r"\Z",
}
_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": r"\t\n\x0b\x0c\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_CODE: Final = re.compile(
    r"x\{([0-9A-Fa-f]{1,8})\}|x([0-9A-Fa-f]{2})|[uU]\{([0-9A-Fa-f]{1,8})\}"
    r"|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})"
)
_BOUND: Final = re.compile(r"b\{(?:start|end)(?:-half)?\}|[<>bBAzZ]")
_REPEAT: Final = re.compile(r"(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??")
_OPEN: Final = re.compile(
    r"\((\?(?:P?<(?P<name>\w+)>|:|=|!|<=|<!|>|(?P<flags>[a-zA-Z-]+)(?P<to>[:)])))?"
)


class BadPattern(ToolError):
    """The pattern is no regular expression."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regex:
    """A pattern for both engines.

    `spans`: it may match over lines. `returns`: it names carriage returns, so these are no part of
    a line's end. `looks`: only a backtracking engine knows it (PCRE2, Python). `missing` is what
    Python lacks for it, if it does.
    """

    rust: str
    python: str
    spans: bool
    returns: bool
    looks: bool = False
    missing: str | None = None

    def compiled(self, *, fold: bool) -> re.Pattern[str]:
        """For Python; raises ToolError if it cannot, BadPattern if the pattern is wrong."""
        if self.missing:
            raise ToolError(f"{self.missing} in a pattern needs ripgrep, which is not installed.")
        try:
            words = self.python
            # No other `\w` can be in it, as a backslash that is text is written `\x5c`.
            if r"\w" in words:
                words = words.replace(r"\w", r"\w" + _marks())
            return re.compile(words, re.IGNORECASE if fold else 0)
        except (re.error, OverflowError, RecursionError) as e:
            raise BadPattern(str(e)) from e


@cache
def _marks() -> str:
    """What is part of a word besides Python's `\\w`, for a class."""
    chars = [*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0)]
    found = [c for c in map(chr, chars) if unicodedata.category(c) in ("Mn", "Mc", "Me", "Pc")]
    return "".join(found) + "\u200c\u200d"


def regex(pattern: str) -> Regex:
    """Read `pattern`; raises BadPattern."""
    first = _Reader(pattern)
    found = first.whole()
    if found.spans or found.returns:
        found = _Reader(pattern, spans=found.spans, returns=found.returns).whole()
    return found


def literal(text: str) -> Regex:
    """`text` as it stands."""
    returns = "\r" in text
    end = "\n" if returns else "\r?\n"
    written = "".join(end if char == "\n" else _char(char) for char in text)
    return Regex(rust=written, python=written, spans="\n" in text, returns=returns)


def _char(char: str) -> str:
    """A character as both engines take it, in a class and outside."""
    return char if char.isalnum() or ord(char) > 0x7F else f"\\x{ord(char):02x}"


@dataclass(slots=True)
class _Branch:
    """One alternative, for Python: its atoms, and the flags that hold from one of them on."""

    atoms: list[str] = field(default_factory=list)
    flags: list[tuple[int, str]] = field(default_factory=list)
    repeated: bool = False

    def add(self, atom: str) -> None:
        self.atoms.append(atom)
        self.repeated = False

    def text(self) -> str:
        for at, flags in reversed(self.flags):
            self.atoms[at:] = [f"(?{flags}:{''.join(self.atoms[at:])})"]
        return "".join(self.atoms)


class _Reader:
    """Reads one pattern; `rust` is written as it goes, what is for Python is returned."""

    def __init__(self, pattern: str, *, spans: bool = False, returns: bool = False) -> None:
        self._pattern = pattern
        self._at = 0
        self._rust: list[str] = []
        self._ends = r"\n" if returns else r"\r\n"
        self._odd = r"\ud800-\udfff" + ("" if spans else self._ends)
        self._space = _SPACE + (r"\n\r" if spans else r"\r" if returns else "")
        self._dot_all = False
        self._depth = 0
        self._returns = returns
        self._saw: set[str] = set()
        self._looks = False
        self._missing: str | None = None

    def whole(self) -> Regex:
        """The pattern, read."""
        python = self._group()
        if self._at < len(self._pattern):
            raise BadPattern("a ) closes nothing")
        return Regex(
            rust="".join(self._rust),
            python=python,
            spans="\n" in self._saw,
            returns="\r" in self._saw,
            looks=self._looks,
            missing=self._missing,
        )

    def _group(self) -> str:
        """Alternatives up to a `)` or the end."""
        dot_all = self._dot_all
        branches = [_Branch()]
        while self._at < len(self._pattern) and self._pattern[self._at] != ")":
            branch = branches[-1]
            if self._pattern[self._at] == "|":
                self._take("|", "|")
                branches.append(_Branch(flags=[(0, flags) for _, flags in branch.flags]))
            elif repeat := _REPEAT.match(self._pattern, self._at):
                self._repeat(branch, repeat)
            else:
                self._atom(branch)
        self._dot_all = dot_all
        return "|".join(branch.text() for branch in branches)

    def _repeat(self, branch: _Branch, repeat: re.Match[str]) -> None:
        if not branch.atoms:
            raise BadPattern("there is nothing to repeat")
        least, comma, most = repeat.groups()
        if comma and most and int(most) < int(least):
            raise BadPattern("a repetition ends before it begins")
        written = self._take(repeat[0], repeat[0])
        last = branch.atoms[-1]
        branch.atoms[-1] = (f"(?:{last})" if branch.repeated else last) + written
        branch.repeated = True

    def _atom(self, branch: _Branch) -> None:
        char = self._pattern[self._at]
        if char == "(":
            self._open(branch)
        elif char == "[":
            branch.add(self._class())
        elif char == "\\":
            branch.add(self._escape())
        elif char == ".":
            self._take(".", ".")
            odd = self._odd if self._dot_all else self._odd + self._ends
            branch.add(f"[^{odd}]")
        elif char == "^":
            self._take("^", "^")
            between = "" if self._returns else r"(?!(?<=\r)\n)"
            branch.add(f"(?:(?<![^{self._ends}]){between})")
        elif char == "$":
            self._take("$", "$")
            between = "" if self._returns else r"(?!(?<=\r)\n)"
            branch.add(rf"(?:(?=[{self._ends}]|\Z){between})")
        else:
            self._at += 1
            branch.add(self._text(char))

    def _take(self, source: str, rust: str) -> str:
        self._at += len(source)
        self._rust.append(rust)
        return source

    def _text(self, char: str) -> str:
        """One character as text, for both."""
        if char in "\r\n":
            self._saw.add(char)
        written = _char(char)
        if char == "\n" and not self._returns:
            written = r"(?:\r?\n)"
        self._rust.append(written)
        return written

    def _open(self, branch: _Branch) -> None:
        opened = _OPEN.match(self._pattern, self._at)
        if opened is None or (opened[1] is None and self._pattern.startswith("(?", self._at)):
            raise BadPattern("a group begins with (? and something unknown")
        start = f"(?P<{opened['name']}>" if opened["name"] else opened[0]
        self._take(opened[0], start)
        if flags := opened["flags"]:
            start = self._flags(branch, flags, opened["to"])
        self._looks |= opened[1] in ("?=", "?!", "?<=", "?<!", "?>")
        if opened["to"] == ")":
            return
        dot_all = self._dot_all
        if flags and "s" in flags:
            self._dot_all = "s" in flags.partition("-")[0]
        self._depth += 1
        if self._depth > NESTED:
            raise BadPattern(f"groups are nested more than {NESTED} deep")
        inner = self._group()
        self._dot_all = dot_all
        self._depth -= 1
        if self._at == len(self._pattern):
            raise BadPattern("a ( is not closed")
        self._take(")", ")")
        branch.add(f"{start}{inner})")

    def _flags(self, branch: _Branch, flags: str, to: str) -> str:
        on, _, off = flags.partition("-")
        if not set(on + off) <= set("imsxuUR") or flags.endswith("-"):
            raise BadPattern(f"(?{flags} is unknown")
        if set(on) - set("imsu") or set(off) - set("is"):
            self._missing = f"(?{flags}"
        known = ("i" if "i" in on else "") + ("-i" if "i" in off else "")
        if to == ":":
            return f"(?{known}:"
        if "s" in on + off:
            self._dot_all = "s" in on
        if known:
            branch.flags.append((len(branch.atoms), known))
        return ""

    def _escape(self) -> str:
        """What a backslash begins, outside a class."""
        if bound := _BOUND.match(self._pattern, self._at + 1):
            self._take("\\" + bound[0], "\\" + ("z" if bound[0] == "Z" else bound[0]))
            return f"(?:{_BOUNDS[bound[0]]})"
        kind = self._pattern[self._at + 1 : self._at + 2]
        if kind.isdecimal() and kind.isascii() and kind != "0":
            self._looks = True
            return self._take("\\" + kind, "\\" + kind)
        if shorthand := self._shorthand():
            return shorthand
        return self._text(self._escaped())

    def _shorthand(self) -> str | None:
        """`\\d` and the like; for Python as a class of its own."""
        kind = self._pattern[self._at + 1 : self._at + 2]
        if kind in ("p", "P"):
            named = re.compile(r"\\[pP](?:\{[^}]*\}|[A-Za-z])").match(self._pattern, self._at)
            if named is None:
                raise BadPattern("\\p names no class")
            self._missing = named[0]
            return self._take(named[0], named[0])
        if not kind or kind not in "dDwWsS":
            return None
        self._take("\\" + kind, "\\" + kind)
        inside = self._space if kind in "sS" else "\\" + kind.lower()
        return f"[{inside}]" if kind.islower() else f"[^{inside}{self._odd}]"

    def _escaped(self) -> str:
        """The character that a backslash and what follows stand for."""
        self._at += 1
        if code := _CODE.match(self._pattern, self._at):
            self._at = code.end()
            number = int(next(filter(None, code.groups())), 16)
            if not 0 < number <= 0x10FFFF or 0xD800 <= number <= 0xDFFF:
                raise BadPattern(f"\\{code[0]} is no character")
            return chr(number)
        char = self._pattern[self._at : self._at + 1]
        self._at += 1
        if char in _CONTROLS:
            return _CONTROLS[char]
        if not char or char.isalnum() or not char.isascii():
            raise BadPattern(f"\\{char} is unknown")
        return char

    def _class(self) -> str:
        """A class, for both."""
        self._at += 1
        negated = self._pattern.startswith("^", self._at)
        self._at += negated
        rust: list[str] = []
        python: list[str] = []
        wide = False
        first = True
        while first or not self._pattern.startswith("]", self._at):
            first = False
            if self._at >= len(self._pattern):
                raise BadPattern("a [ is not closed")
            if self._pattern[self._at : self._at + 2] in ("&&", "--", "~~"):
                raise BadPattern("set operations in a class are unknown")
            if several := self._several():
                rust.append(several[0])
                python.append(several[1])
                wide |= several[0] in (r"\D", r"\W", r"\S")
            else:
                rust.append(self._range())
                python.append(rust[-1])
        self._at += 1
        self._rust.append(f"[{'^' if negated else ''}{''.join(rust)}]")
        if negated:
            return f"[^{''.join(python)}{self._odd}]"
        return (f"(?:(?![{self._odd}])" if wide else "(?:") + f"[{''.join(python)}])"

    def _several(self) -> tuple[str, str] | None:
        """What stands for many characters in a class: for ripgrep and for Python."""
        if self._pattern.startswith("[:", self._at):
            name = self._pattern[self._at + 2 :].partition(":]")[0]
            if name in _POSIX:
                self._at += len(name) + 4
                return _POSIX[name], _POSIX[name]
        if self._pattern[self._at] != "\\":
            return None
        before = len(self._rust)
        if self._shorthand() is None:
            return None
        written = "".join(self._rust[before:])
        del self._rust[before:]
        return written, self._space if written == r"\s" else written

    def _range(self) -> str:
        low = self._one()
        if self._pattern[self._at : self._at + 1] != "-":
            return _char(low)
        if self._pattern[self._at + 1 : self._at + 2] in ("]", ""):
            return _char(low)
        if self._pattern[self._at + 1] == "-":
            raise BadPattern("set operations in a class are unknown")
        self._at += 1
        high = self._one()
        if high < low:
            raise BadPattern("a range ends before it begins")
        return f"{_char(low)}-{_char(high)}"

    def _one(self) -> str:
        """One character of a class."""
        char = self._pattern[self._at]
        if char == "\\":
            char = self._escaped()
        else:
            self._at += 1
        if char in "\r\n":
            self._saw.add(char)
        return char
