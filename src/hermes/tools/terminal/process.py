"""`process`: look after commands in the background.

Names and keys follow the reference's contract.
"""

import json
from typing import Any, Final

import anyio

from hermes.core.clock import Clock
from hermes.core.errors import ToolError
from hermes.core.text import clean
from hermes.ports.tool import Arguments, SessionState, ToolContext, ToolOutput, ToolSpec
from hermes.tools.terminal.arguments import whole_number
from hermes.tools.terminal.job import BackgroundJob
from hermes.tools.terminal.jobs import Jobs
from hermes.tools.terminal.output import Redact
from hermes.tools.terminal.specs import ACTIONS, LONGEST, PROCESS

PREVIEW, LISTED, WAITED = 1_000, 200, 2_000
"""Characters of output that poll, list and wait show."""

LINES: Final = 200


class Process:
    """Implements `ports.tool.Tool`. `default_wait` is seconds, and `taken_within` how many a
    command has to take its input."""

    def __init__(
        self,
        jobs: Jobs,
        redact: Redact,
        clock: Clock,
        *,
        default_wait: float = 180,
        taken_within: float = 10,
    ) -> None:
        self._jobs = jobs
        self._redact = redact
        self._clock = clock
        self._default_wait = default_wait
        self._taken_within = taken_within

    @property
    def spec(self) -> ToolSpec:
        return PROCESS

    async def touches(self, arguments: Arguments, state: SessionState) -> tuple[str, ...]:
        return ()

    def summary(self, arguments: Arguments) -> str:
        """The action, on what, and what is typed."""
        parts = (arguments.get(name) for name in ("action", "session_id", "data"))
        return " ".join(str(part) for part in parts if part)

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        """Do the action; see the contract for the keys."""
        action = arguments.get("action")
        if action not in ACTIONS:
            return _answer({"error": f"action must be one of {', '.join(ACTIONS)}."})
        if action == "list":
            jobs = await self._jobs.of(context.session)
            return _answer({"processes": [self._listed(job) for job in jobs]}, fine=True)
        id = arguments.get("session_id")
        if id is None or not str(id):
            return _answer({"error": f"{action} needs a session_id; list has them."})
        job = await self._jobs.find(context.session, str(id))
        if job is None:
            return _answer(
                {
                    "status": "not_found",
                    "error": f"No process of this session is {id} alone; list has them.",
                }
            )
        try:
            return await self._act(str(action), job, arguments)
        except ToolError as e:
            return _answer({"status": "error", "error": str(e)})

    async def _act(self, action: str, job: BackgroundJob, arguments: Arguments) -> ToolOutput:
        match action:
            case "poll":
                return _answer(self._polled(job), fine=True)
            case "log":
                return _answer(self._logged(job, arguments), fine=True)
            case "wait":
                return await self._wait(job, arguments.get("timeout"))
            case "kill":
                return await self._kill(job)
            case _:
                return await self._type(action, job, arguments.get("data"))

    def _output(self, job: BackgroundJob) -> str:
        return clean(self._redact(job.output.text(), job.command))

    def _command(self, job: BackgroundJob) -> str:
        return clean(self._redact(job.command, job.command))

    def _head(self, job: BackgroundJob) -> dict[str, Any]:
        return {
            "session_id": job.id,
            "command": self._command(job),
            "status": "running" if job.running else "exited",
        }

    def _uptime(self, job: BackgroundJob) -> int:
        return max(int((job.exited_at or self._clock.now()) - job.started_at), 0)

    def _polled(self, job: BackgroundJob) -> dict[str, Any]:
        keys = self._head(job) | {
            "pid": job.pid,
            "uptime_seconds": self._uptime(job),
            "output_preview": self._output(job)[-PREVIEW:],
        }
        if job.recovered and job.running:
            keys |= {"detached": True, "note": "It was started by an earlier Hermes."}
        return keys | job.end_keys()

    def _logged(self, job: BackgroundJob, arguments: Arguments) -> dict[str, Any]:
        lines = self._output(job).splitlines()
        limit, offset = _whole(arguments, "limit"), _whole(arguments, "offset")
        limit = LINES if limit is None else limit
        if limit < 1:
            raise ToolError("limit must be 1 line or more.")
        # A negative offset counts from the end as in Python, which is the contract.
        shown = lines[-limit:] if offset is None else lines[offset : offset + limit]
        return self._head(job) | {
            "output": "\n".join(shown),
            "total_lines": len(lines),
            "showing": f"{len(shown)} lines",
        }

    async def _wait(self, job: BackgroundJob, timeout: object) -> ToolOutput:
        try:
            asked = self._default_wait if timeout is None else float(str(timeout))
        except ValueError:
            asked = 0
        if not asked > 0:
            return _answer(
                {"status": "error", "error": "timeout must be more than 0 seconds; kept running."}
            )
        seconds = min(asked, LONGEST)
        note = f"At most {LONGEST} seconds are waited; ask again after that."
        notes = {"timeout_note": note} if asked > LONGEST else {}
        await self._jobs.wait(job, seconds)
        output = self._output(job)
        if job.running:
            return _answer(
                {
                    "status": "timeout",
                    "command": self._command(job),
                    "output": output[-PREVIEW:],
                    "process_running": True,
                    "timeout_note": notes.get("timeout_note", f"Waited {seconds:g} s; it goes on."),
                }
            )
        keys = {"status": "exited", "command": self._command(job)} | job.end_keys()
        keys["output"] = output[-WAITED:]
        if len(output) > WAITED:
            keys["output_cut"] = f"The last {WAITED} of {len(output)} characters; log has the rest."
        return _answer(keys | notes, fine=job.exit_code == 0)

    async def _kill(self, job: BackgroundJob) -> ToolOutput:
        if not job.running:
            return _answer({"status": "already_exited", "session_id": job.id} | job.end_keys())
        if not await self._jobs.kill(job):
            return _answer(
                {
                    "status": "error",
                    "session_id": job.id,
                    "error": "It was told to end and is still there; try again.",
                    "survivors": [job.pid],
                    "process_running": True,
                }
            )
        return _answer(
            {
                "status": "killed",
                "session_id": job.id,
                "completion_reason": job.reason,
                "termination_source": job.source,
                "output": self._output(job)[-WAITED:],
            },
            fine=True,
        )

    async def _type(self, action: str, job: BackgroundJob, data: object) -> ToolOutput:
        if not job.running:
            return _answer({"status": "already_exited", "error": "It has ended and reads no more."})
        if job.process is None:
            return _answer({"status": "error", "error": "It outlives Hermes and takes no input."})
        if action == "close":
            await job.process.close_input()
            return _answer({"status": "ok"}, fine=True)
        if not isinstance(data, str):
            return _answer({"status": "error", "error": f"{action} needs data, a text."})
        # What Enter sends; a terminal makes a line end of it, unless its program reads keys.
        enter = "\r" if job.terminal else "\n"
        typed = clean(data + enter if action == "submit" else data).encode()
        with anyio.move_on_after(self._taken_within) as waiting:
            await job.process.write(typed)
        if waiting.cancelled_caught:
            raise ToolError(
                f"It did not read its input within {self._taken_within:g} s: what fits into a pipe "
                "has been written, the rest of the data has not. Poll it to see what it does."
            )
        return _answer({"status": "ok", "bytes_written": len(typed)}, fine=True)

    def _listed(self, job: BackgroundJob) -> dict[str, Any]:
        keys = {
            "session_id": job.id,
            "command": self._command(job)[:LISTED],
            "cwd": clean(job.cwd),
            "pid": job.pid,
            "owner_task_id": job.session,
            "started_at": job.started_at,
            "uptime_seconds": self._uptime(job),
            "status": "running" if job.running else "exited",
            "output_preview": self._output(job)[-LISTED:],
        }
        if not job.running:
            keys |= {
                "exit_code": job.exit_code,
                "exited_at": job.exited_at,
                "completion_reason": job.reason,
            }
        flags = {
            "watch_patterns": list(job.watch),
            "notify_on_complete": job.notify,
            "persist_on_release": job.persist,
            "detached": job.recovered and job.running,
        }
        return keys | {name: value for name, value in flags.items() if value}


def _whole(arguments: Arguments, name: str) -> int | None:
    value = arguments.get(name)
    if value is None:
        return None
    number = whole_number(value)
    if number is None:
        raise ToolError(f"{name} must be a whole number, not {value!r}.")
    return number


def _answer(keys: dict[str, Any], *, fine: bool = False) -> ToolOutput:
    content = json.dumps(keys, ensure_ascii=False)
    return ToolOutput(content=content, outcome="ok" if fine else "failed")
