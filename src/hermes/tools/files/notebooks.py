"""Jupyter notebooks as text: numbered cells and what they printed. Source: nbformat 3 to 5."""

import json
import re
from typing import Any, Final

_ANSI: Final = re.compile(r"\x1b\[[0-9;]*m")


def notebook_text(data: bytes) -> str | None:
    """The cells of a notebook, None if it is none."""
    try:
        found = json.loads(data)
        cells = found["cells"] if "cells" in found else found["worksheets"][0]["cells"]
        return "\n\n".join(_cell(number, cell) for number, cell in enumerate(cells, 1))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None


def _cell(number: int, cell: dict[str, Any]) -> str:
    parts = [f"[cell {number}: {cell['cell_type']}]"]
    source = _text(cell.get("source", cell.get("input", "")))
    if source:
        parts.append(source)
    for output in cell.get("outputs") or ():
        parts.append(f"[output of cell {number}]")
        parts += _output(output)
    return "\n".join(parts)


def _output(output: dict[str, Any]) -> list[str]:
    kind = output.get("output_type")
    if kind in ("error", "pyerr"):
        trace = _ANSI.sub("", "\n".join(output.get("traceback") or ()))
        return [trace or f"{output.get('ename')}: {output.get('evalue')}"]
    if kind == "stream":
        return [_text(output.get("text", "")).removesuffix("\n")]
    data = output.get("data", {})
    media = [n for n in data if n.startswith(("image/", "audio/", "video/", "application/pdf"))]
    shown = [f"[{name}: {len(_text(data[name]))} characters, not shown]" for name in media]
    for name in ("text/plain", "text/markdown", "text/html"):
        if name in data:
            return [*shown, _text(data[name]).removesuffix("\n")]
    return shown or ["[" + ", ".join(data) + ": not shown]"]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
