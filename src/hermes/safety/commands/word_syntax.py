"""How a word of the shell's language is put together: quotes, expansions, substitutions."""

import re
from typing import Final

from hermes.safety.commands.tree import (
    DEEPEST,
    Arith,
    Lit,
    Part,
    Proc,
    Script,
    Sub,
    Unparsed,
    Var,
    Word,
)

_PLAIN: Final = re.compile(r"[^\s\\'\"`$;&|<>()]+|[^\S \t\n]")
_PLAIN_PATTERN: Final = re.compile(r"[^\s\\'\"`$;&|<>)(]+|[^\S \t\n]")
_IN_DOUBLE: Final = re.compile(r"[^\"\\$`]+")
_IN_BODY: Final = re.compile(r"[^\\$`]+")
_IN_BRACES: Final = re.compile(r"[^\\$`'\"}]+")
_NAMED: Final = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_BRACED: Final = re.compile(r"([#!]?)([A-Za-z_]\w*|\d+|[@*#?$!-])(\[[^\]]*\])?")
_OPERATOR: Final = re.compile(r":[-=?+]|##?|%%?|//?|\^\^?|,,?|@|:|[-=?+]")
_BACKQUOTED: Final = re.compile(r"(?:[^`\\]|\\.)*`", re.DOTALL)
_ANSI: Final = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL)
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_NAMED_ESCAPES: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "v": "\v",
}


def unescaped(text: str) -> str:
    """`text` with the escapes of `$'...'`, `echo -e` and `printf` replaced."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    hexadecimal = found[1] or found[2] or found[3]
    if hexadecimal:
        number = int(hexadecimal, 16)
        return chr(number) if number < 0x110000 else "\ufffd"
    if found[4]:
        return chr(int(found[4].lstrip("0")[-3:] or "0", 8) & 0xFF)
    if found[5]:
        return chr(ord(found[5]) & 0x1F)
    return _NAMED_ESCAPES.get(found[6], found[6] if found[6] in "\\'\"?" else f"\\{found[6]}")


class WordParser:
    """A place in a text, and the parts of words found from there."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self.s = text
        self.n = len(text)
        self.i = 0
        self.depth = depth
        self.pending: list[tuple[str, bool, bool, Word]] = []
        """Here-documents whose text is still to come: its end, quoted, without tabs, where to."""

    def script(self, *ends: str) -> Script:
        raise NotImplementedError

    def parse(self) -> Script:
        raise NotImplementedError

    def word(self, *, pattern: bool = False) -> Word:
        """The word that starts here. In a `pattern`, brackets may stand without quotes."""
        parts: list[Part] = []
        s, start = self.s, self.i
        plain = _PLAIN_PATTERN if pattern else _PLAIN
        while self.i < self.n:
            if found := plain.match(s, self.i):
                parts.append(Lit(found[0], quoted=False))
                self.i = found.end()
                continue
            char = s[self.i]
            if char == "(" and (pattern or (self.i > start and s[self.i - 1] in "@?*+!")):
                parts.append(self.extended())
            elif char in "<>" and s.startswith("(", self.i + 1):
                parts.append(self.process())
            elif char in " \t\n;&|<>()":
                break
            elif char == "\\":
                self.escape(parts)
            else:
                self.quoted(char, parts)
        if self.i == start:
            raise Unparsed("a word is missing")
        return Word(parts)

    def escape(self, parts: list[Part]) -> None:
        following = self.s[self.i + 1 : self.i + 2]
        if following != "\n":
            parts.append(Lit(following or "\\", quoted=True))
        self.i += 2 if following else 1

    def quoted(self, char: str, parts: list[Part]) -> None:
        if char == "'":
            end = self.s.find("'", self.i + 1)
            if end < 0:
                raise Unparsed("a quote that is not closed")
            parts.append(Lit(self.s[self.i + 1 : end], quoted=True))
            self.i = end + 1
        elif char == '"':
            self.i += 1
            parts.append(Lit("", quoted=True))
            self.double(parts)
        elif char == "`":
            parts.append(self.backquoted(quoted=False))
        else:
            parts.append(self.dollar(quoted=False))

    def double(self, parts: list[Part]) -> None:
        """What follows an opening double quote."""
        while self.i < self.n:
            if self.s[self.i] == '"':
                self.i += 1
                return
            self.expandable(parts, _IN_DOUBLE, '$`"\\')
        raise Unparsed("a quote that is not closed")

    def expandable(self, parts: list[Part], run: re.Pattern[str], escapes: str) -> None:
        """One part of a text in which only `$`, a backquote and a backslash are special."""
        if found := run.match(self.s, self.i):
            parts.append(Lit(found[0], quoted=True))
            self.i = found.end()
        elif self.s[self.i] == "\\":
            following = self.s[self.i + 1 : self.i + 2]
            if following != "\n":
                kept = following if following and following in escapes else "\\" + following
                parts.append(Lit(kept, quoted=True))
            self.i += 2 if following else 1
        elif self.s[self.i] == "`":
            parts.append(self.backquoted(quoted=True))
        else:
            parts.append(self.dollar(quoted=True))

    def backquoted(self, *, quoted: bool) -> Sub:
        found = _BACKQUOTED.match(self.s, self.i + 1)
        if found is None:
            raise Unparsed("a backquote that is not closed")
        source = self.s[self.i : found.end()]
        self.i = found.end()
        escaped = r'\\([\\`$"])' if quoted else r"\\([\\`$])"
        inner = type(self)(re.sub(escaped, r"\1", found[0][:-1]), self.depth + 1)
        if inner.depth > DEEPEST:
            raise Unparsed("too deeply nested")
        script = inner.parse()
        if error := getattr(inner, "error", ""):
            raise Unparsed(error)
        return Sub(script, quoted, source)

    def dollar(self, *, quoted: bool) -> Part:
        start = self.i
        following = self.s[start + 1 : start + 2]
        if following == "(":
            if self.s.startswith("((", start + 1) and (end := self.arithmetic_end(start + 3)) > 0:
                self.i = start + 3
                inside = self.inside(end)
                self.i = end + 2
                return Arith(inside, quoted, self.s[start : self.i])
            self.i = start + 2
            script = self.script()
            self.close(")")
            return Sub(script, quoted, self.s[start : self.i])
        if following == "{":
            return self.braced(start, quoted=quoted)
        if following == "'" and not quoted:
            found = _ANSI.match(self.s, start + 2)
            if found is None:
                raise Unparsed("a quote that is not closed")
            self.i = found.end()
            return Lit(unescaped(found[0][:-1]), quoted=True)
        if following == '"' and not quoted:
            self.i = start + 1
            return Lit("", quoted=True)
        if following == "[":
            end = self.s.find("]", start)
            if end > 0:
                self.i = start + 2
                inside = self.inside(end)
                self.i = end + 1
                return Arith(inside, quoted, self.s[start : self.i])
        if found := _NAMED.match(self.s, start + 1):
            self.i = found.end()
            return Var(found[0], "", None, quoted, self.s[start : self.i])
        self.i = start + 1
        return Lit("$", quoted=True)

    def close(self, sign: str) -> None:
        if not self.s.startswith(sign, self.i):
            raise Unparsed(f"no {sign} where one belongs")
        self.i += len(sign)

    def braced(self, start: int, *, quoted: bool) -> Var:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unparsed("too deeply nested")
        found = _BRACED.match(self.s, start + 2)
        if found is None:
            raise Unparsed("an expansion that cannot be read")
        self.i = found.end()
        operator = ""
        if found2 := _OPERATOR.match(self.s, self.i):
            operator = found2[0]
            self.i = found2.end()
        parts: list[Part] = []
        while self.i < self.n and self.s[self.i] != "}":
            if self.s[self.i] == '"':
                self.i += 1
                self.double(parts)
            elif self.s[self.i] == "'" and not quoted:
                self.quoted("'", parts)
            elif self.s[self.i] == "'":
                parts.append(Lit("'", quoted=True))
                self.i += 1
            else:
                before = len(parts)
                self.expandable(parts, _IN_BRACES, "}$`\"\\'/")
                for part in parts[before:]:
                    if isinstance(part, Lit):
                        part.quoted = quoted
        self.close("}")
        self.depth -= 1
        subscript = found[3] or ""
        if found[1]:
            operator = found[1] + operator
        name = found[2] + (subscript if subscript not in ("[@]", "[*]") else "[@]")
        return Var(name, operator, Word(parts), quoted, self.s[start : self.i])

    def process(self) -> Proc:
        start = self.i
        self.i += 2
        script = self.script()
        self.close(")")
        return Proc(script, self.s[start : self.i])

    def extended(self) -> Lit:
        """A pattern in brackets, such as `!(a|b)`."""
        start, open_ = self.i, 0
        for found in re.compile(r"[()\n]|\\.").finditer(self.s, start):
            if found[0] == "\n":
                break
            open_ += {"(": 1, ")": -1}.get(found[0], 0)
            if not open_:
                self.i = found.end()
                return Lit(self.s[start : self.i], quoted=False)
        raise Unparsed("a stray (")

    def arithmetic_end(self, start: int) -> int:
        """Where the `))` is that ends what starts here, or -1 if these are two brackets."""
        open_ = 0
        for found in re.compile(r"[()]|'[^']*'|\"[^\"]*\"|\\.", re.DOTALL).finditer(self.s, start):
            if found[0] == "(":
                open_ += 1
            elif found[0] == ")":
                if not open_:
                    return found.start() if self.s.startswith("))", found.start()) else -1
                open_ -= 1
        return -1

    def inside(self, end: int) -> list[Word]:
        """The substitutions of an arithmetic text that ends at `end`."""
        words: list[Word] = []
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unparsed("too deeply nested")
        for found in re.compile(r"\$[({]|`").finditer(self.s, self.i, end):
            if found.start() < self.i:
                continue
            self.i = found.start()
            part = self.backquoted(quoted=True) if found[0] == "`" else self.dollar(quoted=True)
            words.append(Word([part]))
        self.depth -= 1
        return words

    def delimiter(self) -> tuple[str, bool]:
        """The end mark of a here-document, and whether it was quoted."""
        found = re.compile(r"(?:[^\s\\'\";&|<>()]|\\.|'[^']*'|\"[^\"]*\")+").match(self.s, self.i)
        if found is None:
            raise Unparsed("a here-document without an end mark")
        self.i = found.end()
        plain = re.sub(r"\\(.)|['\"]", r"\1", found[0])
        return plain, plain != found[0]

    def bodies(self) -> None:
        """Read the here-documents that belong to the line that just ended."""
        pending, self.pending = self.pending, []
        for mark, quoted, no_tabs, target in pending:
            tabs = r"\t*" if no_tabs else ""
            ended = re.compile(rf"^{tabs}{re.escape(mark)}$", re.MULTILINE)
            found = ended.search(self.s, self.i)
            if found is None:
                raise Unparsed("a here-document without its end")
            body = self.s[self.i : found.start()]
            self.i = min(found.end() + 1, self.n)
            if no_tabs:
                body = re.sub(r"^\t+", "", body, flags=re.MULTILINE)
            if quoted:
                target.parts.append(Lit(body, quoted=True))
                continue
            inner = type(self)(body, self.depth + 1)
            while inner.i < inner.n:
                inner.expandable(target.parts, _IN_BODY, "$`\\")
