"""The owner's rules: `allow`, `ask` or `deny`, by tool and by what it is called with.

A rule names a tool by a glob, and what it is about by another: a command, a path, or any argument.
Globs are those of `fnmatch`: `*` stands for anything, spaces and slashes too. Of several rules that
match, the last one decides. A rule that can never match is an error, not a rule.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from hermes.core.errors import ConfigError
from hermes.core.transcript import ToolSchema
from hermes.safety.approvals.subject import SHELL, Subject
from hermes.safety.approvals.targets import named_paths, written_paths
from hermes.safety.commands.model import Segment
from hermes.system.i18n import t

Decision = Literal["allow", "ask", "deny"]
DECISIONS: Final = ("allow", "ask", "deny")

READERS: Final = ("read_file", "search_files")
WRITERS: Final = ("write_file", "patch")

_MARKER: Final = r"^\S*(?::\*|\()"
_CLASS_WITH_SPACE: Final = r"\[[^\]]*\s[^\]]*\]"


class Rule(Struct, frozen=True, kw_only=True):
    """One rule. `source` is the key it stands at; `match` empty is everything; `argument` is what
    `match` is about where that is not the command or the path."""

    tool: str
    match: str
    decision: Decision
    source: str
    argument: str = ""

    def names(self, tool: str) -> bool:
        """Whether it is about this tool."""
        return fnmatchcase(tool, self.tool)

    def __str__(self) -> str:
        return self.match or self.tool


class Rules:
    """Rules in their order."""

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self._rules = tuple(rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def decide(self, subject: Subject, home: Path | None) -> tuple[Decision, Rule] | None:
        """What the rules say of a call, and which one; None if they say nothing.

        Of the parts of a call (commands of a line, paths of a patch), one that is denied denies all
        of it, one that is asked about asks; it is allowed only if each of them is.
        """
        if not self._rules:
            return None
        parts = [self._last(tests) for tests in self._parts(subject, home)]
        found = [part for part in parts if part is not None]
        for decision in ("deny", "ask"):
            for rule in found:
                if rule.decision == decision:
                    return rule.decision, rule
        if found and all(part is not None for part in parts):
            return "allow", found[-1]
        return None

    def _last(self, matches: Callable[[Rule], bool]) -> Rule | None:
        return next((rule for rule in reversed(self._rules) if matches(rule)), None)

    def _parts(self, subject: Subject, home: Path | None) -> list[Callable[[Rule], bool]]:
        tool = subject.proposal.tool.name
        if subject.kind in ("command", "input"):
            return self._of_command(subject, tool, home)
        if subject.proposal.touches:
            return [_about_path(tool, path, subject.cwd, home) for path in _paths(subject)]
        return [_about_arguments(tool, subject)]

    def _of_command(
        self, subject: Subject, tool: str, home: Path | None
    ) -> list[Callable[[Rule], bool]]:
        segments = subject.segments or (None,)
        parts = [_about_segment(tool, subject.text, segment) for segment in segments]
        # A path rule of the file tools holds for the shell too, as far as words show paths.
        reads = [r for r in self._rules if r.match and r.decision != "allow" and not r.argument]
        if any(r.names(name) for r in reads for name in (*READERS, *WRITERS)):
            for paths, names in (
                (named_paths(subject, home), READERS),
                (written_paths(subject, home), WRITERS),
            ):
                parts += [
                    _restricting(_about_path(name, str(path), subject.cwd, home))
                    for path in paths
                    for name in names
                    if self._restricts(name, str(path), subject.cwd, home)
                ]
        return parts

    def _restricts(self, tool: str, path: str, cwd: str, home: Path | None) -> bool:
        last = self._last(_about_path(tool, path, cwd, home))
        return last is not None and last.decision != "allow" and bool(last.match)


def forms(segment: Segment) -> frozenset[str]:
    """The spellings by which a rule may know a command: as typed, without quotes, without what
    wraps it, without the folder of its program."""
    words = list(segment.words)
    found = {segment.text.strip(), " ".join(words)}
    if segment.program:
        name = segment.program.rpartition("/")[2]
        at = next((i for i, w in enumerate(words) if w.rpartition("/")[2] == name), None)
        rest = words[at + 1 :] if at is not None else words
        found |= {" ".join([segment.program, *rest]), " ".join([name, *rest]), name}
    return frozenset(form for form in found if form)


def typed(segment: Segment) -> str:
    """A command with all that stands in front of it and where its output goes."""
    text = segment.text.strip()
    before = [f"{name}={value}" for name, value in segment.assignments if f"{name}=" not in text]
    after = [f"{r.operator} {r.target}" for r in segment.redirects if r.operator not in text]
    return " ".join([*before, text, *after])


def covers(match: str, text: str) -> bool:
    """Whether the glob `match` stands for the command `text`; a bare word is a program with any
    arguments, and ` *` at the end stands for no argument as well."""
    if fnmatchcase(text, match):
        return True
    if match.endswith(" *") and fnmatchcase(text, match[:-2]):
        return True
    return not re.search(r"[\s*?\[]", match) and text.startswith(f"{match} ")


def _about_segment(tool: str, text: str, segment: Segment | None) -> Callable[[Rule], bool]:
    def matches(rule: Rule) -> bool:
        if not rule.names(tool) or rule.argument:
            return False
        if not rule.match:
            return True
        if rule.decision == "allow":
            # As typed: a wrapper or an assignment in front makes it another command.
            return covers(rule.match, typed(segment) if segment else text.strip())
        candidates = {text.strip(), *(forms(segment) if segment else ())}
        return any(covers(rule.match, form) for form in candidates)

    return matches


def _restricting(matches: Callable[[Rule], bool]) -> Callable[[Rule], bool]:
    return lambda rule: bool(rule.match) and matches(rule)


def _about_path(tool: str, path: str, cwd: str, home: Path | None) -> Callable[[Rule], bool]:
    def matches(rule: Rule) -> bool:
        return (
            rule.names(tool)
            and not rule.argument
            and (not rule.match or path_matches(rule.match, path, cwd, home))
        )

    return matches


def path_matches(match: str, path: str, cwd: str, home: Path | None) -> bool:
    """Whether the glob `match` stands for the absolute `path`, or for a folder it is in.

    One that begins with `/` or `~/` is for whole paths, one that begins with `./` is for the
    working folder, and any other for the last parts of a path.
    """
    match = match.rstrip("/").removesuffix("/**") or "/"
    if match.startswith("~") and home is not None:
        match = str(home) + match[1:]
    elif match.startswith("./"):
        match = cwd.rstrip("/") + match[1:]
    elif not match.startswith("/"):
        match = f"*/{match}"
    fixed = re.split(r"[*?\[]", match, maxsplit=1)[0]
    patterns = {match}
    if fixed.startswith("/") and fixed != "/":
        folder, _, rest = fixed.rpartition("/") if fixed != match else (fixed, "", "")
        tail = f"/{rest}{match[len(fixed) :]}" if fixed != match else ""
        patterns.add(str(Path(folder or "/").resolve()).rstrip("/") + tail)
    return any(fnmatchcase(path, p) or fnmatchcase(path, f"{p}/*") for p in patterns)


def _paths(subject: Subject) -> list[str]:
    """The paths of a call: where they lead, and as they were typed."""
    typed = subject.proposal.arguments.get("path")
    paths = dict.fromkeys(subject.proposal.touches)
    if len(paths) == 1 and isinstance(typed, str) and typed:
        lexical = str(Path(subject.cwd, Path(typed).expanduser()))
        return [*paths] if lexical in paths else [*paths, lexical]
    return [*paths]


def _about_arguments(tool: str, subject: Subject) -> Callable[[Rule], bool]:
    arguments = subject.proposal.arguments

    def matches(rule: Rule) -> bool:
        if not rule.names(tool):
            return False
        if not rule.match:
            return True
        if rule.argument:
            return fnmatchcase(_text(arguments.get(rule.argument)), rule.match)
        return fnmatchcase(canonical(arguments), rule.match)

    return matches


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def canonical(arguments: Mapping[str, object]) -> str:
    """The arguments of a call as one text that is the same for the same call."""
    return json.dumps(dict(arguments), ensure_ascii=False, sort_keys=True)


def checked(
    rules: Sequence[Rule], tools: Mapping[str, ToolSchema], where: Callable[[str], str]
) -> Rules:
    """`rules`, if each of them can decide something.

    `tools` are all tools there are; `where` names file and line of a rule's source. Raises
    ConfigError naming the rule.
    """
    for i, rule in enumerate(rules):
        if why := flaw(rule, tools):
            raise unfit(where(rule.source), rule.source, why)
        later = next((r for r in rules[i + 1 :] if _hides(r, rule)), None)
        if later is not None:
            why = t("approvals.rule_shadowed", later=later.source)
            raise unfit(where(rule.source), rule.source, why)
    return Rules(rules)


def unfit(where: str, source: str, why: str) -> ConfigError:
    """That the rule at `source` can never decide anything."""
    at = f"{where}: {source}"
    return ConfigError(t("approvals.rule_at", where=at, why=why), hint=t("approvals.rule_hint"))


def flaw(rule: Rule, tools: Mapping[str, ToolSchema]) -> str | None:
    """Why `rule` can never match, or None."""
    if not rule.tool.strip() or (rule.match and not rule.match.strip()):
        return t("approvals.rule_empty")
    named = [schema for name, schema in tools.items() if rule.names(name)]
    if tools and not named and not rule.tool.startswith("mcp_"):
        return t("approvals.rule_tool", tool=rule.tool, known=", ".join(sorted(tools)))
    if rule.argument and named:
        known = {n for s in named for n in json.loads(s.parameters).get("properties", {})}
        if rule.argument not in known:
            return t("approvals.rule_argument", tool=rule.tool, argument=rule.argument)
    if rule.tool == SHELL and not rule.argument:
        return command_flaw(rule.match)
    return None


def command_flaw(match: str) -> str | None:
    """Why a glob over commands can never match, or None."""
    if re.match(_MARKER, match):
        return t("approvals.rule_marker")
    if re.search(_CLASS_WITH_SPACE, match):
        return t("approvals.rule_bracket")
    return None


def _hides(later: Rule, rule: Rule) -> bool:
    """Whether `later` surely matches all that `rule` does."""
    tool = later.tool in (rule.tool, "*")
    same = later.match == rule.match and later.argument == rule.argument
    return tool and (not later.match or (later.match == "*" and not later.argument) or same)
