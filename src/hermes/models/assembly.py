"""Tool calls out of the fragments of a stream.

The law: any order, split or resend of the same calls, with ids, indexes, both or neither, gives the
same calls. A fragment finds its call by id, then by index, then as the last one; what a slot has
gathered is told apart at the end, when it is all there: one object, the same object sent again, a
row of growing snapshots, or several objects that no id held apart.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hermes.core.calls import Fault, ToolCall
from hermes.core.ids import CallId, IdSource
from hermes.core.text import clean
from hermes.models.arguments import Ending, decode_arguments, whole_object

MAX_ARGUMENTS: Final = 32 * 1024 * 1024
"""Characters of arguments in one reply; a model that passes this is not going to stop."""

KEPT_OF_TOO_LONG: Final = 2_000
UNNAMED: Final = "unnamed"
"""The tool of a call whose name never came."""


@dataclass(slots=True)
class _Slot:
    id: str
    index: int | None
    name: str = ""
    chunks: list[str] = field(default_factory=list)
    announced: bool = False
    too_long: bool = False


class CallAssembler:
    """Gathers the calls of one reply.

    `tools` maps each known tool to whether it needs no argument. `taken` holds ids of earlier
    calls in the conversation, which no new call may carry.
    """

    def __init__(
        self, tools: Mapping[str, bool], ids: IdSource, taken: Collection[str] = ()
    ) -> None:
        self._tools = tools
        self._ids = ids
        self._taken = set(taken)
        self._slots: list[_Slot] = []
        self._size = 0

    def __len__(self) -> int:
        return len(self._slots)

    def feed(
        self,
        *,
        id: object = None,
        index: object = None,
        name: object = None,
        arguments: object = None,
    ) -> str | None:
        """Take one fragment; returns a tool's name when its call has just become known."""
        at = index if isinstance(index, int) and not isinstance(index, bool) else None
        key = str(id) if id not in (None, "") else ""
        called = name if isinstance(name, str) else ""
        text = _as_text(arguments)
        slot = self._find(key, at, called)
        if slot is None:
            slot = _Slot(id=key, index=at)
            self._slots.append(slot)
        slot.id = slot.id or key
        slot.index = at if slot.index is None else slot.index
        if called:
            slot.name = self._named(slot, called)
        if text:
            self._add(slot, text)
        if not slot.announced and slot.name and (slot.chunks or slot.name in self._tools):
            slot.announced = True
            return slot.name
        return None

    def finish(self, ending: Ending) -> tuple[ToolCall, ...]:
        """The calls in the order of their indexes, or of their arrival."""
        slots = self._slots
        if all(slot.index is not None for slot in slots):
            slots = sorted(slots, key=lambda slot: slot.index or 0)
        return tuple(
            ToolCall(id=self._unique(slot.id), tool=tool, arguments=arguments, fault=fault)
            for slot in slots
            for tool, arguments, fault in self._read(slot, ending)
        )

    def _find(self, key: str, at: int | None, name: str) -> _Slot | None:
        if key:
            return self._by_id(key, at, name)
        same = [s for s in self._slots if at is None or s.index == at]
        if not same and not name:
            same = [s for s in self._slots if s.index is None]
        if not same:
            return None
        last = same[-1]
        return None if self._begins_another(last, name) else last

    def _by_id(self, key: str, at: int | None, name: str) -> _Slot | None:
        same = [s for s in self._slots if s.id == key]
        for slot in same:
            if at is None or slot.index is None or slot.index == at:
                return slot
        if same and not name:
            return same[-1]
        if same:
            return None  # one id for two calls: the index holds them apart
        beside = [s for s in self._slots if s.index == at]
        if not beside:
            return None
        last = beside[-1]
        if not last.id:
            return None if self._begins_another(last, name) or _whole(last) else last
        # A server that makes up a new id for each fragment sends the name only once.
        return last if at is not None and not name and not _whole(last) else None

    def _begins_another(self, slot: _Slot, name: str) -> bool:
        """Whether `name`, in a fragment that looks like `slot`'s, starts a call of its own."""
        if not name or not slot.name or name == slot.name:
            return False
        known = slot.name in self._tools and name in self._tools
        if slot.chunks and known:
            return True
        if slot.name + name in self._tools or name.startswith(slot.name):
            return False
        return bool(slot.chunks) or known

    def _named(self, slot: _Slot, name: str) -> str:
        """The name of `slot` now: sent in pieces, sent again, or sent again and longer."""
        old = slot.name
        if old + name in self._tools and (old not in self._tools or old != name):
            return old + name
        if not old or name in self._tools or (old not in self._tools and name.startswith(old)):
            return name
        return old if old in self._tools or slot.chunks else old + name

    def _add(self, slot: _Slot, text: str) -> None:
        self._size += len(text)
        if self._size > MAX_ARGUMENTS:
            slot.too_long = True
            slot.chunks = ["".join(slot.chunks)[:KEPT_OF_TOO_LONG]]
        if not slot.too_long:
            slot.chunks.append(text)

    def _read(self, slot: _Slot, ending: Ending) -> Iterator[tuple[str, str, Fault | None]]:
        tool = clean(slot.name).strip()
        if slot.too_long:
            yield tool or UNNAMED, clean(slot.chunks[0]), "too_long"
            return
        text = "".join(slot.chunks)
        if tool and (whole := whole_object(text)) is not None:
            yield tool, whole, None
            return
        for text in _objects(slot.chunks, apart=not slot.id):
            arguments, fault = decode_arguments(
                text, ending, needs_nothing=self._tools.get(tool, False)
            )
            yield tool or UNNAMED, arguments, fault if tool else (fault or "malformed")

    def _unique(self, wanted: str) -> CallId:
        base = clean(wanted) or self._ids.call()
        name, count = base, 1
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return CallId(name)


def _as_text(arguments: object) -> str:
    match arguments:
        case None:
            return ""
        case str():
            return arguments
        case _:
            return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def _whole(slot: _Slot) -> bool:
    text = "".join(slot.chunks)
    return text.rstrip().endswith("}") and bool(_values(text)[0])


def _objects(chunks: list[str], *, apart: bool) -> list[str]:
    """The argument texts in what one slot gathered; more than one only if `apart` allows it."""
    text = "".join(chunks)
    if whole_object(text) is not None or not text.strip():
        return [text]
    values, rest = _values(text)
    if len(values) > 1 and values[0] == "{}":
        values = values[1:]  # a placeholder that some servers send before the arguments
    distinct = [v for i, v in enumerate(values) if i == 0 or not _equal(v, values[i - 1])]
    if distinct and not rest and (len(distinct) == 1 or apart):
        return distinct
    if distinct and rest and apart and rest.startswith("{"):
        return [*distinct, rest]
    if len(chunks) > 1 and _snapshots(chunks):
        return [chunks[-1]]
    return [text]


def _values(text: str) -> tuple[list[str], str]:
    """The complete JSON objects that `text` begins with, and what is left after them."""
    decoder = json.JSONDecoder()
    found: list[str] = []
    position = len(text) - len(text.lstrip())
    while position < len(text) and text[position] == "{":
        try:
            _, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        found.append(text[position:end])
        position = end
        while position < len(text) and text[position].isspace():
            position += 1
    return found, text[position:]


def _equal(one: str, other: str) -> bool:
    a: Any = json.loads(one)
    b: Any = json.loads(other)
    return bool(a == b)


def _snapshots(chunks: list[str]) -> bool:
    return all(chunks[i].startswith(chunks[i - 1]) for i in range(1, len(chunks)))
