"""Changes of one key in the text of a YAML file that leave every other line as it is.

Nothing here is trusted: whoever calls it parses the result and compares. A place that cannot be
spliced gives a text that does not compare, and is refused.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from ruamel.yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

_STEP = 2
_PLAIN = re.compile(r"(?:[A-Za-z]|\.?/|~/)[\w./@+=~-]*(?::[\w./@+=~-]+)*", re.ASCII)
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")

Path = tuple[str, ...]
"""The names from the root to a key; a name may have dots in it."""


def find(root: MappingNode | None, key: str) -> Path:
    """The path of a dotted key, where the file's own names decide what its dots mean."""
    rest, path, node = key, [], root
    while isinstance(node, MappingNode):
        names = sorted((str(k.value) for k, _ in node.value), key=len, reverse=True)
        name = next((n for n in names if rest == n or rest.startswith(f"{n}.")), None)
        if name is None:
            break
        path.append(name)
        if rest == name:
            return tuple(path)
        rest = rest[len(name) + 1 :]
        node = next(v for k, v in node.value if str(k.value) == name)
    return (*path, *rest.split("."))


def put(text: str, root: MappingNode | None, path: Path, value: Any) -> str:
    """`text` with `value` at `path`: in place of what is there, or on new lines at the end of the
    section it belongs to."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if root is None:
        head = text if not text or text.endswith("\n") else text + newline
        return head + newline.join(_block(path, value, 0)) + newline
    at = root
    for i, name in enumerate(path):
        pair = _pair(at, name)
        if pair is None:
            return _insert(text, at, path[i:], value, newline)
        below = pair[1]
        if i == len(path) - 1:
            start, end = _span(text, *pair)
            space = " " if text[start - 1 : start] == ":" else ""
            return text[:start] + space + render(value, flow=bool(at.flow_style)) + text[end:]
        if not isinstance(below, MappingNode):
            return _insert_below(text, pair, path[i + 1 :], value, newline)
        at = below
    raise ValueError(path)


def take(text: str, root: MappingNode, path: Path) -> tuple[str, Path]:
    """`text` without the key at `path`, and what was taken: a section that would be left empty
    goes too."""
    maps = [root]
    for name in path[:-1]:
        pair = _pair(maps[-1], name)
        assert pair is not None and isinstance(pair[1], MappingNode)
        maps.append(pair[1])
    if maps[-1].flow_style:
        return _take_from_flow(text, maps[-1], path[-1]), path
    depth = len(path) - 1
    pair = _pair(maps[depth], path[depth])
    assert pair is not None
    regions = [(_line_start(text, pair[0].start_mark.index), _after(text, _span(text, *pair)[1]))]
    while depth and len(maps[depth].value) == 1 and not maps[depth - 1].flow_style:
        depth -= 1
        pair = _pair(maps[depth], path[depth])
        assert pair is not None
        start = pair[0].start_mark.index
        regions.append((_line_start(text, start), _after(text, start)))
    for start, end in regions:
        text = text[:start] + text[end:]
    return text, path[: depth + 1]


def render(value: Any, *, flow: bool = False) -> str:
    """`value` on one line, in a spelling that YAML 1.1 and 1.2 read alike."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return str(int(value)) if value.is_integer() else repr(value)
        case str():
            return _text(value, flow=flow)
        case dict():
            inner = (f"{_text(k, flow=True)}: {render(v, flow=True)}" for k, v in value.items())
            return "{" + ", ".join(inner) + "}"
        case _:
            return "[" + ", ".join(render(v, flow=True) for v in value) + "]"


def _text(value: str, *, flow: bool) -> str:
    plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
    if plain or (not flow and _REFERENCE.fullmatch(value)):
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda m: f"\\u{ord(m[0]):04x}", quoted)


def _block(path: Sequence[str], value: Any, column: int) -> list[str]:
    lines = [
        " " * (column + i * _STEP) + _text(name, flow=False) + ":" for i, name in enumerate(path)
    ]
    lines[-1] += " " + render(value)
    return lines


def _insert(text: str, at: MappingNode, path: Path, value: Any, newline: str) -> str:
    if at.flow_style:
        item = render(_nested(path, value), flow=True)[1:-1]
        end = at.end_mark.index - 1
        if at.value:
            end = _span(text, *at.value[-1])[1]
            item = f", {item}"
        return text[:end] + item + text[end:]
    end = _line_end(text, _end(text, at))
    lines = _block(path, value, at.start_mark.column)
    return text[:end] + newline + newline.join(lines) + text[end:]


def _insert_below(text: str, pair: tuple[Node, Node], path: Path, value: Any, newline: str) -> str:
    """Give a key that holds nothing, or one text that stands for `default`, a section."""
    key, below = pair
    start, end = _span(text, key, below)
    column = key.start_mark.column + _STEP
    lines = _block(path, value, column)
    held = text[start:end]
    if below.tag != "tag:yaml.org,2002:null":
        lines.insert(0, f"{' ' * column}default: {held}")
    rest = text[end : _line_end(text, end)]
    head = text[:start].rstrip(" ") + (rest and f"  {rest.strip()}" if rest.strip() else "")
    return head + newline + newline.join(lines) + text[_line_end(text, end) :]


def _nested(path: Path, value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _take_from_flow(text: str, at: MappingNode, name: str) -> str:
    index = next(i for i, (k, _) in enumerate(at.value) if str(k.value) == name)
    start = at.value[index][0].start_mark.index
    end = _span(text, *at.value[index])[1]
    if index + 1 < len(at.value):
        end = at.value[index + 1][0].start_mark.index
    elif index:
        start = _span(text, *at.value[index - 1])[1]
    return text[:start] + text[end:]


def _pair(at: MappingNode, name: str) -> tuple[Node, Node] | None:
    return next(((k, v) for k, v in at.value if str(k.value) == name), None)


def _span(text: str, key: Node, value: Node) -> tuple[int, int]:
    """Where the value of `key` is written. For an empty value, and for an alias (whose node is
    elsewhere), that is what stands behind the colon."""
    colon = text.find(":", int(key.end_mark.index)) + 1
    alias = value.start_mark.index < colon
    if alias or value.start_mark.index == value.end_mark.index:
        written = re.compile(r"[ \t]*\*[^\s,\]}]+").match(text, colon) if alias else None
        return colon, written.end() if written else colon
    if isinstance(value, ScalarNode) or _flow(value):
        return int(value.start_mark.index), _end(text, value)
    return colon, _end(text, value)


def _end(text: str, node: Node) -> int:
    """Where a node's own text ends, without the blank lines and comments that follow it."""
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    if isinstance(node, ScalarNode) or _flow(node):
        return start + len(text[start:end].rstrip())
    lines = text[start:end].splitlines(keepends=True)
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return start + len("".join(lines).rstrip())


def _flow(node: Node) -> bool:
    return isinstance(node, CollectionNode) and bool(node.flow_style)


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _line_end(text: str, index: int) -> int:
    end = text.find("\n", index)
    end = len(text) if end < 0 else end
    return end - 1 if text[end - 1 : end] == "\r" and end > index else end


def _after(text: str, index: int) -> int:
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1
