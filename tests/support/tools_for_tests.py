"""Small real tools, to drive the loop with."""

import json
from collections.abc import Callable
from typing import Any

import anyio

from hermes.core.transcript import ToolSchema
from hermes.ports.tool import Effects, SessionState, ToolContext, ToolOutput, ToolSpec


class Probe:
    """A tool that notes when it begins and ends, and does what `body` does."""

    def __init__(
        self,
        name: str,
        *,
        effects: Effects = "reads",
        body: Callable[[dict[str, Any]], Any] | None = None,
        result_chars: int = 100_000,
        touches: Callable[[dict[str, Any], SessionState], tuple[str, ...]] | None = None,
    ) -> None:
        schema = ToolSchema(
            name=name,
            description=f"Test tool {name}.",
            parameters=json.dumps({"type": "object", "properties": {"x": {"type": "string"}}}),
        )
        self.spec = ToolSpec(
            schema=schema, toolset="test", effects=effects, result_chars=result_chars
        )
        self.log: list[str] = []
        self._body = body
        self._touches = touches

    async def touches(self, arguments: Any, state: SessionState) -> tuple[str, ...]:
        return self._touches(dict(arguments), state) if self._touches else ()

    def summary(self, arguments: Any) -> str:
        return f"x={arguments.get('x')}"

    async def run(self, arguments: Any, context: ToolContext) -> ToolOutput:
        self.log.append(f"begin {arguments.get('x')}")
        result = f"did {arguments.get('x')}"
        if self._body is not None:
            made = self._body(dict(arguments))
            result = await made if hasattr(made, "__await__") else made
        self.log.append(f"end {arguments.get('x')}")
        if isinstance(result, ToolOutput):
            return result
        return ToolOutput(content=json.dumps({"output": result}))


def failing(name: str, message: str) -> Probe:
    """A tool that always fails with the same words."""
    return Probe(
        name,
        body=lambda _: ToolOutput(content=json.dumps({"error": message}), outcome="failed"),
    )


class Gate:
    """Holds a tool until the test lets it go, and says when the tool has got there."""

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self.open = anyio.Event()

    async def __call__(self, arguments: dict[str, Any]) -> str:
        self.reached.set()
        await self.open.wait()
        return "passed"
