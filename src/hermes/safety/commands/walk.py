"""Goes through a parsed command line as a shell would, and finds every simple command in it."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.safety.commands.expand import Expander, Scope, Value
from hermes.safety.commands.model import UNKNOWN, Finding, Redirect
from hermes.safety.commands.printed import printed
from hermes.safety.commands.shell_state import (
    LONGEST,
    OUTPUT,
    assign,
    change_folder,
    input_of,
    one_substitution,
    reads_input,
    unless,
    with_input,
)
from hermes.safety.commands.syntax import Parser
from hermes.safety.commands.tree import (
    DEEPEST,
    Block,
    Command,
    Function,
    Item,
    Redirection,
    Script,
    Simple,
    Unparsed,
)
from hermes.safety.commands.wrappers import SHELLS, Inner, find_commands, inner, program_name

MOST_STEPS: Final = LONGEST
"""Commands that are gone through, repeated ones too."""
MOST_VALUES: Final = 8
"""Rounds of a `for` that are gone through one by one."""


class Draft(Struct, kw_only=True):
    """A simple command and what is known where it stands, for the rules.

    `fed` is the text on its input, UNKNOWN if something comes that is not known, None if nothing
    does. `cwds` are the folders it may run in. `upstream` are the commands whose output it reads.
    """

    text: str
    program: str
    words: tuple[str, ...]
    wrappers: tuple[str, ...]
    redirects: tuple[Redirect, ...]
    assignments: tuple[tuple[str, str], ...]
    background: bool
    cwds: tuple[str, ...]
    fed: str | None
    upstream: "tuple[Draft, ...]" = ()
    downstream: "tuple[Draft, ...]" = ()
    substituted: "tuple[Draft, ...]" = ()
    """Commands in the substitutions of its words."""
    outer: tuple[tuple[str, ...], ...] = ()
    """What its wrappers were called with."""


class Place(Struct, frozen=True):
    """Where a command stands."""

    depth: int = 0
    wrappers: tuple[str, ...] = ()
    background: bool = False
    fed: str | None = None
    upstream: tuple[Draft, ...] = ()
    maybe: bool = False
    active: tuple[str, ...] = ()
    piped: bool = False

    def deeper(self) -> "Place":
        if self.depth >= DEEPEST:
            raise Unparsed("too deeply nested")
        return replace(self, depth=self.depth + 1)


class Walker:
    """Collects the commands of a text, and what is odd about the text itself."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self.findings: list[Finding] = []
        self.error = ""
        self.files: dict[str, str | None] = {}
        """What was written to files, by their names."""
        self.room = LONGEST
        self.spent = 0
        self.steps = 0

    def text(self, text: str, scope: Scope, place: Place) -> str | None:
        """Go through a text; what it prints, if that follows from the text."""
        self.room -= len(text)
        if self.room < 0 or len(text) > LONGEST:
            raise Unparsed("too long")
        parser = Parser(text, place.depth)
        script = parser.parse()
        self.error = self.error or parser.error
        return self.script(script, scope, place)

    def script(self, script: Script, scope: Scope, place: Place) -> str | None:
        prints: str | None = ""
        maybe = place.maybe
        for item in script.items:
            here = replace(place, maybe=maybe) if maybe is not place.maybe else place
            said = self.pipeline(item, script, scope, here)
            prints = None if prints is None or said is None else prints + said
            maybe = place.maybe or item.joiner in ("&&", "||")
        return prints

    def pipeline(self, item: Item, script: Script, scope: Scope, place: Place) -> str | None:
        piped = len(item.commands) > 1
        background = place.background or item.joiner == "&"
        apart = piped or item.joiner == "&"
        fed, upstream = place.fed, place.upstream
        said: str | None = None
        rows: list[list[Draft]] = []
        for command in item.commands:
            inside = scope.copy() if apart else scope
            first = len(self.drafts)
            here = place
            if piped or background is not place.background:
                here = replace(
                    place, background=background, fed=fed, upstream=upstream, piped=piped
                )
            said = self.command(command, script.text, inside, here)
            made = self.drafts[first:]
            rows.append(made)
            if piped:
                upstream = (*upstream[:16], *upstream[16:][-16:], *made[-16:])
                fed = UNKNOWN if said is None else said
        for i, row in enumerate(rows[:-1]):
            behind = tuple(draft for later in rows[i + 1 : i + 5] for draft in later[:16])
            for draft in row:
                draft.downstream += behind
        return said

    def command(self, command: Command, text: str, scope: Scope, place: Place) -> str | None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Unparsed("too many commands")
        if isinstance(command, Simple):
            return self.simple(command, text, scope, place)
        if isinstance(command, Function):
            scope.functions[command.name] = (command.body, text)
            inside = scope.copy()
            inside.arguments = None
            active = (*place.active, command.name)
            self.command(command.body, text, inside, replace(place.deeper(), active=active))
            return ""
        return self.block(command, scope, place.deeper())

    def block(self, block: Block, scope: Scope, place: Place) -> str | None:
        expander = self.expander(scope, place)
        redirects = self.redirects(block.redirections, expander)
        first = len(self.drafts)
        values = expander.words(block.words)
        if searched := tuple(self.drafts[first:]):
            # What a loop goes over may be what its commands work on.
            place = replace(place, upstream=(*place.upstream[-16:], *searched[-16:]))
        if redirects:
            self.emit(Simple([], [], [], 0, 0), "", (), redirects, (), scope, place)
            place = replace(place, fed=input_of(redirects, place.fed))
        if block.kind == "test":
            return ""
        if block.kind == "subshell":
            return unless(redirects, self.script(block.bodies[0], scope.copy(), place))
        if block.kind == "group":
            return unless(redirects, self.script(block.bodies[0], scope, place))
        inside = replace(place, maybe=True)
        if block.kind == "for":
            self.rounds(block, values, scope, inside)
            return None
        for body in block.bodies:
            self.script(body, scope, inside)
        return None

    def rounds(self, block: Block, values: list[str], scope: Scope, place: Place) -> None:
        if not block.words:
            values = list(scope.arguments or ())
        if not 0 < len(values) <= MOST_VALUES:
            rounds: list[Value] = [" ".join(values)] if values else [None]
        else:
            rounds = list(values)
        for value in rounds:
            scope.variables[block.name] = value
            self.script(block.bodies[0], scope, place)

    def simple(self, node: Simple, text: str, scope: Scope, place: Place) -> str | None:
        first = len(self.drafts)
        expander = self.expander(scope, place)
        words = expander.words(node.words)
        redirects = self.redirects(node.redirections, expander)
        assigned = []
        local = scope if not words else scope.copy()
        for each in node.assignments:
            value: Value = tuple(expander.words(each.values)) if each.values is not None else None
            if each.value is not None:
                value = expander.text(each.value)
            assigned.append((each.name, value if isinstance(value, str) else " ".join(value or ())))
            assign(scope if not words else local, each.name, value, each.adds, place.maybe)
        substituted = tuple(self.drafts[first:])
        place = replace(place, fed=input_of(redirects, place.fed)) if redirects else place
        if words and words[0] in scope.aliases and "\\" not in text[node.start : node.start + 1]:
            alias = scope.aliases[words[0]]
            if alias.split()[:1] != words[:1]:
                words = [*alias.split(), *words[1:]]
        draft = self.emit(
            node, text, tuple(words), redirects, tuple(assigned), scope, place, substituted
        )
        if not words:
            return None if any(each.operator == "<" for each in redirects) else ""
        said = self.run(draft, tuple(words), scope, place)
        for redirect in redirects:
            if redirect.operator in OUTPUT:
                known = said if redirect.operator in (">", ">|", "&>") else None
                self.files[redirect.target.removeprefix("./")] = known
        if draft.program == "tee":
            self.files.update(dict.fromkeys((w.removeprefix("./") for w in words[1:]), said))
        return unless(redirects, said)

    def run(self, draft: Draft, words: tuple[str, ...], scope: Scope, place: Place) -> str | None:
        """Follow what the command `words` runs; `draft` is taken apart as far as it is wrapped."""
        if words[0] in place.active and (place.piped or place.background):
            self.findings.append(Finding("fork_bomb", floor=True))
        if words[0] in scope.functions and words[0] not in place.active:
            return self.call(words, scope, place)
        for _ in range(DEEPEST):
            name = program_name(words[0])
            if name == "find":
                for command in find_commands(words):
                    self.nested(Inner(words=command), name, draft, scope, place)
            found = inner(words)
            if name == "xargs" and found is not None:
                found = with_input(found, words, place.fed)
                place = replace(place, fed=None)
            if found is None or name in SHELLS or found.texts:
                draft.words, draft.program = words, name
                if found is not None:
                    return self.nested(found, name, draft, scope, place)
                return self.plain(draft, scope, place)
            draft.wrappers += (name,)
            draft.assignments += found.assigned
            draft.outer += (words,)
            words = found.words
        raise Unparsed("too many wrappers")

    def nested(
        self, found: Inner, name: str, draft: Draft, scope: Scope, place: Place
    ) -> str | None:
        inside = scope if name in ("eval", "trap") else scope.copy()
        if found.arguments is not None:
            inside.arguments = found.arguments
            inside.variables.update(found.assigned)
        wrappers = draft.wrappers if name in ("eval", *SHELLS) else (*draft.wrappers, name)
        deeper = replace(place.deeper(), wrappers=wrappers)
        if found.words:
            made = replace(draft, text=" ".join(found.words), wrappers=wrappers, redirects=())
            made.words, made.program = found.words, program_name(found.words[0])
            self.drafts.append(made)
            return self.run(made, found.words, inside, deeper)
        said: str | None = ""
        for text in found.texts:
            if one_substitution(text):
                # Its text is not known, which is for a rule to say; its parts were gone through.
                said = None
                continue
            one = self.text(text.replace(UNKNOWN, ""), inside, deeper)
            said = None if said is None or one is None else said + one
        return said if name in ("eval", *SHELLS) else None

    def plain(self, draft: Draft, scope: Scope, place: Place) -> str | None:
        """A command that runs no other, unless it is a shell that reads one."""
        name, words = draft.program, draft.words
        if name in SHELLS and place.fed is not None and reads_input(words):
            if UNKNOWN not in place.fed:
                inside = scope.copy()
                return self.text(place.fed, inside, replace(place.deeper(), fed=None))
        elif name in ("at", "batch") and place.fed:
            self.text(place.fed.replace(UNKNOWN, ""), scope.copy(), place.deeper())
        if (
            name in ("source", ".")
            and place.fed
            and words[1:2] in (("/dev/stdin",), ("/dev/fd/0",))
        ):
            self.text(place.fed.replace(UNKNOWN, ""), scope.copy(), place.deeper())
        for text in self._given(name, words, scope):
            self.text(text, scope.copy(), replace(place.deeper(), fed=None))
        self.builtin(name, words, scope, place)
        cwd = scope.cwds[0] if len(scope.cwds) == 1 else None
        return printed((name, *words[1:]), place.fed, cwd)

    def _given(self, name: str, words: Sequence[str], scope: Scope) -> Iterable[str]:
        """The texts of scripts that are run and were written in this very command line."""
        if name in SHELLS or name in ("source", "."):
            for word in words[1:]:
                known = scope.variables.get(word) if word.startswith(UNKNOWN) else None
                known = known or self.files.get(word.removeprefix("./"))
                if isinstance(known, str):
                    yield known
        elif text := self.files.get(words[0].removeprefix("./")):
            yield text

    def call(self, words: tuple[str, ...], scope: Scope, place: Place) -> str | None:
        body, text = scope.functions[words[0]]
        before, scope.arguments = scope.arguments, words[1:]
        active = (*place.active, words[0])
        said = self.command(body, text, scope, replace(place.deeper(), active=active))
        scope.arguments = before
        return said

    def builtin(self, name: str, words: tuple[str, ...], scope: Scope, place: Place) -> None:
        """What the shell's own commands change for the commands behind them."""
        arguments = words[1:]
        if name in ("cd", "pushd", "popd"):
            change_folder(name, arguments, scope, maybe=place.maybe)
        elif name in ("export", "declare", "local", "readonly", "typeset"):
            for word in arguments:
                variable, sign, value = word.partition("=")
                if sign:
                    assign(scope, variable, value, False, place.maybe)
        elif name == "alias":
            for word in arguments:
                alias, sign, value = word.partition("=")
                if sign:
                    scope.aliases[alias] = value
                    self.text(value, scope.copy(), place.deeper())
        elif name == "set" and "--" in arguments:
            scope.arguments = arguments[arguments.index("--") + 1 :]
        elif name == "shift" and scope.arguments is not None and not arguments:
            scope.arguments = scope.arguments[1:]
        elif name in ("read", "mapfile", "readarray", "unset", "getopts"):
            for word in arguments:
                if not word.startswith("-"):
                    scope.variables[word] = "" if name == "unset" else None
        elif name == "printf" and arguments[:1] == ("-v",) and len(arguments) > 2:
            value_ = printed(("printf", *arguments[2:]), None, None)
            scope.variables[arguments[1]] = value_

    def expander(self, scope: Scope, place: Place) -> Expander:
        def run(script: Script) -> str | None:
            deeper = replace(place.deeper(), fed=None, upstream=(), piped=False)
            said = self.script(script, scope.copy(), deeper)
            return said if said is None or UNKNOWN not in said else None

        return Expander(scope, run, self.spend)

    def spend(self, count: int) -> None:
        self.spent += count
        if self.spent > 4 * LONGEST:
            raise Unparsed("too much text from variables")

    def redirects(self, nodes: list[Redirection], expander: Expander) -> tuple[Redirect, ...]:
        return tuple(
            Redirect(operator=node.operator, target=expander.text(node.target), fd=node.fd)
            for node in nodes
        )

    def emit(
        self,
        node: Simple,
        text: str,
        words: tuple[str, ...],
        redirects: tuple[Redirect, ...],
        assigned: tuple[tuple[str, str], ...],
        scope: Scope,
        place: Place,
        substituted: tuple[Draft, ...] = (),
    ) -> Draft:
        draft = Draft(
            text=text[node.start : node.end].strip(),
            program=program_name(words[0]) if words else "",
            words=words,
            wrappers=place.wrappers,
            redirects=redirects,
            assignments=assigned,
            background=place.background,
            cwds=scope.cwds,
            fed=place.fed,
            upstream=place.upstream,
            substituted=substituted,
        )
        self.drafts.append(draft)
        return draft
