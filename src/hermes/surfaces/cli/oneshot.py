"""One turn: the answer on stdout, all else on stderr, exit status 0 only for a finished turn."""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskStatus

from hermes.core.entries import AssistantEntry
from hermes.core.events import EntryAdded, Notice, TurnEnded, TurnStarted
from hermes.core.ids import SessionId
from hermes.core.inputs import Interrupt, Submit
from hermes.core.people import Origin
from hermes.ports.model import Route
from hermes.ports.session import AgentSession
from hermes.surfaces.cli.services import RunChoice, Services
from hermes.system.files import write_atomic
from hermes.system.i18n import t

INTERRUPTED = 130


async def oneshot(
    text: str,
    services: Services,
    run: RunChoice,
    *,
    session: SessionId | None,
    usage_file: Path | None,
    quiet: bool,
) -> int:
    """Say `text` in a session and print the answer; `quiet` leaves out the session line."""
    origin = Origin(surface=run.surface)
    cwd = str(Path.cwd())
    async with services.host(run) as host, host.open(session, origin, cwd=cwd) as live:
        ended, calls = await _turn(live, text, origin)
        _print(services, ended)
        if live.route.demo:
            print(t("cli.demo_answer", model=live.route.model), file=sys.stderr)
        if not quiet:
            print(t("cli.session_line", id=live.id), file=sys.stderr)
        if usage_file is not None:
            write_atomic(usage_file, _usage(live.id, live.route, ended, calls))
    if ended.why == "interrupted":
        return INTERRUPTED
    return 0 if ended.why == "finished" else 1


async def _turn(live: AgentSession, text: str, origin: Origin) -> tuple[TurnEnded, int]:
    """Run one turn; a first Ctrl-C or TERM stops it, a second one leaves at once."""
    calls = 0
    async with live.events() as events, anyio.create_task_group() as group:
        await group.start(_on_signal, live)
        number = await live.send(Submit(text=text, origin=origin))
        ours = False
        async for event in events:
            match event:
                case TurnStarted(input=input):
                    # What waited from an earlier run is answered first, and is not our answer.
                    ours = input == number
                case _ if not ours:
                    pass
                case EntryAdded(entry=AssistantEntry(stop=stop)) if stop != "cancelled":
                    calls += 1
                case Notice(text=notice):
                    print(notice, file=sys.stderr)
                case TurnEnded():
                    group.cancel_scope.cancel()
                    return event, calls
    raise KeyboardInterrupt


async def _on_signal(live: AgentSession, *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        stopping = False
        async for _ in signals:
            if stopping:
                raise KeyboardInterrupt
            stopping = True
            await live.send(Interrupt())


def _print(services: Services, ended: TurnEnded) -> None:
    answered = ended.why == "finished" or ended.detail not in ("", ended.text)
    if answered:
        sys.stdout.write(ended.text.rstrip("\n") + "\n")
        sys.stdout.flush()
    reason = ended.detail if answered else ended.text
    if reason and ended.why != "finished":
        print(services.redact(reason), file=sys.stderr)


def _usage(id: SessionId, route: Route, ended: TurnEnded, calls: int) -> bytes:
    """The keys of the reference's `--usage-file`, as far as they have a meaning here."""
    usage = ended.usage
    known = usage.cost_usd is not None
    keys: dict[str, Any] = {
        "session_id": id,
        "model": route.model,
        "provider": route.provider,
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cached,
        "cache_write_tokens": usage.cache_write,
        "reasoning_tokens": usage.thinking,
        "total_tokens": usage.input + usage.output,
        "api_calls": calls,
        "estimated_cost_usd": usage.cost_usd,
        "cost_status": "known" if known else "unknown",
        "completed": ended.why == "finished",
        "interrupted": ended.why == "interrupted",
        "failed": ended.why not in ("finished", "interrupted"),
        "turn_exit_reason": ended.why,
    }
    return json.dumps(keys, indent=2).encode() + b"\n"
