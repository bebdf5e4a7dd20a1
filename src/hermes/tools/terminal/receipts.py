"""What is kept on disk of background commands, so that a later Hermes can tell of them.

One file each, in the folder and under the names of the reference; written when a command starts and
when it ends, redacted, for the user alone. `format` is the version of the content.
"""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from hermes.core.ids import SessionId
from hermes.ports.terminal import Detached
from hermes.system.files import write_atomic
from hermes.tools.terminal.job import BackgroundJob, FileTail, Tail

log = logging.getLogger("hermes.tools")

FORMAT: Final = 1
KEPT_SECONDS: Final = 7 * 86_400
KEPT: Final = 64
"""How many of ended commands are kept, the newest."""

OUTPUT: Final = 20_000
"""Characters of output in a receipt, the last ones."""


class Receipts:
    """The files in `folder`; `redact` takes secrets out of output and command."""

    def __init__(self, folder: Path, redact: Callable[[str, str], str]) -> None:
        self._folder = folder
        self._redact = redact

    def output(self, job: str) -> Path:
        """Where a command that outlives Hermes writes to."""
        return self._folder / f"{job}.log"

    def status(self, job: str) -> Path:
        """Where it leaves its exit status."""
        return self._folder / f"{job}.status"

    def prepare(self) -> None:
        """Make the folder."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def write(self, job: BackgroundJob) -> None:
        """Save what is known of `job`; raises OSError."""
        self.prepare()
        content: dict[str, Any] = {
            "format": FORMAT,
            "session_id": job.id,
            "session": job.session,
            "command": self._redact(job.command, job.command),
            "cwd": job.cwd,
            "started_at": job.started_at,
            "notify": job.notify,
            "persist_on_release": job.persist,
            "pid": job.pid,
            "exit_code": job.exit_code,
            "exited_at": job.exited_at,
            "completion_reason": job.reason,
            "termination_source": job.source,
            "told": job.known,
        }
        if job.detached is not None:
            content["detached"] = {"pid": job.detached.pid, "started": job.detached.started}
        if not job.running:
            content["output"] = self._redact(job.output.text(), job.command)[-OUTPUT:]
        data = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
        write_atomic(self._folder / f"{job.id}.json", data, mode=0o600)

    def of(self, session: SessionId) -> Iterator[BackgroundJob]:
        """The commands of one session; a file that cannot be read is passed over, and logged."""
        for path in sorted(self._folder.glob("proc_*.json")):
            try:
                content = json.loads(path.read_bytes())
                if content["session"] != session:
                    continue
                known = content["format"] == FORMAT
                job = self._job(content) if known else None
            except (OSError, ValueError, KeyError, TypeError) as e:
                log.warning("%s tells of no command: %r", path, e)
                continue
            if job is None:
                log.warning("%s is of another version of Hermes", path)
            else:
                yield job

    def prune(self, now: float) -> None:
        """Remove what is too old and too much; running ones stay."""
        ended: list[tuple[float, str]] = []
        for path in self._folder.glob("proc_*.json"):
            with suppress(OSError, ValueError, KeyError, TypeError):
                content = json.loads(path.read_bytes())
                if content["exited_at"] is not None:
                    ended.append((content["exited_at"], path.stem))
        ended.sort(reverse=True)
        for number, (at, name) in enumerate(ended):
            if number >= KEPT or now - at > KEPT_SECONDS:
                for suffix in ("json", "log", "status"):
                    (self._folder / f"{name}.{suffix}").unlink(missing_ok=True)

    def _job(self, content: dict[str, Any]) -> BackgroundJob:
        job = BackgroundJob(
            id=content["session_id"],
            session=content["session"],
            command=content["command"],
            cwd=content["cwd"],
            started_at=content["started_at"],
            notify=content["notify"],
            persist=content["persist_on_release"],
            pid=content["pid"],
            recovered=True,
        )
        if (detached := content.get("detached")) is not None:
            job.detached = Detached(pid=detached["pid"], started=detached["started"])
            job.output = FileTail(self.output(job.id))
        elif "output" in content:
            job.output = Tail()
            job.output.add(content["output"].encode())
        if content["completion_reason"]:
            job.ended(
                content["exit_code"],
                content["completion_reason"],
                content["exited_at"],
                content["termination_source"],
            )
        job.known = content["told"]
        return job
