"""`hermes tools`: what a model can call, and calling it as a model would, without one."""

import argparse
import json
import math
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from hermes.core.errors import UserError
from hermes.surfaces.cli.services import DirectCalls, Services
from hermes.surfaces.kit.columns import columns
from hermes.surfaces.kit.plain import printable
from hermes.surfaces.kit.stdin import input_lines
from hermes.system.i18n import t


class _BadLine(Exception):
    """An input that is no call; says why."""


def list_(_: argparse.Namespace, services: Services) -> int:
    """Print every tool: name, toolset, effects, what it does in a sentence."""
    rows = [t("verbs.tools_head").split("|")]
    for spec in services.tools():
        does = " ".join(spec.schema.description.split())
        sentence = re.split(r"(?<=[.!?]) ", does, maxsplit=1)[0]
        rows.append([spec.name, spec.toolset, spec.effects, sentence])
    print("\n".join(printable(line) for line in columns(rows)))
    return 0


async def call(options: argparse.Namespace, services: Services) -> int:
    """Call one tool, or those that stdin names, and print what a model would receive."""
    if options.jsonl == bool(options.name):
        raise UserError(t("verbs.name_or_jsonl"), hint=t("verbs.name_or_jsonl_hint"))
    cwd = _folder(options.cwd)
    arguments = {} if options.jsonl else _arguments(options.arguments)
    async with services.direct(cwd=cwd, approve=options.approve == "all") as calls:
        if options.jsonl:
            await _lines(calls)
        else:
            _put(await calls.call(options.name, arguments))
    return 0


def _folder(named: str) -> str:
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise UserError(t("verbs.no_folder", path=named), hint=t("verbs.no_folder_hint"))
    return str(folder.resolve())


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        arguments = _json(text)
    except _BadLine as e:
        raise UserError(t("verbs.bad_arguments", why=e), hint=t("verbs.bad_arguments_hint")) from e
    if not isinstance(arguments, dict):
        raise UserError(
            t("verbs.bad_arguments", why=t("verbs.not_an_object")),
            hint=t("verbs.bad_arguments_hint"),
        )
    return arguments


async def _lines(calls: DirectCalls) -> None:
    """A call or a pause for each line of stdin; a line that is neither is answered and skipped."""
    number = 0
    async for line in input_lines():
        number += 1
        if not line.strip():
            continue
        try:
            wish = _wish(line)
        except _BadLine as e:
            _put(json.dumps({"error": f"line {number}: {e}"}, ensure_ascii=False))
            continue
        if isinstance(wish, float):
            await anyio.sleep(wish)
        else:
            _put(await calls.call(*wish))


def _wish(line: bytes) -> float | tuple[str, Mapping[str, Any]]:
    """Seconds to pause, or a tool and its arguments."""
    try:
        wish = _json(line.decode("utf-8"))
    except UnicodeDecodeError as e:
        raise _BadLine(f"not UTF-8 (byte {e.start})") from e
    match wish:
        case {"sleep": bool()}:
            pass
        case {"sleep": int() | float() as seconds, **rest} if not rest and seconds >= 0:
            try:
                return float(seconds)
            except OverflowError:
                pass
        case {"tool": str(tool), "args": dict(arguments)}:
            return tool, arguments
        case {"tool": str(tool), **rest} if not rest:
            return tool, {}
    raise _BadLine('expected {"tool": NAME, "args": {...}} or {"sleep": SECONDS}')


def _json(text: str) -> Any:
    def refuse(name: str) -> float:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse, parse_float=_finite)
    except (ValueError, RecursionError) as e:
        raise _BadLine(str(e)) from e


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large")
    return number


def _put(content: str) -> None:
    """One line: the string as it is, or as a JSON string if it has several lines itself."""
    if re.search(r"[\r\n]", content):
        content = json.dumps(content, ensure_ascii=False)
    sys.stdout.buffer.write(content.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()
