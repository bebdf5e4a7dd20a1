"""`hermes logs`: the end of a log, and what comes after it."""

import argparse
import contextlib
import itertools
import logging
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

from hermes.core.errors import UserError
from hermes.surfaces.cli.services import Services
from hermes.surfaces.kit.plain import printable
from hermes.system.i18n import t

BLOCK: Final = 64 * 1024
POLL: Final = 0.2

Wanted = Callable[[bytes], bool]

_LINE: Final = re.compile(rb"\S+ ([A-Z]+)((?: \w+=\S*)*) ")
"""Time, level, what the record belongs to; as `system.logs` writes them."""


def run(options: argparse.Namespace, services: Services) -> int:
    """Print the last lines of a log; with `-f` go on until Ctrl-C."""
    if options.lines < 0:
        raise UserError(t("verbs.bad_lines", value=options.lines), hint=t("verbs.bad_lines_hint"))
    path = services.home.logs / f"{options.log_name}.log"
    wanted = _filter(options.level, options.session)
    try:
        try:
            with _open(path) as file:
                end = _whole(file)
                _print(_last(path, file, end, options.lines, wanted))
                if options.follow:
                    _until_turned(path, file, end, wanted)
        except FileNotFoundError:
            print(t("verbs.no_log", path=services.home.display(path)), file=sys.stderr)
        if options.follow:
            _follow(path, wanted)
    except KeyboardInterrupt:
        pass
    return 0


def _open(path: Path) -> IO[bytes]:
    return path.open("rb", buffering=0)


def _filter(level: str, session: str) -> Wanted:
    levels = logging.getLevelNamesMapping()
    if level and level.upper() not in levels:
        raise UserError(t("verbs.bad_level", level=level), hint=t("verbs.bad_level_hint"))
    lowest = levels[level.upper()] if level else 0
    mark = f" session={session}".encode()

    def wanted(line: bytes) -> bool:
        if not (lowest or session):
            return True
        head = _LINE.match(line)
        if head is None:
            return False
        high = levels.get(head[1].decode(), 0) >= lowest
        return high and (not session or mark in head[2])

    return wanted


def _whole(file: IO[bytes]) -> int:
    """Where the last whole line of `file` ends."""
    end = os.fstat(file.fileno()).st_size
    while end:
        start = max(0, end - BLOCK)
        file.seek(start)
        block = file.read(end - start)
        if (at := block.rfind(b"\n")) >= 0:
            return start + at + 1
        end = start
    return 0


def _last(path: Path, file: IO[bytes], end: int, count: int, wanted: Wanted) -> list[bytes]:
    """The last `count` wanted lines before `end`, going back into the rotated files."""
    found: deque[bytes] = deque()
    for line in itertools.chain(_backwards(file, end), _older(path)):
        if len(found) >= count:
            break
        if wanted(line):
            found.appendleft(line)
    return [*found]


def _older(path: Path) -> Iterator[bytes]:
    """The lines of the rotated files, the newest first."""
    for number in itertools.count(1):
        try:
            file = _open(path.with_name(f"{path.name}.{number}"))
        except FileNotFoundError:
            return
        with file:
            yield from _backwards(file, _whole(file))


def _backwards(file: IO[bytes], end: int) -> Iterator[bytes]:
    """The lines that end before `end`, the last one first; reads no more than is asked for."""
    rest = b""
    while end:
        start = max(0, end - BLOCK)
        file.seek(start)
        first, *lines = (file.read(end - start) + rest).split(b"\n")
        yield from (line for line in reversed(lines) if line)
        rest, end = first, start
    if rest:
        yield rest


def _follow(path: Path, wanted: Wanted) -> None:
    """Print the log from its beginning, once there is one, and each that takes its place."""
    while True:
        with contextlib.suppress(FileNotFoundError), _open(path) as file:
            _until_turned(path, file, 0, wanted)
        time.sleep(POLL)


def _until_turned(path: Path, file: IO[bytes], start: int, wanted: Wanted) -> None:
    """Print what is added to `file` until another one has taken its place."""
    file.seek(start)
    kept = b""
    while True:
        turned = _turned(path, file)
        # Read after looking: what was written before the rotation is in the old file for good.
        while block := file.read(BLOCK):
            *lines, kept = (kept + block).split(b"\n")
            _print([line for line in lines if wanted(line)])
        if turned:
            return
        if os.fstat(file.fileno()).st_size < file.tell():
            file.seek(0)
            kept = b""
        time.sleep(POLL)


def _turned(path: Path, file: IO[bytes]) -> bool:
    """Whether `path` is another file than `file` by now."""
    try:
        return not os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _print(lines: list[bytes]) -> None:
    for line in lines:
        sys.stdout.write(printable(line.decode("utf-8", "replace")) + "\n")
    sys.stdout.flush()
