"""The plan of a commit: what is sent to a shell so that it can carry it out, or undo it, alone."""

import hashlib
import os
import shlex
from collections.abc import Iterator, Sequence
from typing import final

from hermes.core.errors import Bug
from hermes.ports.files import Change, FileFault, Move, Remove, Write
from hermes.terminals.shell_files.channel import checked
from hermes.terminals.shell_files.records import RECORD


@final
class Plan:
    """`script` defines the functions of `records.RECORD` and calls them for each change; `parts`
    is all that is sent: the script, then the data of the changes in their order. `digests` are
    the sha256 of what is written, by path.

    Raises FileFault for a path that cannot be, and Bug if one occurs twice.
    """

    def __init__(self, changes: Sequence[Change]) -> None:
        self.id = os.urandom(8).hex()
        self._changes = changes
        paths = [path for change in changes for path in _paths(change)]
        if len(set(paths)) < len(paths):
            raise Bug(f"a path occurs twice in one commit: {sorted(paths)}")
        self.folders = list(dict.fromkeys(f for change in changes for f in _above(change)))
        self.digests = {
            change.path: hashlib.sha256(change.data).digest()
            for change in changes
            if isinstance(change, Write)
        }
        # The offsets are part of the script, and the script's length is part of the offsets.
        data = [change.data if isinstance(change, Write) else b"" for change in changes]
        length = 0
        while True:
            self.script = self._script(length)
            if len(self.script) <= length:
                self.script = self.script.ljust(length, b"\n")
                break
            length = len(self.script)
        self.parts = [self.script, *data]

    @property
    def size(self) -> int:
        """The bytes of all parts."""
        return sum(map(len, self.parts))

    def path(self, reference: str) -> str | None:
        """The path that an answer means: the number of a change, or `f` and that of a folder."""
        kind, number = ("f", reference[1:]) if reference[:1] == "f" else ("", reference)
        if not (number.isascii() and number.isdigit()):
            return None
        if kind:
            return self.folders[int(number)]
        return _paths(self._changes[int(number)])[0]

    def _script(self, offset: int) -> bytes:
        folders = list(enumerate(self.folders))
        lines = [RECORD]
        lines += _function("each", self._calls(offset))
        lines += _function("folders_each", (f"{n} {shlex.quote(f)}" for n, f in folders))
        lines += _function("folders_back", (f"{n} {shlex.quote(f)}" for n, f in reversed(folders)))
        return os.fsencode("\n".join(lines) + "\n")

    def _calls(self, offset: int) -> Iterator[str]:
        """The arguments of `change` in `records.RECORD`, from the first."""
        for n, change in enumerate(self._changes):
            new, old = (f".hermes-{self.id}-{n}.{what}" for what in ("new", "old"))
            target, *source = _paths(change)
            above = _folder(target)
            words = [str(n), "", target, f"{above}/{new}", f"{above}/{old}", above]
            match change:
                case Write(path=path, data=data, expect=expect, like=like):
                    words[1] = "write"
                    words += [
                        _hex(expect),
                        self.digests[path].hex(),
                        str(offset),
                        str(len(data)),
                        like or "",
                    ]
                    offset += len(data)
                case Remove(expect=expect):
                    words[1] = "remove"
                    words += [_hex(expect), "-", "0", "0", ""]
                case Move():
                    words[1], words[4] = "move", f"{_folder(source[0])}/{old}"
                    words += ["-", "-", "0", "0", source[0]]
            yield shlex.join(words)


def _function(name: str, calls: Iterator[str]) -> Iterator[str]:
    """A function that calls the command it is given for each line, to the end even if one fails."""
    yield f"{name}() {{\nr=0"
    for call in calls:
        yield f'"$1" {call} || r=1'
    yield "return $r\n}"


def _paths(change: Change) -> list[str]:
    """The paths that `change` is about, the one that is written first."""
    paths = [change.target, change.source] if isinstance(change, Move) else [change.path]
    if isinstance(change, Write) and change.like is not None:
        checked(change.like)
    for path in paths:
        if not path.startswith("/") or path.endswith("/"):
            raise FileFault("bad_path", path, "is no absolute path of a file")
        checked(path)
    return paths


def _folder(path: str) -> str:
    """The folder of `path`, empty for the root."""
    return path.rpartition("/")[0]


def _above(change: Change) -> Iterator[str]:
    """The folders that must be there for `change`, outermost first."""
    if isinstance(change, Remove) or (isinstance(change, Write) and change.expect is not None):
        return
    above = _folder(_paths(change)[0])
    for at, character in enumerate(above + "/"):
        if character == "/" and at > 0:
            yield above[:at]


def _hex(digest: bytes | None) -> str:
    return "-" if digest is None else digest.hex()
