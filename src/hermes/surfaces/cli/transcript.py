"""A saved conversation in words: for a terminal, for Markdown, and as plain JSON values."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from hermes.core.calls import Persisted, ToolCall, ToolResult
from hermes.core.content import thoughts, visible
from hermes.core.entries import AssistantEntry, Entry, ToolBatchEntry, UserEntry
from hermes.core.errors import ConfigError
from hermes.core.people import HARNESS
from hermes.ports.store import SessionRow
from hermes.surfaces.kit.columns import shortened
from hermes.surfaces.kit.plain import printable
from hermes.system.i18n import t

ARGUMENTS, RESULT = 100, 160
"""Columns that a call and its result may take in the readable transcript."""

Mask = Callable[[str], str]
Block = tuple[str, float | None, str]
"""Who, when (None: not told), what."""


def zone(name: str) -> tzinfo | None:
    """The time zone `name`, None (the machine's own) for an empty one; raises ConfigError."""
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as e:
        raise ConfigError(t("verbs.no_zone", name=repr(name)), hint=t("verbs.no_zone_hint")) from e


def moment(at: float, where: tzinfo | None) -> str:
    """`at`, seconds since the epoch, for people."""
    return datetime.fromtimestamp(at, UTC).astimezone(where).strftime("%Y-%m-%d %H:%M")


def iso(at: float) -> str:
    """`at`, seconds since the epoch, in ISO 8601 and UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def plain(row: SessionRow, mask: Mask) -> dict[str, object]:
    """A session's row in plain JSON values."""
    return {
        "id": row.id,
        "source": row.source,
        "title": mask(row.title),
        "preview": mask(row.preview),
        "model": row.model,
        "cwd": row.cwd,
        "started_at": iso(row.started_at),
        "active_at": iso(row.active_at),
        "entries": row.entries,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "cost_usd": row.cost_usd,
    }


def as_json(row: SessionRow, receipt: Persisted[Entry], mask: Mask) -> str:
    """An entry as one line of JSON; nothing in it can steer a terminal."""
    entry = receipt.value
    values = {
        "session_id": row.id,
        "seq": receipt.seq,
        "at": iso(entry.at),
        "turn": entry.turn,
        **_values(entry, mask),
    }
    text = json.dumps(values, ensure_ascii=False)
    return text.translate({code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)})


def _values(entry: Entry, mask: Mask) -> dict[str, object]:
    match entry:
        case UserEntry():
            return {
                "role": "user",
                "content": mask(visible(entry.content)),
                "origin": entry.origin.surface,
            }
        case AssistantEntry(usage=usage):
            return {
                "role": "assistant",
                "content": mask(visible(entry.content)),
                "thinking": mask(thoughts(entry.content)),
                "calls": [_call(call, mask) for call in entry.calls],
                "model": entry.model,
                "stop": entry.stop,
                "usage": {
                    "input_tokens": usage.input,
                    "output_tokens": usage.output,
                    "cache_read_tokens": usage.cached,
                    "cache_write_tokens": usage.cache_write,
                    "reasoning_tokens": usage.thinking,
                    "cost_usd": usage.cost_usd,
                },
            }
        case ToolBatchEntry():
            return {
                "role": "tool",
                "content": mask(entry.steer),
                "notice": mask(entry.notice),
                "results": [
                    {"call": r.call, "outcome": r.outcome, "content": mask(r.content)}
                    for r in entry.results
                ],
            }


def _call(call: ToolCall, mask: Mask) -> dict[str, object]:
    arguments = mask(call.arguments)
    return {"id": call.id, "tool": call.tool, "arguments": arguments, "fault": call.fault}


def readable(entries: Iterable[Entry], where: tzinfo | None, mask: Mask) -> Iterator[str]:
    """The conversation as lines for a terminal; calls and results take one line each."""
    for who, at, text in _blocks(entries, lambda c, r: _brief(c, r, mask)):
        yield f"{who}  {moment(at, where)}" if at is not None else who
        yield from (f"  {line}".rstrip() for line in printable(mask(text)).splitlines())
        yield ""


def markdown(
    row: SessionRow, entries: Iterable[Entry], where: tzinfo | None, mask: Mask
) -> Iterator[str]:
    """The conversation as lines of Markdown, with everything that was said, whole."""
    yield f"# {printable(mask(' '.join((row.title or row.preview or row.id).split())))}"
    yield ""
    yield f"{row.id} · {row.source} · {row.model} · {moment(row.started_at, where)}"
    yield ""
    for who, at, text in _blocks(entries, lambda c, r: _whole(c, r, mask)):
        yield f"## {who}" + (f" · {moment(at, where)}" if at is not None else "")
        yield ""
        yield printable(mask(text)).rstrip()
        yield ""


def _blocks(
    entries: Iterable[Entry], tell: Callable[[ToolCall, ToolResult | None], str]
) -> Iterator[Block]:
    calls: tuple[ToolCall, ...] = ()
    for entry in entries:
        match entry:
            case UserEntry(origin=origin):
                who = t("verbs.note") if origin == HARNESS else t("verbs.you")
                yield printable(who), entry.at, visible(entry.content)
            case AssistantEntry(stop="blank"):
                yield t("verbs.blank", model=printable(entry.model)), entry.at, ""
            case AssistantEntry():
                name = "verbs.cut_short" if entry.stop == "cancelled" else "verbs.model"
                who, text = t(name, model=printable(entry.model)), visible(entry.content)
                calls = entry.calls
                if text.strip() or not calls:
                    yield who, entry.at, text
            case ToolBatchEntry():
                results = {result.call: result for result in entry.results}
                told = (tell(call, results.get(call.id)) for call in calls)
                yield t("verbs.calls"), entry.at, "\n".join(told)
                calls = ()
                if entry.notice:
                    yield t("verbs.note"), None, entry.notice
                if entry.steer:
                    yield t("verbs.meanwhile"), None, entry.steer
    if calls:
        yield t("verbs.calls"), None, "\n".join(tell(call, None) for call in calls)


def _outcome(result: ToolResult | None) -> str:
    return t(f"verbs.outcome_{result.outcome if result else 'none'}")


def _brief(call: ToolCall, result: ToolResult | None, mask: Mask) -> str:
    # Masked whole: a secret that is cut in half is no longer known for one.
    head = f"{call.tool} {shortened(mask(call.arguments), ARGUMENTS)} [{_outcome(result)}]"
    if result is None:
        return head
    return f"{head}\n    {shortened(mask(result.content), RESULT)}"


def _whole(call: ToolCall, result: ToolResult | None, mask: Mask) -> str:
    parts = [f"`{call.tool}` {_outcome(result)}\n", _fenced(mask(call.arguments))]
    if result is not None:
        parts.append(_fenced(mask(result.content)))
    return "\n".join(parts)


def _fenced(text: str) -> str:
    """`text` between fences that are longer than any inside it."""
    longest = max(map(len, re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}\n"
