"""What an approval is for: the exact call, where it runs, with what, and on which files."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.safety.approvals.grants import exact
from hermes.safety.approvals.subject import Subject
from hermes.safety.approvals.targets import named_paths, scripts
from hermes.system.files import sha256_file
from hermes.system.i18n import t

LARGEST: Final = 8 << 20
"""Bytes of a file whose content is compared; of a larger one size, times and inode are."""

MOST: Final = 256
"""Files that are looked at; a call that names more is bound to the first ones."""

_DECIDING: Final = ("PATH", "HOME", "SHELL", "BASH_ENV", "ENV", "PYTHONPATH", "VIRTUAL_ENV")
_DECLARING: Final = ("export", "declare", "typeset", "readonly", "unset")
_NAMES: Final = r"\$\{?([A-Za-z_][A-Za-z0-9_]*)"


class Bound(Struct, frozen=True, kw_only=True):
    """A call as it was when it was asked about. `files` holds what stood at each path."""

    call: str
    cwd: str
    env: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]


def bind(subject: Subject, env: Mapping[str, str], home: Path | None) -> Bound:
    """What an approval of `subject` would be for, now. Reads files: call it in a thread."""
    mentioned = set(re.findall(_NAMES, subject.text))
    names = sorted(n for n in env if n in _DECIDING or n in mentioned or n.startswith("LD_"))
    paths = dict.fromkeys([*named_paths(subject, home), *map(Path, subject.proposal.touches)])
    states = [(str(path), state) for path in list(paths)[:MOST] if (state := _state(path))]
    return Bound(
        call=exact(subject),
        cwd=subject.cwd,
        env=tuple((name, env[name]) for name in names),
        files=tuple(states),
    )


def redefines(subject: Subject) -> bool:
    """Whether a command changes what the names in later commands of its session mean."""
    if re.search(r"\w\s*\(\s*\)\s*[{(]|\bfunction\s", subject.text):
        return True
    for segment in subject.segments:
        if segment.program in ("alias", "source", ".", "eval", "enable", "hash", "unalias"):
            return True
        words = segment.words if segment.program in _DECLARING else ()
        names = {name for name, _ in segment.assignments} | {w.partition("=")[0] for w in words}
        if any(name in _DECIDING or name.startswith("LD_") for name in names):
            return True
    return False


def drift(then: Bound, now: Bound) -> str:
    """What has changed between the two, in words; empty if nothing has."""
    if then.call != now.call:
        return t("approvals.drift_command")
    if then.cwd != now.cwd:
        return t("approvals.drift_cwd", now=now.cwd, then=then.cwd)
    for name in sorted(dict(then.env).keys() | dict(now.env).keys()):
        if dict(then.env).get(name) != dict(now.env).get(name):
            return t("approvals.drift_env", name=name)
    for path in sorted(dict(then.files).keys() | dict(now.files).keys()):
        if dict(then.files).get(path) != dict(now.files).get(path):
            return t("approvals.drift_file", path=path)
    return ""


def script_digest(subject: Subject, home: Path | None) -> str:
    """One sha256, in hex, over the script files that a command runs; empty if it runs none."""
    found = scripts(subject, home)
    return _digest([f"{path} {_state(path)}" for path in found]) if found else ""


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _state(path: Path) -> str:
    """What stands at `path`: a file's content, or that it is no file; empty if it is nothing."""
    try:
        found = path.stat()
        if not path.is_file():
            return "folder" if path.is_dir() else "special"
        if found.st_size <= LARGEST:
            return sha256_file(path)
    except OSError:
        return ""
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"
