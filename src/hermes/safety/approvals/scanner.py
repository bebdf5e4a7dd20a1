"""An external scanner of commands, if the person installed one: Tirith, by its own interface.

`tirith check --shell posix --non-interactive -- COMMAND` ends with 0 for allowed, 1 for blocked, 2
for a warning. What it says goes to the person. A scanner that does not work is told, not passed
over: the command becomes a question.
"""

from collections import OrderedDict
from typing import Final, Literal, Protocol

from msgspec import Struct, field

from hermes.ports.guard import Verdict
from hermes.safety.approvals.floors import deny
from hermes.safety.approvals.subject import Subject
from hermes.safety.approvals.targets import ONLY_READ, program_of, redirects
from hermes.safety.commands.model import Segment
from hermes.system.i18n import t

NAME: Final = "tirith"
REMEMBERED: Final = 512
SHOWN: Final = 600
"""Characters of what it says that are passed on."""


class Scan(Protocol):
    """Runs the scanner on one command."""

    async def __call__(self, command: str) -> tuple[int, str]:
        """Its exit status and output. Raises OSError if it cannot be started or takes too long."""
        ...


State = Literal["clean", "blocked", "warned", "failed"]
STATES: Final[tuple[State, ...]] = ("clean", "blocked", "warned")
"""By exit status."""

Finding = tuple[State, str]


class Scanner(Struct, kw_only=True):
    """Asks the scanner about every command that is not plainly harmless, once for each text."""

    scan: Scan
    name: str = "scanner"
    _known: OrderedDict[str, Finding] = field(default_factory=OrderedDict)

    async def judge(self, subject: Subject) -> Verdict | None:
        if subject.kind not in ("command", "input") or trivial(subject):
            return None
        state, words = await self._finding(subject.text)
        if state == "blocked":
            return deny(self.name, t("approvals.scanner_blocks", name=NAME, words=words))
        if state == "warned":
            subject.concerns.append(t("approvals.scanner_warns", name=NAME, words=words))
        if state == "failed":
            subject.concerns.append(t("approvals.scanner_fails", name=NAME, words=words))
        return None

    async def _finding(self, command: str) -> Finding:
        if (known := self._known.get(command)) is not None:
            return known
        try:
            status, output = await self.scan(command)
        except OSError as e:
            return "failed", str(e)
        words = output.strip()[:SHOWN]
        if status not in (0, 1, 2):
            return "failed", words or f"exit status {status}"
        finding: Finding = (STATES[status], words)
        self._known[command] = finding
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return finding


def plain(segment: Segment) -> bool:
    """Whether nothing stands in front of the program, and all of it is known."""
    bare = segment.words and "/" not in segment.words[0]
    return bool(bare) and not (segment.wrappers or segment.assignments or segment.dynamic)


def trivial(subject: Subject) -> bool:
    """Whether a command plainly only reads: known programs, no redirection, nothing in front."""
    if subject.parsed is None or subject.parsed.dangerous or not subject.segments:
        return False
    return not redirects(subject) and all(
        program_of(segment) in ONLY_READ and plain(segment) for segment in subject.segments
    )
