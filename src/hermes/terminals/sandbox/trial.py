"""Whether a sandbox holds: `attempts.py` run in one, against what is on this machine."""
# ruff: noqa: PTH113, PTH116, PTH202
# Paths are strings, as in a plan.

import os
import socket
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

import anyio

from hermes.core.errors import ToolError
from hermes.system.i18n import t
from hermes.system.program import running
from hermes.terminals.sandbox.jail import Jail
from hermes.terminals.sandbox.landlock import FULL
from hermes.terminals.sandbox.plan import Plan
from hermes.terminals.sandbox.sandboxes import Choice, Sandboxes

SCRIPT: Final = str(Path(__file__).with_name("attempts.py"))
PATIENCE: Final = 60.0
"""Seconds for all attempts; they take one."""

FEW: Final = 40
"""Paths of one kind that are tried at most."""

Verdict = Literal["held", "broken", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One attempt: `open` is what the engine or the settings are known not to keep."""

    attempt: str
    target: str
    verdict: Verdict
    reason: str


async def trial(sandboxes: Sandboxes, workspace: Path) -> list[Outcome]:
    """Try to break out of the sandbox for `workspace`; raises ToolError if there is none."""
    jail = await sandboxes.jail(workspace)
    if jail.engine == "none" or jail.plan is None:
        raise ToolError(jail.warning or t("sandbox.is_off"))
    choice = await sandboxes.choice()
    with ExitStack() as stack:
        scratch = stack.enter_context(TemporaryDirectory(prefix="hermes-trial-"))
        attempts = list(_attempts(jail, scratch, stack))
        answers = await _run(jail, attempts)
    return [
        Outcome(
            attempt=words[0],
            target=" ".join(words[1:2]),
            verdict=_verdict(words, answer, jail, choice),
            reason=answer.partition(" ")[2],
        )
        for words, answer in zip(attempts, answers, strict=True)
    ]


async def _run(jail: Jail, attempts: Sequence[Sequence[str]]) -> list[str]:
    lines = ["\n".join(words) for words in attempts]
    program = jail.argv([sys.executable, "-I", "-S", SCRIPT, *lines])
    said = b""
    with anyio.fail_after(PATIENCE):
        async with running(program, env={"PATH": os.defpath}) as started:
            while piece := await started.receive():
                said += piece
            code, errors = await started.end()
    answers = [line.partition(" ")[2] for line in said.decode().splitlines()]
    if code or len(answers) != len(attempts):
        raise ToolError(t("sandbox.trial_failed", code=code, said=errors.strip()))
    return answers


def _verdict(words: Sequence[str], answer: str, jail: Jail, choice: Choice) -> Verdict:
    if answer != "broken":
        return "held"
    name, ruled = words[0], jail.engine == "landlock"
    known = (
        (ruled and name == "connect")
        or (ruled and choice.landlock < FULL and name in {"connect_abstract", "signal"})
        or (not ruled and jail.network == "open" and name == "connect_abstract")
        or (jail.network == "open" and name == "connect_tcp")
    )
    return "open" if known else "broken"


def _attempts(jail: Jail, scratch: str, stack: ExitStack) -> Iterator[tuple[str, ...]]:
    """What there is to try here."""
    assert jail.plan is not None
    rules = jail.plan.rules
    number = str(os.getpid())
    hidden = [path for path, access in rules.items() if access == "hidden"]
    files = [file for path in hidden for file in _files(path, jail.plan)]
    for path in files[:FEW]:
        yield "read", path
    # Not what other programs have in /tmp, which they might miss for a moment.
    for path in [path for path in hidden if path not in jail.plan.doors][:FEW]:
        yield "rename", path
    secrets = [file for file in files if not file.startswith("/dev/")]
    if secrets:
        secret = secrets[0]
        cover = next(path for path in hidden if secret.startswith(path))
        yield "through_link", secret, scratch
        yield "through_hard_link", secret, scratch
        yield "through_proc", secret
        yield "unmount", cover, secret
        yield "bind_elsewhere", cover, scratch
        yield "in_background", secret
    for path in [p for p, access in rules.items() if access in {"read", "closed"}][:FEW]:
        if path not in {"/proc", "/sys"}:
            yield "write", path
    yield "environment_of", number
    yield ("descriptors",)
    yield "new_disk", str(Path("/").stat().st_dev), scratch
    yield "trace", number
    yield "signal", number
    for path in _sockets(jail):
        yield "connect", path
    yield "connect_abstract", stack.enter_context(_listener(f"hermes-{number}"))
    yield "connect_tcp", stack.enter_context(_listener(0))
    yield "type_into", stack.enter_context(_terminal())


def _files(path: str, plan: Plan) -> Iterator[str]:
    """A disk, a file with something in it, or the first hidden one in a folder."""
    try:
        mode = os.stat(path).st_mode
        found = sorted(e.path for e in os.scandir(path)) if stat.S_ISDIR(mode) else [path]
        kept = [f for f in found if os.path.isfile(f) and os.path.getsize(f)]
    except OSError:
        return
    if stat.S_ISBLK(mode):
        yield path
    yield from [f for f in kept if plan.access(f) == "hidden"][:1]


def _sockets(jail: Jail) -> Iterator[str]:
    """The sockets behind what is hidden for them, two folders deep."""
    assert jail.plan is not None
    waiting = [(path, 0) for path in sorted(jail.plan.doors)]
    for path, depth in waiting:
        try:
            if stat.S_ISSOCK(os.stat(path).st_mode):
                yield path
            elif depth < 3:
                waiting.extend((entry.path, depth + 1) for entry in os.scandir(path))
        except OSError:
            continue


@contextmanager
def _listener(address: str | int) -> Iterator[str]:
    """Listen at an abstract name, or at a port; yields how it is called inside."""
    local = isinstance(address, str)
    with socket.socket(socket.AF_UNIX if local else socket.AF_INET) as server:
        server.bind(f"\0{address}" if local else ("127.0.0.1", address))
        server.listen()
        yield str(address if local else server.getsockname()[1])


@contextmanager
def _terminal() -> Iterator[str]:
    """A terminal of this process; yields its path."""
    ours, theirs = os.openpty()
    try:
        yield os.ttyname(theirs)
    finally:
        os.close(ours)
        os.close(theirs)
