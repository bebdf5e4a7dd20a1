"""What a call of `terminal` asks for, checked; names and rules follow the reference's contract."""

import math
from typing import Final

from msgspec import Struct

from hermes.core.errors import ToolError
from hermes.core.text import clean
from hermes.ports.tool import Arguments
from hermes.tools.terminal.specs import LONGEST

SHORTEST_HEARTBEAT: Final = 60
"""Seconds between two signs of life at least."""


class Wanted(Struct, frozen=True, kw_only=True):
    """A checked call. `timeout` is seconds or None; `workdir` None means the session's folder.

    `watch` are texts to look for in lines of output. `promoted` is the timeout that moved the
    command to the background.
    """

    command: str
    timeout: float | None
    workdir: str | None
    background: bool
    terminal: bool
    notify: bool
    watch: tuple[str, ...]
    heartbeat: int
    persist: bool
    promoted: bool = False


class Unrun(Exception):
    """A refusal that the contract tells with the keys of a result."""


def wanted(arguments: Arguments) -> Wanted:
    """Raises ToolError and Unrun for a call that cannot be done."""
    command, workdir = arguments.get("command"), arguments.get("workdir")
    if command is None and "code" in arguments:
        raise ToolError("terminal takes `command`, a bash command, not `code`.")
    if not isinstance(command, str):
        raise Unrun("command must be a string; nothing was run.")
    if workdir is not None and not isinstance(workdir, str):
        raise Unrun("workdir must be a string; nothing was run.")
    timeout = _seconds(arguments.get("timeout"))
    heartbeat = _heartbeat(arguments.get("heartbeat"))
    notify, watch = _notify(arguments)
    background = _flag(arguments, "background")
    asked = {
        "notify": notify or bool(watch),
        "pty": _flag(arguments, "pty"),
        "persist_on_release": _flag(arguments, "persist_on_release"),
    }
    promoted = not background and timeout is not None and timeout > LONGEST
    if not background and not promoted and (name := next((k for k in asked if asked[k]), None)):
        raise ToolError(f"{name} is for background=true only; nothing was run.")
    return Wanted(
        command=clean(command),
        timeout=timeout,
        workdir=clean(workdir) if workdir else None,
        background=background or promoted,
        terminal=asked["pty"],
        notify=notify or promoted,
        watch=watch,
        heartbeat=max(heartbeat, SHORTEST_HEARTBEAT) if heartbeat else 0,
        persist=asked["persist_on_release"],
        promoted=promoted,
    )


def _flag(arguments: Arguments, name: str) -> bool:
    value = arguments.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    if str(value).strip().lower() in ("true", "false"):
        return str(value).strip().lower() == "true"
    raise ToolError(f"{name} must be true or false, not {value!r}; nothing was run.")


def _seconds(value: object) -> float | None:
    if value is None:
        return None
    try:
        seconds = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise Unrun(f"timeout must be a number of seconds, not {value!r}; nothing was run.")
    if seconds <= 0:
        raise ToolError("timeout must be more than 0 seconds; nothing was run.")
    return seconds


def whole_number(value: object) -> int | None:
    """`value` if it is a whole number, be it as a text or as 5.0, else None."""
    try:
        number = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        return None
    return int(number) if number.is_integer() else None


def _heartbeat(value: object) -> int:
    seconds = 0 if value is None or value == "" else whole_number(value)
    if seconds is None or seconds < 0:
        raise ToolError(f"heartbeat must be whole seconds, not {value!r}; nothing was run.")
    return seconds


def _notify(arguments: Arguments) -> tuple[bool, tuple[str, ...]]:
    """Whether the end is to be told, and the texts to watch for; older names are understood."""
    value = arguments.get("notify")
    patterns = arguments.get("watch_patterns")
    if isinstance(value, list):
        value, patterns = None, value
    if value is not None and not isinstance(value, bool):
        raise ToolError("notify must be true, false or a list of texts; nothing was run.")
    patterns = [] if patterns is None else patterns
    if not isinstance(patterns, list) or not all(isinstance(p, str) and p for p in patterns):
        raise ToolError("what to watch for must be a list of texts; nothing was run.")
    told = bool(value) or _flag(arguments, "notify_on_complete")
    return told, tuple(clean(pattern) for pattern in patterns)
