"""`hermes prompt-size`: what every request begins with, measured."""

import argparse
import json
import math
from typing import Final

from hermes.core.prompt import freeze
from hermes.core.transcript import ToolSchema
from hermes.surfaces.cli.services import RunChoice, Services
from hermes.surfaces.kit.columns import columns
from hermes.system.i18n import t

CHARS_PER_TOKEN: Final = 4
"""A rule of thumb for English text and JSON."""


def run(options: argparse.Namespace, services: Services) -> int:
    """Print the size of each section and each tool; JSON has the reference's keys, and more."""
    choice = RunChoice(surface="cli")
    sections, tools = services.prompt(choice)
    route = services.route(choice)
    prompt = freeze(sections).text
    measured = {tool.name: len(_json(tool).encode()) for tool in tools}
    size = len(prompt) + sum(len(_json(tool)) for tool in tools)
    if options.json:
        parts = [(s.name, len(s.text), len(s.text.encode())) for s in sections]
        keys = {
            "platform": choice.surface,
            "model": route.model if route else "",
            "system_prompt": {"chars": len(prompt), "bytes": len(prompt.encode())},
            "tools": {"count": len(tools), "json_bytes": sum(measured.values())},
            "sections": parts,
            "tool_bytes": measured,
            "estimated_tokens": _tokens(size),
        }
        print(json.dumps(keys, indent=2))
        return 0
    rows = [t("verbs.size_head").split("|")]
    rows += [_row(s.name, len(s.text), len(s.text.encode())) for s in sections]
    rows += [_row(tool.name, len(_json(tool)), measured[tool.name]) for tool in tools]
    whole = len(prompt.encode()) + sum(measured.values())
    rows.append(_row(t("verbs.size_total"), size, whole))
    print("\n".join(columns(rows, right={1, 2, 3})))
    return 0


def _json(tool: ToolSchema) -> str:
    """The tool as it stands in a request, but for the wire's own wrapping."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": json.loads(tool.parameters),
    }
    return json.dumps(function, ensure_ascii=False, separators=(",", ":"))


def _row(name: str, chars: int, size: int) -> list[str]:
    return [name, str(chars), str(size), str(_tokens(chars))]


def _tokens(chars: int) -> int:
    return math.ceil(chars / CHARS_PER_TOKEN)
