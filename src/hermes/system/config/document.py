"""`config.yaml` as plain values and line numbers. Imports the YAML parser: only loaded when the
file has changed since it was last read, or is to be edited.

YAML 1.2: `on`, `off`, `yes` and `no` are text here, and become true or false where a key asks for
it. Dates are text. Values keep their `${NAME}` references.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from hermes.core.errors import ConfigError
from hermes.system.config.fault import broken
from hermes.system.i18n import t

_TAG = "tag:yaml.org,2002:"
_MOST_NODES = 100_000
_LARGEST_INT = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A parsed file: `tree` in plain values, `lines` from dotted key to line number, from 1."""

    tree: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


def compose(text: str, name: str) -> MappingNode | None:
    """The nodes of `text` with their positions, or None if it holds nothing.

    Raises ConfigError naming `name`, line, column and cause.
    """
    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        cause = " ".join(filter(None, (e.context, e.problem)))
        raise broken(name, mark.line + 1, mark.column + 1, cause) from e
    except ReaderError as e:
        line = text.count("\n", 0, e.position) + 1
        column = e.position - text.rfind("\n", 0, e.position)
        raise broken(name, line, column, t("config.bad_character", code=e.character)) from e
    except (YAMLError, RecursionError) as e:
        raise broken(name, 1, 1, type(e).__name__) from e
    if root is None or (isinstance(root, ScalarNode) and root.tag == f"{_TAG}null"):
        return None
    if not isinstance(root, MappingNode):
        raise broken(name, root.start_mark.line + 1, 1, t("config.not_a_mapping"))
    return root


def parse(text: str, name: str) -> Document:
    """The plain values of `text`; raises ConfigError as `compose` does, and for a key given
    twice, an alias that contains itself, a tag, or a file that unfolds to more than 100,000
    values."""
    root = compose(text, name)
    return Document() if root is None else _Reader(name).document(root)


@final
class _Reader:
    """One walk over the nodes of a file."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines: dict[str, int] = {}
        self._open: set[int] = set()
        self._count = 0

    def document(self, root: MappingNode) -> Document:
        return Document(tree=self._mapping(root, ""), lines=self._lines)

    def _value(self, node: Node, path: str) -> Any:
        self._count += 1
        if self._count > _MOST_NODES:
            raise self._fault(node, t("config.too_large"))
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if id(node) in self._open:
            raise self._fault(node, t("config.recursive"))
        self._open.add(id(node))
        try:
            if isinstance(node, MappingNode):
                return self._mapping(node, path)
            if isinstance(node, SequenceNode):
                return [self._value(item, f"{path}[{i}]") for i, item in enumerate(node.value)]
        finally:
            self._open.discard(id(node))
        raise self._fault(node, t("config.bad_tag", tag=node.tag))

    def _mapping(self, node: MappingNode, path: str) -> dict[str, Any]:
        if node.tag != f"{_TAG}map":
            raise self._fault(node, t("config.bad_tag", tag=node.tag))
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                raise self._fault(key, t("config.bad_key"))
            if key.tag == f"{_TAG}merge":
                for source in self._merged(value, path):
                    merged = {**source, **merged}
                continue
            name = str(key.value)
            if name in own:
                raise self._fault(key, t("config.twice", key=name))
            inner = f"{path}.{name}" if path else name
            self._lines[inner] = key.start_mark.line + 1
            own[name] = self._value(value, inner)
        return {**merged, **own}

    def _merged(self, node: Node, path: str) -> Iterator[dict[str, Any]]:
        for source in node.value if isinstance(node, SequenceNode) else [node]:
            value = self._value(source, path)
            if not isinstance(value, dict):
                raise self._fault(source, t("config.bad_merge"))
            yield value

    def _scalar(self, node: ScalarNode) -> Any:
        text = str(node.value)
        match str(node.tag).removeprefix(_TAG):
            case "str" | "timestamp" | "merge":
                return text
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int":
                return _integer(text)
            case "float":
                return _real(text)
            case _:
                raise self._fault(node, t("config.bad_tag", tag=node.tag))

    def _fault(self, node: Node, cause: str) -> ConfigError:
        mark = node.start_mark
        return broken(self._name, mark.line + 1, mark.column + 1, cause)


def _integer(text: str) -> int | str:
    """The number, or the text itself if it is larger than a cache of JSON can hold."""
    digits = text.replace("_", "")
    try:
        number = int(digits, 0)
    except ValueError:
        number = int(digits)
    return number if abs(number) <= _LARGEST_INT else text


def _real(text: str) -> float | str:
    """The number; `.inf` and `.nan` stay text, because no key can take them."""
    try:
        return float(text.replace("_", ""))
    except ValueError:
        return text
