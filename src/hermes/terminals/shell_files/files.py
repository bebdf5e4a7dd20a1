"""Files on the other side of a shell; implements `ports.files.Files`.

One process is started for each operation. Mode, owner and hard links are kept everywhere; extended
attributes and ACLs where `cp` there is GNU's, or where a file is written in place.
"""

import hashlib
import os
import re
import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, final

import anyio
from anyio import CancelScope

from hermes.ports.files import (
    DIGEST_BYTES,
    SNIFF_BYTES,
    Change,
    Committed,
    FileFault,
    FileStat,
    Output,
    Page,
    Tree,
    TreeEntry,
)
from hermes.system.program import Program
from hermes.terminals.shell_files import scripts
from hermes.terminals.shell_files.answers import kind_of, nanoseconds, parse_stat
from hermes.terminals.shell_files.channel import Answer, Channel, Shell, checked, settings
from hermes.terminals.shell_files.commit import Plan
from hermes.terminals.shell_files.records import COMMIT, LOCK

PSEUDO_BYTES: Final = 64 << 20
"""How much of a file that says it is empty (as those of /proc do) is read at most."""

NAMES_BYTES: Final = 256 << 20

PATIENCE: Final = 60.0
"""Seconds without a byte from the other side after which it counts as gone."""

SETTLE_SECONDS: Final = 0.9
"""What a cancelled commit may take to be undone; then the next use does it."""

USER: Final = re.compile(r"~([A-Za-z_][A-Za-z0-9._-]*)(?=/|\Z)", re.ASCII)


@final
class ShellFiles:
    """`shell` says how a script is run there, `records` is a folder there for commits under way.

    `home` is what `~` stands for, see `home_there`. `env` is the environment of the programs that
    are started here, `patience` the seconds to wait for the next sign of life.
    """

    def __init__(
        self,
        shell: Shell,
        *,
        records: str,
        home: str | None,
        env: Mapping[str, str],
        patience: float = PATIENCE,
    ) -> None:
        self._channel = Channel(shell, env=env, patience=patience)
        self._home = home
        self._records = records
        self._token = os.urandom(8).hex()
        self._one_commit = anyio.Lock()

    @property
    def home(self) -> str | None:
        return self._home

    async def locate(self, raw: str, cwd: str, *, entry: bool = False) -> str:
        if "\0" in raw:
            raise FileFault("bad_path", raw, "the path contains a NUL character")
        path, user = raw, ""
        if raw == "~" or raw.startswith("~/"):
            if self._home is None:
                raise FileFault("bad_path", raw, "there is no home folder for ~")
            path = self._home + raw[1:]
        elif found := USER.match(raw):
            user, path = found[1], raw[found.end() :]
        elif not raw.startswith("/"):
            path = f"{cwd}/{raw}"
        if entry and path.rpartition("/")[2] in ("", ".", ".."):
            entry = False
        values = settings(rest=checked(path), user=user, cwd=cwd, entry="1" if entry else "")
        async with self._ask(values + scripts.LOCATE, raw) as (answer, _):
            await answer.heading()
            return os.fsdecode(await answer.rest(1 << 20))

    async def named(self, raw: str, cwd: str) -> tuple[str, ...]:
        meant = await self.locate(raw, cwd)
        return tuple(dict.fromkeys((meant, await self.locate(raw, cwd, entry=True))))

    async def stat(self, path: str) -> FileStat | None:
        async with self._ask(settings(p=checked(path)) + scripts.STAT, path) as (answer, _):
            heading = await answer.heading()
        return None if heading == b"N" else _stat(heading)

    async def read(self, path: str, *, limit: int) -> tuple[bytes, FileStat]:
        values = settings(p=checked(path), limit=limit)
        async with self._ask(values + scripts.READ, path) as (answer, _):
            return await _whole(answer, path, await answer.heading(), limit)

    async def page(self, path: str, *, first: int, lines: int, width: int) -> Page:
        cut = _Cut(first, lines, width)
        values = settings(
            p=checked(path),
            first=first,
            lines=lines,
            width=width,
            sniff=SNIFF_BYTES,
            digest=DIGEST_BYTES,
            pseudo=PSEUDO_BYTES,
        )
        async with self._ask(values + scripts.PAGE, path) as (answer, _):
            heading = await answer.heading()
            if heading.startswith(b"W"):
                data, stat = await _whole(answer, path, heading, PSEUDO_BYTES)
                return cut.of(data, stat)
            return await cut.streamed(answer, path, _stat(heading))

    async def link(self, path: str) -> str:
        async with self._ask(settings(p=checked(path)) + scripts.LINK, path) as (answer, _):
            await answer.heading()
            return os.fsdecode(await answer.rest(1 << 20))

    async def names(self, folder: str) -> tuple[str, ...]:
        async with self._ask(settings(p=checked(folder)) + scripts.NAMES, folder) as (answer, _):
            await answer.heading()
            *names, end, rest = (await answer.rest(NAMES_BYTES)).split(b"\0")
            if end or rest:
                raise await answer.broken()
        return tuple(sorted(map(os.fsdecode, names)))

    async def tree(self, root: str, *, limit: int, folders: bool = False) -> Tree:
        mark = os.urandom(16).hex()
        values = settings(p=checked(root), mark=mark, folders="y" if folders else "")
        found = _Found(root, limit)
        async with self._ask(values + scripts.TREE, root) as (answer, _):
            await answer.heading()
            held = b""
            while piece := await answer.piece():
                *records, held = (held + piece).split(mark.encode("ascii"))
                for record in records:
                    if found.ended(record):
                        return found.tree()
            raise await answer.broken()

    async def commit(self, changes: Sequence[Change]) -> Committed:
        if not changes:
            return Committed(folders=(), written={})
        plan = Plan(changes)
        values = settings(id=plan.id, script=len(plan.script), total=plan.size)
        first = plan.path("0") or ""
        async with self._one_commit:
            try:
                async with self._ask(values + COMMIT, first, stdin=plan.parts) as (answer, _):
                    heading = await answer.line()
                    if heading.startswith(b"F "):
                        raise self._refused(answer, plan, heading, await answer.rest(1 << 20))
            except anyio.get_cancelled_exc_class():
                with CancelScope(shield=True), anyio.move_on_after(SETTLE_SECONDS):
                    await self._settle()
                raise
        folders = tuple(plan.folders[int(n)] for n in heading.split()[1:])
        return Committed(folders=folders, written=plan.digests)

    @asynccontextmanager
    async def ripgrep(self, arguments: Sequence[str]) -> AsyncIterator[Output | None]:
        words = os.fsencode(shlex.join(arguments))
        async with self._ask(scripts.RIPGREP, "rg", stdin=[words]) as (answer, program):
            heading = await answer.heading()
            yield None if heading == b"N" else _Ripgrep(answer, program)

    async def _settle(self) -> None:
        async with self._ask("settle_all\nprintf 'S\\n'\n", self._records) as (answer, _):
            await answer.heading()

    @asynccontextmanager
    async def _ask(
        self, script: str, path: str, *, stdin: Sequence[bytes] = ()
    ) -> AsyncIterator[tuple[Answer, Program]]:
        ours = settings(records=self._records, token=self._token)
        whole = ours + scripts.PRELUDE + LOCK + script
        async with self._channel.ask(whole, path, stdin=stdin) as started:
            yield started

    def _refused(self, answer: Answer, plan: Plan, line: bytes, more: bytes) -> FileFault:
        """The fault of a commit, `F code change reason`, with the path of that change."""
        _, code, *words = line.split(b" ")
        reference = words[0].decode("ascii", "replace") if words else ""
        path = self._records if reference == "r" else plan.path(reference)
        if path is not None:
            words = words[1:]
        return answer.fault(b" ".join((b"F", code, *words)), more, path)


async def home_there(shell: Shell, *, env: Mapping[str, str]) -> str | None:
    """The home folder of the user that `shell` runs as; None if there is none."""
    channel = Channel(shell, env=env, patience=PATIENCE)
    async with channel.ask(scripts.HOME, "~") as (answer, _):
        await answer.heading()
        return os.fsdecode(await answer.rest(1 << 20)) or None


@dataclass(frozen=True)
class _Ripgrep:
    answer: Answer
    program: Program

    async def receive(self) -> bytes:
        return await self.answer.piece()

    async def end(self) -> tuple[int, str]:
        return await self.program.end()


@dataclass(frozen=True)
class _Cut:
    """The lines that a page was asked for."""

    first: int
    lines: int
    width: int

    def of(self, data: bytes, stat: FileStat) -> Page:
        """The page of a file that is here as a whole."""
        ended = not data or data.endswith(b"\n")
        every = data.split(b"\n")
        if ended:
            every.pop()
        wanted = every[self.first - 1 : self.first - 1 + self.lines]
        return Page(
            lines=tuple(line[: self.width] for line in wanted),
            total=len(every),
            size=len(data),
            head=data[:SNIFF_BYTES],
            ended=ended,
            sha256=hashlib.sha256(data).digest() if len(data) <= DIGEST_BYTES else None,
            stat=stat,
        )

    async def streamed(self, answer: Answer, path: str, stat: FileStat) -> Page:
        """The page of a file that was cut over there."""
        total, ended, digest = (await answer.line()).split()
        head = await answer.exactly(SNIFF_BYTES)
        count = max(0, min(self.lines, int(total) - self.first + 1))
        lines = [await answer.line(self.width) for _ in range(count)]
        after = await answer.line()
        # What was appended meanwhile belongs to the next version; anything else is no page.
        if not after or _grown(stat, parse_stat(after, 0)) is None:
            raise FileFault("changed", path, "was changed while it was read")
        return Page(
            lines=tuple(lines),
            total=int(total),
            size=stat.size,
            head=head,
            ended=ended == b"1",
            sha256=None if digest == b"-" else bytes.fromhex(digest.decode("ascii")),
            stat=stat,
        )


def _grown(before: FileStat, after: FileStat) -> FileStat | None:
    """`after` if it is the same file, unchanged or longer."""
    same = before.identity[:2] == after.identity[:2]
    if same and (before.identity == after.identity or after.size > before.size):
        return after
    return None


@dataclass
class _Found:
    """The records of a tree, taken one by one."""

    root: str
    limit: int
    entries: list[TreeEntry] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    begun: bool = False

    def ended(self, record: bytes) -> bool:
        """Take one record; whether it was the last, or one too many."""
        facts, _, name = record.removesuffix(b"\n").partition(b"|")
        path = os.fsdecode(name)
        match facts.split(b" ", 4)[1:]:
            case [b"E"]:
                if not self.begun:
                    raise FileFault("other", self.root, "there is no find or no stat there")
                return True
            case [b"D"]:
                self.skipped.append((path, "permission denied"))
            case [mode, size, seconds, text]:
                entry = TreeEntry(
                    path=path,
                    kind=kind_of(int(mode, 16)),
                    size=int(size),
                    mtime=nanoseconds(seconds, text),
                )
                if path == self.root:
                    self.begun = True
                else:
                    self.entries.append(entry)
        return len(self.entries) > self.limit

    def tree(self) -> Tree:
        return Tree(
            entries=tuple(self.entries[: self.limit]),
            skipped=tuple(self.skipped),
            complete=len(self.entries) <= self.limit,
        )


def _stat(heading: bytes) -> FileStat:
    """The stat of a line that begins with its kind and the time on that machine."""
    _, now, line = heading.split(b" ", 2)
    return parse_stat(line, int(now))


async def _whole(answer: Answer, path: str, heading: bytes, limit: int) -> tuple[bytes, FileStat]:
    """The rest of an answer: content, and whether it is of one piece."""
    before = _stat(heading)
    rest = await answer.rest(limit + 4096)
    content, separator, trailer = rest.removesuffix(b"\n").rpartition(b"\n")
    status, _, line = trailer.partition(b" ")
    if not separator or not status.isdigit():
        raise await answer.broken()
    if status != b"0":
        raise FileFault("other", path, "could not be read to its end")
    if len(content) > limit:
        raise FileFault("too_large", path, f"has more than {limit} bytes")
    after = parse_stat(line, 0) if line else None
    # A pseudo-file is empty by its own word, before and after, and has new times whenever asked.
    pseudo = after is not None and before.size == after.size == 0
    same = after is not None and after.identity == before.identity and len(content) == before.size
    if not (pseudo or same):
        raise FileFault("changed", path, "was changed while it was read")
    return content, before
