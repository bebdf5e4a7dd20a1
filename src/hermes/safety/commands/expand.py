"""What words become before a program gets them, as far as the text alone shows."""

import itertools
import posixpath
import re
from collections.abc import Callable
from typing import Final

from msgspec import Struct, field

from hermes.safety.commands.model import UNKNOWN
from hermes.safety.commands.tree import Arith, Command, Lit, Part, Proc, Script, Sub, Var, Word

Value = str | tuple[str, ...] | None
"""Of a variable: a text, the items of an array, or not known."""

MOST_WORDS: Final = 256
"""Words that one may become by its braces; one that becomes more is not known."""
_HELD: Final = 0x100000
_RANGE: Final = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.-?\d+)?")


class Scope(Struct):
    """What a shell knows at a place: its variables, functions, aliases, arguments and folders.

    `cwds` are the folders it may be in; empty if that is not known.
    """

    home: str
    cwds: tuple[str, ...]
    variables: dict[str, Value] = field(default_factory=dict)
    functions: dict[str, tuple[Command, str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] | None = None

    def copy(self) -> "Scope":
        return Scope(
            self.home,
            self.cwds,
            self.variables.copy(),
            self.functions.copy(),
            self.aliases.copy(),
            self.arguments,
        )


class Expander:
    """Expands words in a scope. `run` is given each script in a substitution and answers what it
    prints, or None; `spend` how many characters were taken from variables."""

    def __init__(
        self, scope: Scope, run: Callable[[Script], str | None], spend: Callable[[int], None]
    ) -> None:
        self.scope = scope
        self.run = run
        self.spend = spend

    def words(self, words: list[Word]) -> list[str]:
        expanded: list[str] = []
        for word in words:
            parts = word.parts
            if len(parts) == 1 and isinstance(parts[0], Lit):
                text = parts[0].text
                if parts[0].quoted or ("{" not in text and text[0] != "~"):
                    expanded.append(text)
                    continue
            for variant in braced(word):
                expanded += self.fields(variant)
        return expanded

    def text(self, word: Word) -> str:
        """The one text that an assigned or quoted word is; nothing in it is split."""
        return "".join(self._plain(part, first=not i) for i, part in enumerate(word.parts))

    def fields(self, word: Word) -> list[str]:
        """The words that one becomes where unquoted expansions are split at blanks."""
        done: list[str] = []
        current, there = "", False
        for i, part in enumerate(word.parts):
            if isinstance(part, Lit):
                current += self._plain(part, first=not i)
                there = True
                continue
            values, splits = self._values(part)
            for k, value in enumerate(values):
                if k:
                    done.append(current)
                    current = ""
                if not splits or UNKNOWN in value:
                    current += value
                    there = there or bool(value) or not splits
                    continue
                pieces = value.split()
                if value[:1].isspace() and there:
                    done.append(current)
                    current, there = "", False
                for j, piece in enumerate(pieces):
                    if j:
                        done.append(current)
                        current = ""
                    current += piece
                    there = True
                if pieces and value[-1:].isspace():
                    done.append(current)
                    current, there = "", False
            if not values and not there:
                continue
        return [*done, current] if there or current else done

    def _plain(self, part: Part, *, first: bool) -> str:
        if not isinstance(part, Lit):
            return " ".join(self._values(part)[0])
        if first and not part.quoted and part.text.startswith("~"):
            return self._tilde(part.text)
        return part.text

    def _tilde(self, text: str) -> str:
        user, slash, rest = text[1:].partition("/")
        if user == "":
            folder = self.scope.home
        elif user == "+":
            folder = self.scope.cwds[0] if self.scope.cwds else f"{UNKNOWN}~+"
        elif user == "root":
            folder = "/root"
        elif re.fullmatch(r"[a-z_][\w.-]*", user):
            folder = f"/home/{user}"
        else:
            return text
        return folder + slash + rest

    def _values(self, part: Part) -> tuple[list[str], bool]:
        """What an expansion stands for, and whether it is split at blanks."""
        match part:
            case Var():
                return self._variable(part)
            case Sub():
                printed = self.run(part.script)
                if printed is None:
                    return [UNKNOWN + part.source], False
                return [printed.rstrip("\n")], not part.quoted
            case Proc():
                self.scope.variables[UNKNOWN + part.source] = self.run(part.script)
                return [UNKNOWN + part.source], False
            case Arith():
                for word in part.inside:
                    self.text(word)
                return [UNKNOWN + part.source], False
            case _:
                return [part.text], False

    def _variable(self, part: Var) -> tuple[list[str], bool]:
        splits = not part.quoted
        argument = self.text(part.argument) if part.argument is not None else ""
        name = part.name.removesuffix("[@]")
        if name in ("@", "*"):
            arguments = self.scope.arguments
            if arguments is None or part.op:
                return [UNKNOWN + part.source], False
            return list(arguments), splits
        value = self._value(name)
        self.spend(len(value or ""))
        if isinstance(value, tuple):
            if part.name.endswith("[@]") and not part.op:
                return list(value), splits
            value = value[0] if value else ""
        unset = value is None and name not in self.scope.variables
        changed = changed_value(part.op, argument, value, unset=unset)
        if changed is None:
            return [UNKNOWN + part.source], False
        if part.op in ("=", ":="):
            self.scope.variables[name] = changed
        return [changed], splits

    def _value(self, name: str) -> Value:
        scope = self.scope
        if name in scope.variables:
            return scope.variables[name]
        if name.endswith("]"):
            array, _, index = name[:-1].partition("[")
            values = scope.variables.get(array)
            if isinstance(values, tuple) and index.isdigit() and int(index) < len(values):
                return values[int(index)]
            return None
        if name.isdigit() and scope.arguments is not None and name != "0":
            number = int(name[:4]) - 1
            return scope.arguments[number] if number < len(scope.arguments) else ""
        if name == "HOME":
            return scope.home
        if name == "PWD":
            return scope.cwds[0] if len(scope.cwds) == 1 else None
        if name == "IFS":
            return " \t\n"
        return None


def changed_value(op: str, argument: str, value: str | None, *, unset: bool) -> str | None:
    """The value after `op`; None if it cannot be told. A default is taken where nothing is known
    of the variable: that is what the text itself brings along."""
    if op == "":
        return value
    if op in (":-", "-", ":=", "="):
        return argument if unset or value == "" else value
    if op in (":?", "?"):
        return value
    if op in (":+", "+"):
        return argument
    if value is None or UNKNOWN in value or UNKNOWN in argument:
        return None
    if op == "^^":
        return value.upper()
    if op == ",,":
        return value.lower()
    if op == ":" and (found := re.fullmatch(r"\s*(\d{1,6})(?::(\d{1,6}))?", argument)):
        start = int(found[1])
        return value[start : start + int(found[2])] if found[2] else value[start:]
    if op in ("/", "//") and not re.search(r"[*?\[\\#%]", argument):
        old, _, new = argument.partition("/")
        return value.replace(old, new, -1 if op == "//" else 1) if old else value
    if op in ("#", "##", "%", "%%") and not re.search(r"[*?\[\\]", argument):
        return value.removeprefix(argument) if op[0] == "#" else value.removesuffix(argument)
    return None


def braced(word: Word) -> list[Word]:
    """The words that braces make of one."""
    literal = "".join(p.text for p in word.parts if isinstance(p, Lit) and not p.quoted)
    if "{" not in literal or ("," not in literal and ".." not in literal):
        return [word]
    if literal.count("{") > 64 or len(word.parts) > 0xFFF:
        return [Word([Lit(UNKNOWN + literal, quoted=True)])]
    text = "".join(
        p.text if isinstance(p, Lit) and not p.quoted else chr(_HELD + i)
        for i, p in enumerate(word.parts)
    )
    variants = _expanded(text)
    if len(variants) > MOST_WORDS:
        return [Word([Lit(UNKNOWN + literal, quoted=True)])]
    return [_restored(variant, word) for variant in variants]


def _restored(text: str, word: Word) -> Word:
    parts: list[Part] = []
    for piece in re.split(f"([{chr(_HELD)}-{chr(_HELD + 0xFFF)}])", text):
        if len(piece) == 1 and 0 <= ord(piece) - _HELD < len(word.parts):
            parts.append(word.parts[ord(piece) - _HELD])
        elif piece:
            parts.append(Lit(piece, quoted=False))
    return Word(parts)


def _expanded(text: str, depth: int = 0) -> list[str]:
    """`x{1,2}y` as `x1y` and `x2y`; what is no brace expansion stays as it is."""
    at = 0
    while depth < 12 and (start := text.find("{", at)) >= 0:
        end, commas = _closing(text, start)
        if end < 0:
            at = start + 1
            continue
        body = text[start + 1 : end]
        if commas:
            edges = [start, *commas, end]
            options = [text[a + 1 : b] for a, b in itertools.pairwise(edges)]
        elif found := _RANGE.fullmatch(body):
            options = _range(found[1], found[2])
        else:
            at = start + 1
            continue
        tails = _expanded(text[end + 1 :], depth + 1)
        inner = [each for option in options[:MOST_WORDS] for each in _expanded(option, depth + 1)]
        made = [text[:start] + each + tail for each in inner[: MOST_WORDS + 1] for tail in tails]
        return made[: MOST_WORDS + 1]
    return [text]


def _closing(text: str, start: int) -> tuple[int, list[int]]:
    open_, commas = 0, list[int]()
    for i in range(start, len(text)):
        char = text[i]
        if char == "{":
            open_ += 1
        elif char == "}":
            open_ -= 1
            if not open_:
                return i, commas
        elif char == "," and open_ == 1:
            commas.append(i)
    return -1, []


def _range(first: str, last: str) -> list[str]:
    try:
        a, b = int(first), int(last)
        step = 1 if b >= a else -1
        return [str(n) for n in range(a, b + step, step)[: MOST_WORDS + 1]]
    except ValueError:
        a, b = ord(first[0]), ord(last[0])
        step = 1 if b >= a else -1
        return [chr(n) for n in range(a, b + step, step)]


def absolute(path: str, cwd: str) -> str:
    """`path` from `cwd`, without `.`, `..` and doubled slashes; links are not followed."""
    joined = posixpath.normpath(posixpath.join(cwd, path))
    while found := re.match(r"/+proc/(?:self|\d+)/(?:root|cwd/\.\.)(?=/|$)", joined):
        joined = joined[found.end() :] or "/"
    return "/" + joined.lstrip("/")
