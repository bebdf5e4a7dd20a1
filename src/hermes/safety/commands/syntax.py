"""A parser of the shell's language, as bash reads it; it runs nothing and looks nothing up.

Why not a general parser generator's grammar: those measured read `r\\<newline>m` as two words, fail
on `{a,b}` in front, and take seconds and gigabytes for a line of many pipes. Time here grows with
the text, depth is bounded, and what is not understood is an error, never a guess.
"""

import re
from typing import Final

from hermes.safety.commands.names import names
from hermes.safety.commands.tree import (
    DEEPEST,
    Assignment,
    Block,
    Command,
    Function,
    Item,
    Redirection,
    Script,
    Simple,
    Unparsed,
    Word,
)
from hermes.safety.commands.word_syntax import WordParser

RESERVED: Final = frozenset(
    names(
        "if then elif else fi for while until do done case esac select function { } ! [[ ]] time"
        " coproc in"
    )
)
DECLARING: Final = frozenset(["export", "declare", "local", "readonly", "typeset", "alias"])

_RESERVED: Final = re.compile(
    r"(if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|time|coproc"
    r"|\{|\}|!|\[\[)(?=[\s;&|<>()]|$)"
)
_BLANK: Final = re.compile(r"(?:[ \t]+|\\\n)*(?:#[^\n]*)?")
_ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]\s]*\])?(\+?)=")
_REDIRECT: Final = re.compile(
    r"(\d+(?=[<>])|\{\w+\}(?=[<>]))?(<<<|<<-|<<|<>|<&|>&|>>|>\||&>>|&>|<(?!\()|>(?!\())"
)
_TIME_OPTION: Final = re.compile(r"[ \t]+-p(?=\s)")
_COPROC_NAME: Final = re.compile(r"\s+\w+(?=\s+[{(])")
_NAME: Final = re.compile(r"[^\s;&|<>()$`'\"\\]+")
_JOINER: Final = re.compile(r"&&|\|\||;(?![;&])|&(?!>)")


class Parser(WordParser):
    """Parses one text. After `parse`, `error` says why the end of it was not understood."""

    error: str = ""

    def parse(self) -> Script:
        """The commands of the text: all of them, or those in front of the error."""
        items: list[Item] = []
        try:
            self.items(items, frozenset())
            if self.i < self.n:
                self.error = f"a stray {self.s[self.i]}"
            elif self.pending:
                self.error = "a here-document without its text"
        except Unparsed as e:
            self.error = str(e)
        return Script(items, self.s)

    def script(self, *ends: str) -> Script:
        """Commands up to one of the reserved words `ends`, or a closing bracket."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unparsed("too deeply nested")
        items: list[Item] = []
        self.items(items, frozenset(ends))
        self.depth -= 1
        return Script(items, self.s)

    def items(self, items: list[Item], ends: frozenset[str]) -> None:
        while True:
            self.lines()
            if self.i >= self.n or self.s[self.i] == ")" or self.s.startswith(";;", self.i):
                return
            if self.s.startswith(";&", self.i):
                return
            word = self.reserved()
            if word in ends:
                return
            if word in ("then", "elif", "else", "fi", "do", "done", "esac", "}"):
                raise Unparsed(f"a stray {word}")
            commands = self.pipeline()
            items.append(Item(commands, self.joiner()))

    def joiner(self) -> str:
        self.blank()
        if self.i < self.n and self.s[self.i] == "\n":
            return "\n"
        found = _JOINER.match(self.s, self.i)
        if found is None:
            return ""
        self.i = found.end()
        return found[0]

    def blank(self) -> None:
        found = _BLANK.match(self.s, self.i)
        if found is not None:
            self.i = found.end()

    def lines(self) -> None:
        """Skip blanks and ends of lines; a line's here-documents follow it."""
        while True:
            self.blank()
            if self.i >= self.n or self.s[self.i] != "\n":
                return
            self.i += 1
            if self.pending:
                self.bodies()

    def reserved(self) -> str:
        found = _RESERVED.match(self.s, self.i)
        return found[1] if found else ""

    def expect(self, word: str) -> None:
        self.lines()
        if not self.s.startswith(word, self.i):
            raise Unparsed(f"no {word} where one belongs")
        self.i += len(word)

    def pipeline(self) -> list[Command]:
        commands = [self.command()]
        while True:
            self.blank()
            if not self.s.startswith("|", self.i) or self.s.startswith("||", self.i):
                return commands
            self.i += 2 if self.s.startswith("|&", self.i) else 1
            self.lines()
            commands.append(self.command())

    def command(self) -> Command:
        while True:
            self.blank()
            word = self.reserved()
            if word not in ("!", "time", "coproc"):
                break
            self.i += len(word)
            # `time -p`, and the name in front of a compound command that `coproc` may have.
            extra = {"time": _TIME_OPTION, "coproc": _COPROC_NAME}.get(word)
            if extra is not None and (found := extra.match(self.s, self.i)):
                self.i = found.end()
        if self.s.startswith("!(", self.i):
            self.i += 1
        if self.s.startswith("(", self.i):
            return self.bracket()
        if word:
            return self.compound(word)
        return self.simple()

    def bracket(self) -> Command:
        if self.s.startswith("((", self.i) and (end := self.arithmetic_end(self.i + 2)) > 0:
            self.i += 2
            block = Block("test", [], self.inside(end))
            self.i = end + 2
            return self.redirected(block)
        self.i += 1
        body = self.script()
        self.expect(")")
        return self.redirected(Block("subshell", [body]))

    def compound(self, word: str) -> Command:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unparsed("too deeply nested")
        self.i += len(word)
        made: Command
        match word:
            case "{":
                made = Block("group", [self.script("}")])
                self.expect("}")
            case "if":
                made = Block("branches", self.branches())
            case "while" | "until":
                made = Block("branches", [self.script("do")])
                self.expect("do")
                made.bodies.append(self.script("done"))
                self.expect("done")
            case "for" | "select":
                made = self.loop()
            case "case":
                made = self.case()
            case "[[":
                made = Block("test", [], self.test())
            case "function":
                made = self.function()
            case _:
                raise Unparsed(f"a stray {word}")
        self.depth -= 1
        return made if isinstance(made, Function) else self.redirected(made)

    def redirected(self, block: Block) -> Block:
        while True:
            self.blank()
            if not self.redirection(block.redirections):
                return block

    def branches(self) -> list[Script]:
        bodies = []
        while True:
            bodies.append(self.script("then"))
            self.expect("then")
            bodies.append(self.script("elif", "else", "fi"))
            word = self.reserved()
            self.i += len(word)
            if word == "elif":
                continue
            if word == "else":
                bodies.append(self.script("fi"))
                self.expect("fi")
            elif word != "fi":
                raise Unparsed("an if without its fi")
            return bodies

    def loop(self) -> Block:
        self.blank()
        block = Block("for", [])
        if self.s.startswith("((", self.i):
            end = self.arithmetic_end(self.i + 2)
            if end < 0:
                raise Unparsed("a for without its end")
            self.i += 2
            block.kind = "branches"
            block.words = self.inside(end)
            self.i = end + 2
        else:
            block.name = self.name()
            self.lines()
            if re.compile(r"in(?=\s|;|$)").match(self.s, self.i):
                self.i += 2
                block.words = self.words_until(";\n")
        self.blank()
        if self.s.startswith(";", self.i):
            self.i += 1
        self.lines()
        opening, closing = ("{", "}") if self.s.startswith("{", self.i) else ("do", "done")
        self.expect(opening)
        block.bodies.append(self.script(closing))
        self.expect(closing)
        return block

    def name(self) -> str:
        self.blank()
        found = _NAME.match(self.s, self.i)
        if found is None:
            raise Unparsed("no name where one belongs")
        self.i = found.end()
        return found[0]

    def words_until(self, ends: str) -> list[Word]:
        words: list[Word] = []
        while True:
            self.blank()
            if self.i >= self.n or self.s[self.i] in ends:
                return words
            if self.s[self.i] == "\n":
                self.lines()
                continue
            words.append(self.word())

    def case(self) -> Block:
        self.blank()
        block = Block("branches", [], [self.word()])
        self.expect("in")
        while True:
            self.lines()
            if self.reserved() == "esac":
                self.i += 4
                return block
            if self.s.startswith("(", self.i):
                self.i += 1
            while True:
                self.blank()
                block.words.append(self.word(pattern=True))
                self.blank()
                if not self.s.startswith("|", self.i):
                    break
                self.i += 1
            self.expect(")")
            block.bodies.append(self.script("esac"))
            if found := re.compile(r";;&|;;|;&").match(self.s, self.i):
                self.i = found.end()
            elif self.reserved() != "esac":
                raise Unparsed("a case without its esac")

    def test(self) -> list[Word]:
        words: list[Word] = []
        while True:
            self.lines()
            if self.i >= self.n:
                raise Unparsed("a test without its end")
            if re.compile(r"\]\](?=[\s;&|<>()]|$)").match(self.s, self.i):
                self.i += 2
                return words
            if self.s[self.i] in "()&|<>;!":
                self.i += 1
            else:
                words.append(self.word(pattern=True))

    def function(self) -> Function:
        name = self.name()
        self.blank()
        if re.compile(r"\(\s*\)").match(self.s, self.i):
            self.i = self.s.index(")", self.i) + 1
        self.lines()
        return Function(name, self.command())

    def simple(self) -> Command:
        start = self.i
        made = Simple([], [], [], start, start)
        declares = False
        while True:
            made.end = self.i
            self.blank()
            if self.i >= self.n or self.s[self.i] in "\n;|)":
                break
            if self.redirection(made.redirections):
                continue
            if self.s[self.i] == "&":
                break
            if self.s[self.i] == "(":
                return self.defined(made, start)
            found = _ASSIGNED.match(self.s, self.i) if not made.words or declares else None
            if found and (not made.words or self.s.startswith("(", found.end())):
                self.assign(made, found[1], bool(found[2]), found.end())
                continue
            before = self.i
            made.words.append(self.word())
            if len(made.words) == 1:
                declares = self.s[before : self.i] in DECLARING
                self.check_first(made.words[0], before)
        if not (made.words or made.assignments or made.redirections):
            raise Unparsed("a command is missing")
        return made

    def check_first(self, word: Word, before: int) -> None:
        """A reserved word put together over lines would be read as a program's name."""
        if "\\\n" in self.s[before : self.i]:
            plain = self.s[before : self.i].replace("\\\n", "")
            if plain in RESERVED:
                raise Unparsed("a word of the language over two lines")

    def defined(self, made: Simple, start: int) -> Function:
        found = re.compile(r"\(\s*\)").match(self.s, self.i)
        if found is None or len(made.words) != 1 or made.assignments:
            raise Unparsed("a stray (")
        name = self.s[start : self.i].strip()
        self.i = found.end()
        self.lines()
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unparsed("too deeply nested")
        body = self.command()
        self.depth -= 1
        return Function(name, body)

    def assign(self, made: Simple, name: str, adds: bool, at: int) -> None:
        self.i = at
        if self.s.startswith("(", at):
            self.i += 1
            values = self.words_until(")")
            self.expect(")")
            made.assignments.append(Assignment(name, adds, None, values))
        else:
            empty = at >= self.n or self.s[at] in " \t\n;&|<>)"
            value = Word([]) if empty else self.word()
            made.assignments.append(Assignment(name, adds, value, None))

    def redirection(self, found: list[Redirection]) -> bool:
        match = _REDIRECT.match(self.s, self.i)
        if match is None:
            return False
        self.i = match.end()
        self.blank()
        if self.i >= self.n or self.s[self.i] in "\n;|)":
            raise Unparsed("a redirection to nothing")
        fd, operator = match[1] or "", match[2]
        if operator in ("<<", "<<-"):
            delimiter, quoted = self.delimiter()
            target = Word([])
            self.pending.append((delimiter, quoted, operator == "<<-", target))
        else:
            target = self.word()
        found.append(Redirection(fd, operator, target))
        return True
