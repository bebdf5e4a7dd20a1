"""From what a tool returned to what a model reads: clean, whole or spilled, never cut silently."""

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from hermes.core.calls import Outcome, ToolCall, ToolResult
from hermes.core.text import clean
from hermes.ports.tool import ToolOutput, ToolSpec

PREVIEW: Final = 1_500
"""Characters of a spilled result that stay in the conversation."""

MOST: Final = 100_000
"""Characters of a result at most, whatever the window; a tool that bounds itself may say more."""

CHARS_PER_TOKEN: Final = 4

Spill = Callable[[bytes], Awaitable[Path]]


def error(message: str) -> str:
    """The JSON text of a failure: `{"error": message}`."""
    return json.dumps({"error": message}, ensure_ascii=False)


def refusal(call: ToolCall, message: str, outcome: Outcome) -> ToolResult:
    """The result of a call that did not run, or whose end nobody saw."""
    return ToolResult(call=call.id, content=error(clean(message)), outcome=outcome)


def blocked(call: ToolCall, spec: ToolSpec, message: str) -> ToolResult:
    """The result of a call that was not allowed, in the shape that its tool's results have."""
    keys = {**spec.denied, "error": clean(message)}
    return ToolResult(call=call.id, content=json.dumps(keys, ensure_ascii=False), outcome="denied")


@dataclass(frozen=True, slots=True)
class Budget:
    """Characters that a result, and the results of one step together, may have."""

    result: int
    step: int


def budget(window: int | None) -> Budget:
    """For a model with room for `window` tokens; the numbers are the reference's."""
    if window is None:
        return Budget(100_000, 200_000)
    characters = window * CHARS_PER_TOKEN
    return Budget(
        min(max(characters * 15 // 100, 8_000), 100_000),
        min(max(characters * 30 // 100, 16_000), 200_000),
    )


async def settle(
    call: ToolCall, output: ToolOutput, spec: ToolSpec, spill: Spill, limit: int
) -> ToolResult:
    """Bound the text by `limit` and `spec.result_chars`, or by the latter alone if that is more
    than the most that a budget gives; a longer one goes whole into a readable file."""
    content = clean(output.content)
    most = spec.result_chars if spec.result_chars > MOST else min(spec.result_chars, limit)
    if len(content) > most:
        content = await _spilled(content, spill)
    return ToolResult(call=call.id, content=content, outcome=output.outcome)


async def fit(results: Sequence[ToolResult], limit: int, spill: Spill) -> list[ToolResult]:
    """Spill the largest of `results` until all of them together have at most `limit` characters."""
    fitted = list(results)
    for place in sorted(range(len(fitted)), key=lambda i: -len(fitted[i].content)):
        content = fitted[place].content
        if sum(len(each.content) for each in fitted) <= limit or len(content) <= 2 * PREVIEW:
            break
        fitted[place] = replace(fitted[place], content=await _spilled(content, spill))
    return fitted


async def _spilled(content: str, spill: Spill) -> str:
    text = clean(lines_of(content))
    path = await spill(text.encode())
    head = text[:PREVIEW]
    if (newline := head.rfind("\n")) > PREVIEW // 2:
        head = head[:newline]
    return (
        f"<persisted-output>\nThe result has {len(text)} characters and is kept whole in "
        f"{path}; read it from there in pages. It begins:\n{head}\n</persisted-output>"
    )


def lines_of(content: str) -> str:
    """A result as text with real lines, which can be read in pages: JSON is one line."""
    try:
        return "\n".join(_lines(json.loads(content), ""))
    except (ValueError, RecursionError):
        return content


def _lines(value: Any, name: str) -> Iterator[str]:
    """`value` with its keys before it and the texts in it as they are."""
    match value:
        case dict() if value:
            for key, item in value.items():
                yield from _lines(item, f"{name}.{key}" if name else key)
        case list() if any(isinstance(item, dict | list | str) for item in value):
            for place, item in enumerate(value):
                yield from _lines(item, f"{name}[{place}]")
        case str() if "\n" in value:
            yield f"{name}:"
            yield value
        case str():
            yield f"{name}: {value}"
        case _:
            yield f"{name}: {json.dumps(value, ensure_ascii=False)}"
