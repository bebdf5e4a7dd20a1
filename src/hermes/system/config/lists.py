"""Changes of one item of a list in the text of a YAML file that leave every other line as it is.

Nothing here is trusted: whoever calls it parses the result and compares.
"""

from typing import Any

from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from hermes.system.config.splice import Path, put, render


def append(text: str, root: MappingNode | None, path: Path, value: Any) -> str:
    """`text` with `value` as the last item of the list at `path`, which is made if need be."""
    node = _at(root, path)
    if not isinstance(node, SequenceNode) or (not node.value and not node.flow_style):
        return put(text, root, path, [value])
    if not node.value:
        end = node.end_mark.index - 1
        return text[:end] + render(value, flow=True) + text[end:]
    end = _end(text, node.value[-1])
    if node.flow_style:
        return f"{text[:end]}, {render(value, flow=True)}{text[end:]}"
    newline = "\r\n" if "\r\n" in text else "\n"
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop - (text[stop - 1] == "\r")
    indent = " " * node.start_mark.column
    return f"{text[:stop]}{newline}{indent}- {render(value)}{text[stop:]}"


def remove(text: str, root: MappingNode | None, path: Path, index: int) -> str:
    """`text` without item `index` of the list at `path`; an emptied list is `[]`."""
    node = _at(root, path)
    if not isinstance(node, SequenceNode):
        raise ValueError(path)  # noqa: TRY004  a place that cannot be spliced
    if len(node.value) == 1:
        return put(text, root, path, [])
    item = node.value[index]
    start, end = int(item.start_mark.index), _end(text, item)
    if not node.flow_style:
        start = text.rfind("\n", 0, start) + 1
        stop = text.find("\n", end)
        return text[:start] + text[len(text) if stop < 0 else stop + 1 :]
    if index:
        start = _end(text, node.value[index - 1])
    else:
        end = int(node.value[1].start_mark.index)
    return text[:start] + text[end:]


def _at(root: MappingNode | None, path: Path) -> Node | None:
    node: Node | None = root
    for name in path:
        if not isinstance(node, MappingNode):
            return None
        node = next((v for k, v in node.value if str(k.value) == name), None)
    return node


def _end(text: str, node: Node) -> int:
    """Where the text of an item ends, without what follows it on later lines."""
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    return start + len(text[start:end].rstrip())
