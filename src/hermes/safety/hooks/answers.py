"""What a hook's exit status and output mean; the contract is the reference's.

Of `pre_tool_call`: exit status 2 denies, with the standard error as the reason. Otherwise standard
output is empty or one JSON object with `action` or `decision`: `block` with `message` or `reason`,
`modify` with `args` or `tool_input`, `approve` (a person has to). Of the other events only
`{"context": text}` means anything. Whatever is neither is a failure and is named.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from hermes.ports.hooks import HookEvent
from hermes.ports.tool import Arguments
from hermes.safety.hooks.run import Ran
from hermes.system.i18n import t

DENIED: Final = 2
MESSAGE_CHARACTERS: Final = 4_000
CONTEXT_CHARACTERS: Final = 20_000
NOTHING: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one hook said; `failure` is a sentence about why it said nothing, else empty."""

    decision: Literal["pass", "ask", "deny"] = "pass"
    message: str = ""
    changes: Arguments | None = None
    context: str = ""
    failure: str = ""


def read(event: HookEvent, ran: Ran) -> Reading:
    """The meaning of a run of a hook for `event`."""
    if ran.fault is not None:
        return Reading(failure=t(f"hooks.{ran.fault}", detail=ran.detail, seconds=ran.seconds))
    words = ran.stderr.decode("utf-8", "replace").strip()
    if event == "pre_tool_call" and ran.exit_code == DENIED:
        return Reading(decision="deny", message=_clipped(words or _reason(ran.stdout)))
    said = _object(ran.stdout)
    if said is None and not ran.exit_code:
        return Reading(failure=t("hooks.garbage"))
    if said is None:
        said = NOTHING
    reading = _judged(said) if event == "pre_tool_call" else _told(said)
    if ran.exit_code and reading == Reading():
        status, last = ran.exit_code, words.rpartition("\n")[2][:200]
        return Reading(failure=t("hooks.exit", status=status, words=last).rstrip(" :"))
    return reading


def _judged(said: Mapping[str, Any]) -> Reading:
    decision = said.get("action") or said.get("decision")
    message = _text(said, "message", "reason")
    match decision:
        case "block" | "deny":
            return Reading(decision="deny", message=_clipped(message))
        case "approve" | "ask":
            return Reading(decision="ask", message=_clipped(message))
        case "modify":
            changes = said.get("args", said.get("tool_input"))
            if isinstance(changes, dict):
                return Reading(changes=changes)
            return Reading(failure=t("hooks.no_args"))
        case None | "" | "allow" | "continue" | "pass":
            return Reading()
    return Reading(failure=t("hooks.unknown_action", action=str(decision)[:40]))


def _told(said: Mapping[str, Any]) -> Reading:
    context = _text(said, "context")
    if len(context) > CONTEXT_CHARACTERS:
        return Reading(failure=t("hooks.long_context", limit=CONTEXT_CHARACTERS))
    return Reading(context=context)


def _object(data: bytes) -> Mapping[str, Any] | None:
    """The one JSON object that was printed, empty for nothing, None for anything else."""
    try:
        text = data.strip().decode("utf-8")
        said = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _reason(data: bytes) -> str:
    said = _object(data)
    return _text(said, "message", "reason") if said else ""


def _text(said: Mapping[str, Any], *names: str) -> str:
    return next((v.strip() for n in names if isinstance(v := said.get(n), str) and v.strip()), "")


def _clipped(message: str) -> str:
    if len(message) <= MESSAGE_CHARACTERS:
        return message or t("hooks.no_reason")
    return message[:MESSAGE_CHARACTERS] + " […]"
