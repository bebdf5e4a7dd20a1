"""Reasoning kept apart from the answer while it streams, whatever the chunks.

A tag opens a block of reasoning only where a line begins and outside code fences, so that an answer
may speak about tags. A block that is never closed lasts to the end. A closing tag on its own (the
chat template had opened the block in the prompt) makes all before it reasoning.
"""

import re
from collections.abc import Iterator
from typing import Final

from hermes.core.events import Channel

_NAMES: Final = (
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "reflection",
    "reasoning_scratchpad",
    "antthinking",
    "ant_thinking",
    "seed:think",
    "思考",
    "思考过程",
    "思维",
    "推理",
    "推理过程",
    "思维链",
    "推論",
    "思索",
    "考え",
    "생각",
    "사고",
    "추론",
    "réflexion",
    "pensée",
    "pensamiento",
    "razonamiento",
    "raciocínio",
    "pensamento",
    "pensamentos",
    "pensiero",
    "ragionamento",
    "gedanken",
    "denken",
    "überlegung",
    "überlegungen",
    "raisonnement",
    "réfléchir",
    "reflexión",
    "reflexão",
    "размышление",
    "размышления",
    "рассуждение",
    "рассуждения",
    "мысль",
    "мысли",
    "роздуми",
    "myślenie",
    "düşünce",
    "suy nghĩ",
    "तर्क",
    "सोच",
    "تفكير",
    "חשיבה",
)
TAGS: Final[tuple[tuple[str, str], ...]] = (
    *((f"<{name}>", f"</{name}>") for name in _NAMES),
    ("◁think▷", "◁/think▷"),
    ("[think]", "[/think]"),
    ("<|think|>", "<|/think|>"),
    ("<|start_thinking|>", "<|end_thinking|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
)
"""Opening and closing marks of reasoning, lower case."""

_CLOSE_OF: Final = dict(TAGS)
_FENCES: Final = ("```", "~~~")
_MARKS: Final = (*_CLOSE_OF, *_CLOSE_OF.values(), *_FENCES)
_LONGEST: Final = max(map(len, _MARKS))
_FIRST: Final = re.compile("[" + re.escape("".join({mark[0] for mark in _MARKS})) + "]")
_VISIBLE: Final = re.compile("|".join(map(re.escape, _MARKS)), re.IGNORECASE)
_REST_OF_LINE: Final = re.compile(r"[ \t]*(\r?\n|\Z)")
_BLANKS: Final = re.compile(r"[ \t]*\r?\Z")


class ThinkingSplitter:
    """Splits one reply's text into channels.

    `feed` and `end` yield what has become certain. `visible` and `thinking` are the whole texts so
    far; together they hold every character except the tags. They differ from the sum of what was
    yielded in one case only: a lone closing tag turns what was yielded as answer into reasoning.
    """

    def __init__(self) -> None:
        self._pending = ""
        self._parts: dict[Channel, list[str]] = {"answer": [], "thinking": []}
        self._close = ""
        self._fence = ""
        self._line_blank = True
        self._opened = False

    @property
    def visible(self) -> str:
        return "".join(self._parts["answer"])

    @property
    def thinking(self) -> str:
        return "".join(self._parts["thinking"])

    def feed(self, text: str) -> Iterator[tuple[str, Channel]]:
        """Take more text of the reply."""
        self._pending += text
        yield from self._advance(final=False)

    def reason(self, text: str) -> tuple[str, Channel]:
        """Take text that the server itself calls reasoning."""
        return self._emit(text, "thinking")

    def end(self) -> Iterator[tuple[str, Channel]]:
        """There is no more text: what was held back is decided."""
        yield from self._advance(final=True)

    def _emit(self, text: str, channel: Channel) -> tuple[str, Channel]:
        self._parts[channel].append(text)
        if channel == "answer":
            _, newline, line = text.rpartition("\n")
            self._line_blank = (bool(newline) or self._line_blank) and not line.strip()
        return text, channel

    def _take(self, end: int, channel: Channel) -> Iterator[tuple[str, Channel]]:
        text, self._pending = self._pending[:end], self._pending[end:]
        if text:
            yield self._emit(text, channel)

    def _advance(self, *, final: bool) -> Iterator[tuple[str, Channel]]:
        while self._pending:
            if self._close:
                match = re.search(re.escape(self._close), self._pending, re.IGNORECASE)
                if match is None:
                    yield from self._take(self._certain((self._close,), final), "thinking")
                    return
                yield from self._take(match.start(), "thinking")
                self._pending = self._pending[len(match.group()) :]
                self._close = ""
                continue
            match = _VISIBLE.search(self._pending)
            if match is None:
                yield from self._take(self._certain(_MARKS, final), "answer")
                return
            yield from self._take(match.start(), "answer")
            mark = match.group().lower()
            if mark in _CLOSE_OF.values() and not self._fence and not self._line_blank:
                after = self._pending[len(mark) :]
                if not final and _BLANKS.match(after):
                    return  # whether its line ends here is not known yet
            yield from self._mark(mark)

    def _mark(self, mark: str) -> Iterator[tuple[str, Channel]]:
        """Deal with the mark that the pending text begins with."""
        size = len(mark)
        if mark in _FENCES:
            if self._line_blank and self._fence in ("", mark):
                self._fence = "" if self._fence else mark
        elif not self._fence and mark in _CLOSE_OF and self._line_blank:
            self._pending = self._pending[size:]
            self._close, self._opened = _CLOSE_OF[mark], True
            return
        elif not self._fence and mark in _CLOSE_OF.values() and self._alone(size):
            self._pending = self._pending[size:]
            if not self._opened:
                self._parts["thinking"] += self._parts["answer"]
                self._parts["answer"] = []
                self._line_blank = self._opened = True
            return
        yield from self._take(size, "answer")

    def _alone(self, size: int) -> bool:
        return self._line_blank or _REST_OF_LINE.match(self._pending, size) is not None

    def _certain(self, marks: tuple[str, ...], final: bool) -> int:
        """How much of the pending text cannot be the beginning of one of `marks`."""
        size = len(self._pending)
        if final:
            return size
        for first in _FIRST.finditer(self._pending, max(0, size - _LONGEST + 1)):
            tail = self._pending[first.start() :].lower()
            if any(mark.startswith(tail) for mark in marks):
                return first.start()
        return size
