"""Which files a shell command names, and which of them it writes, as far as its words show.

A heuristic over parsed words: what a program does with them cannot be seen. It knows programs that
only read and takes every other one that is given a file for a writer.
"""

import re
from collections.abc import Iterator, Sequence
from glob import iglob
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from hermes.safety.approvals.subject import Subject
from hermes.safety.commands.model import UNKNOWN, Segment

# fmt: off
ONLY_READ: Final = frozenset((
    "[", "[[", "ack", "ag", "b2sum", "base64", "basename", "bat", "cat", "cd", "cksum", "cmp",
    "column", "comm", "cut", "df", "diff", "dirname", "du", "echo", "egrep", "expr", "false",
    "fgrep", "file", "find", "fmt", "fold", "grep", "head", "hexdump", "jq", "join", "less", "ls",
    "lsof", "markdownlint", "md5sum", "mkdir", "more", "nl", "od", "paste", "printf", "pwd",
    "readlink", "realpath", "rg", "sha1sum", "sha256sum", "sha512sum", "sort", "stat", "strings",
    "sum", "tac", "tail", "test", "tr", "tree", "true", "type", "uniq", "vale", "wc", "which",
    "xxd", "zcat",
))
ACTING: Final = {"find": ("-delete", "-fprint", "-fls"), "sort": ("-o",), "tree": ("-o",)}
COPIERS: Final = frozenset(("cp", "install", "ln", "rsync", "scp"))
INTERPRETERS: Final = frozenset((
    "bash", "bun", "dash", "deno", "fish", "ksh", "lua", "node", "perl", "php", "python",
    "python2", "python3", "Rscript", "ruby", "sh", "zsh",
))
GIT_READS: Final = frozenset((
    "add", "blame", "branch", "cat-file", "check-attr", "check-ignore", "commit", "config",
    "describe", "diff", "fetch", "grep", "log", "ls-files", "ls-tree", "push", "rev-list",
    "rev-parse", "shortlog", "show", "status", "tag",
))
# fmt: on

_REDIRECTS: Final = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&"))
_LOOSE_REDIRECT: Final = r">[>|&]?\s*([^\s;&|<>()]+)"
_PATHLIKE: Final = r"[\w.~/$@+-]+"
_VERSION: Final = r"[\d.]+$"
_EXPANDED: Final = 200
"""Files that a wildcard is followed to."""


def named_paths(subject: Subject, home: Path | None) -> list[Path]:
    """Every path that a word of the command may stand for."""
    if (known := subject.paths.get("named")) is not None:
        return known
    words = [word for segment in subject.segments for word in segment.words]
    words += [r.target for s in subject.segments for r in s.redirects if "<<" not in r.operator]
    found = subject.paths["named"] = _resolved(subject, words, home)
    return found


def written_paths(subject: Subject, home: Path | None) -> list[Path]:
    """The paths that the command may write: targets of redirections, and files given to programs
    that are not known to read only."""
    if (known := subject.paths.get("written")) is not None:
        return known
    words = redirects(subject)
    if any(UNKNOWN in word or "$" in word or "`" in word for word in words):
        # Where a target is not known before it runs, everything that is named may be it.
        words += re.findall(_PATHLIKE, subject.text)
    for segment in subject.segments:
        words += _written(segment, subject, home)
    found = subject.paths["written"] = _resolved(subject, words, home)
    return found


def program_of(segment: Segment) -> str:
    """The name of the program, without folder and version."""
    name = segment.program.rpartition("/")[2]
    return re.sub(_VERSION, "", name) or name


def scripts(subject: Subject, home: Path | None) -> list[Path]:
    """The script files that the command runs, directly or by an interpreter."""
    found = []
    for segment in subject.segments:
        words = _arguments(segment)
        if segment.words and "/" in segment.words[0]:
            found.append(segment.words[0])
        elif program_of(segment) in INTERPRETERS or segment.program in (".", "source"):
            found += [word for word in words if not word.startswith("-")][:1]
    system = ("/bin", "/usr", "/sbin", "/opt")
    paths = _resolved(subject, found, home)
    return [p for p in paths if p.is_file() and not str(p).startswith(system)]


def redirects(subject: Subject) -> list[str]:
    """The targets of output redirections in a command line."""
    found = [
        redirect.target
        for segment in subject.segments
        for redirect in segment.redirects
        if redirect.operator in _REDIRECTS and not redirect.target.isdigit()
    ]
    if subject.parsed is None or subject.parsed.dangerous:
        # It may not be read to its end.
        found += re.findall(_LOOSE_REDIRECT, subject.text)
    return found


def _arguments(segment: Segment) -> list[str]:
    """The words behind the program."""
    return list(segment.words[1:])


def _written(segment: Segment, subject: Subject, home: Path | None) -> Iterator[str]:
    name, words = program_of(segment), _arguments(segment)
    if name in ONLY_READ:
        if name in ACTING and any(_acts(name, words, i) for i in range(len(words))):
            yield from words
        return
    if name == "git" and _first(words) in GIT_READS:
        return
    if name in ("sed", "perl", "ruby", "awk", "gawk", "yq") and not _in_place(words):
        yield from _code(words)
        return
    if name in COPIERS:
        yield from _copied(words, subject, home)
        return
    if name in INTERPRETERS and any(w in ("-c", "-e", "-m", "-") for w in words):
        yield from _code([*words, segment.text])
    yield from words


def _acts(name: str, words: Sequence[str], i: int) -> bool:
    """Whether option `i` of a program that mostly reads makes it write."""
    if name == "find" and words[i] in ("-exec", "-execdir", "-ok", "-okdir"):
        return words[i + 1 : i + 2] != [] and words[i + 1].rpartition("/")[2] not in ONLY_READ
    return words[i].startswith(ACTING[name])


def _in_place(words: Sequence[str]) -> bool:
    return any(
        word.startswith(("-i", "--in-place", "--inplace")) or re.match(r"-[a-zA-Z]*i", word)
        for word in words
        if word.startswith("-")
    )


def _first(words: Sequence[str]) -> str:
    """The first word that is no option, nor the value of one of git's own."""
    words = list(words)
    while words:
        word = words.pop(0)
        if word in ("-C", "-c", "--git-dir", "--work-tree"):
            words = words[1:]
        elif not word.startswith("-"):
            return word
    return ""


def _code(words: Sequence[str]) -> Iterator[str]:
    """Everything in a program text that looks like a path; plain words are files or options."""
    for word in words:
        if re.search(r"[\s('\"]", word):
            yield from re.findall(_PATHLIKE, word)


def _copied(words: Sequence[str], subject: Subject, home: Path | None) -> Iterator[str]:
    """Where a copy goes: the last word, or in it if that is a folder."""
    plain = [word for word in words if not word.startswith("-")]
    target = next(
        (words[i + 1] for i, w in enumerate(words[:-1]) if w in ("-t", "--target-directory")),
        plain[-1] if plain else "",
    )
    if not target:
        return
    yield target
    if target.endswith("/") or subject.resolve(target, home).is_dir():
        yield from (f"{target}/{source.rstrip('/').rpartition('/')[2]}" for source in plain)


def _resolved(subject: Subject, words: Sequence[str], home: Path | None) -> list[Path]:
    """What the words stand for in each folder that the command may have gone to."""
    found: dict[Path, None] = {}
    gone = [s.words[1] for s in subject.segments if s.program == "cd" and len(s.words) > 1]
    for place in (subject, *(replace(subject, cwd=str(subject.resolve(to, home))) for to in gone)):
        found.update(_in_folder(place, words, home))
    return list(found)


def _in_folder(subject: Subject, words: Sequence[str], home: Path | None) -> dict[Path, None]:
    found: dict[Path, None] = {}
    for word in dict.fromkeys(words):
        name, sign, value = word.partition("=")
        for text in {word, value if sign and name else word}:
            if not text or len(text) > 4096 or "\n" in text:
                continue
            try:
                found.update(dict.fromkeys(_expanded(text, subject, home)))
            except (OSError, RuntimeError, ValueError):
                continue
    return found


def _expanded(word: str, subject: Subject, home: Path | None) -> Iterator[Path]:
    yield subject.typed(word, home)
    yield subject.resolve(word, home)
    if re.search(r"[*?\[]", word):
        path = subject.resolve(word, home)
        for match in islice(iglob(str(path)), _EXPANDED):  # noqa: PTH207  a whole path
            yield Path(match).resolve()
