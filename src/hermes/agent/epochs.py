"""The making of an epoch: prompt, tools and model are read once, then frozen."""

from hermes.agent.limits import Parts
from hermes.core.people import Origin
from hermes.core.transcript import Epoch, EpochReason, ToolSchema


def schemas(parts: Parts) -> tuple[ToolSchema, ...]:
    """The tools as a model is told of them, in the order of their names."""
    return tuple(tool.spec.schema for _, tool in sorted(parts.tools.items()))


def new_epoch(parts: Parts, number: int, reason: EpochReason, origin: Origin, cwd: str) -> Epoch:
    """Epoch `number` of a session, as of now."""
    now, tools = parts.clock.now(), schemas(parts)
    prompt = parts.assembler.assemble(
        origin=origin, cwd=cwd, tools=tools, model=parts.model, now=now
    )
    return Epoch(
        number=number,
        prompt=prompt,
        tools=tools,
        model=parts.model,
        opened_at=now,
        reason=reason,
    )
