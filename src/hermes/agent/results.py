"""From what a tool returned to what a model reads: clean, whole or spilled, never cut silently."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from hermes.core.calls import Outcome, ToolCall, ToolResult
from hermes.core.text import clean
from hermes.ports.tool import ToolOutput, ToolSpec

PREVIEW = 1_500
"""Characters of a spilled result that stay in the conversation."""

Spill = Callable[[bytes], Awaitable[Path]]


def error(message: str) -> str:
    """The JSON text of a failure: `{"error": message}`."""
    return json.dumps({"error": message}, ensure_ascii=False)


def refusal(call: ToolCall, message: str, outcome: Outcome) -> ToolResult:
    """The result of a call that did not run, or whose end nobody saw."""
    return ToolResult(call=call.id, content=error(clean(message)), outcome=outcome)


async def settle(call: ToolCall, output: ToolOutput, spec: ToolSpec, spill: Spill) -> ToolResult:
    """Bound the text by `spec.result_chars`; a longer one goes whole into a readable file."""
    content = clean(output.content)
    if len(content) > spec.result_chars:
        path = await spill(content.encode())
        head = content[:PREVIEW]
        if (newline := head.rfind("\n")) > PREVIEW // 2:
            head = head[:newline]
        content = (
            f"<persisted-output>\nThe result has {len(content)} characters and is kept whole in "
            f"{path}; read it from there in pages. It begins:\n{head}\n</persisted-output>"
        )
    return ToolResult(call=call.id, content=content, outcome=output.outcome)
