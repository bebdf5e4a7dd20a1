"""Which hooks may run: each command of each event is allowed by a person once.

The file is the reference's, `{"approvals": [{"event", "command", "approved_at",
"script_mtime_at_approval"}]}`; rows and keys that are not ours are kept. A project's hook is bound
to its project (`root`) and to the bytes of the files that its command names (`sha256`), because
others may change those; the owner's own files are the owner's.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, final

from hermes.core.clock import Clock
from hermes.core.errors import ConfigError
from hermes.ports.hook_book import HookConsent
from hermes.safety.hooks.configured import Hook
from hermes.system.files import sha256_file, write_atomic
from hermes.system.i18n import t
from hermes.system.locks import FileLock
from hermes.system.paths import Home

LOCK_SECONDS: Final = 5.0

Rows = list[dict[str, Any]]


@final
class Consents:
    """The consents of one home; `accept` is `hooks_auto_accept`."""

    def __init__(self, home: Home, clock: Clock, *, accept: bool) -> None:
        self._home = home
        self._file = home.hook_consents
        self._clock = clock
        self._accept = accept

    def of(self, hook: Hook) -> HookConsent:
        """Whether `hook` may run, as of now; raises ConfigError for a file that is broken."""
        row = next((row for row in reversed(self._rows()) if _is_for(row, hook)), None)
        if row is not None and (not hook.root or row.get("sha256") == fingerprint(hook)):
            return "allowed"
        if self._accept:
            return "accepted"
        return "new" if row is None else "changed"

    def drifted(self, hook: Hook) -> bool:
        """Whether the owner's own script was changed after it was allowed."""
        row = next((row for row in reversed(self._rows()) if _is_for(row, hook)), None)
        was = row.get("script_mtime_at_approval") if row is not None else None
        return was is not None and was != _mtime(hook)

    def allow(self, hook: Hook) -> None:
        """Allow `hook` as it is now; raises OSError, ConfigError."""
        row: dict[str, Any] = {
            "event": hook.event,
            "command": hook.command,
            "approved_at": _iso(self._clock.now()),
            "script_mtime_at_approval": _mtime(hook),
        }
        if hook.root:
            row |= {"root": hook.root, "sha256": fingerprint(hook)}
        self._change(lambda rows: [*(r for r in rows if not _is_for(r, hook)), row])

    def revoke(self, command: str) -> int:
        """Take back what was allowed for `command`, at any event; how often it was."""
        count = len([row for row in self._rows() if row.get("command") == command])
        if count:
            self._change(lambda rows: [row for row in rows if row.get("command") != command])
        return count

    def _rows(self) -> Rows:
        try:
            data = self._file.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as e:
            raise self._broken(e.strerror or str(e)) from e
        try:
            rows = json.loads(data)["approvals"]
        except (ValueError, KeyError, TypeError, RecursionError) as e:
            raise self._broken(t("hooks.not_a_list")) from e
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise self._broken(t("hooks.not_a_list"))
        return rows

    def _change(self, change: Callable[[Rows], Rows]) -> None:
        self._home.prepare()
        with FileLock(self._home.locks / "hooks").hold(LOCK_SECONDS):
            text = json.dumps({"approvals": change(self._rows())}, indent=2)
            write_atomic(self._file, f"{text}\n".encode(), mode=0o600)

    def _broken(self, reason: str) -> ConfigError:
        name = self._home.display(self._file)
        return ConfigError(t("hooks.broken", path=name, reason=reason), hint=t("hooks.broken_hint"))


def files_of(hook: Hook) -> Iterator[Path]:
    """The files that the words of a command name, its program included if that is a path."""
    for i, word in enumerate(hook.argv):
        path = Path(hook.root, word) if hook.root else Path(word)
        if (i or "/" in word) and (path.is_absolute() or hook.root) and path.is_file():
            yield path


def fingerprint(hook: Hook) -> str:
    """What the files of a command hold, in hex; raises OSError."""
    digest = hashlib.sha256()
    for path in files_of(hook):
        digest.update(f"{path}\0{sha256_file(path)}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _is_for(row: dict[str, Any], hook: Hook) -> bool:
    key = (row.get("event"), row.get("command"), row.get("root") or "")
    return key == (hook.event, hook.command, hook.root)


def _mtime(hook: Hook) -> str | None:
    script = next(files_of(hook), None)
    return _iso(script.stat().st_mtime) if script is not None else None


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
