"""Takes secrets out of a text before a model, a log or a screen sees it.

Masking is for output only: what a tool is given is never changed. Detectors (the modules beside
this one) find spans in the text as it came; the spans are merged and replaced in one pass, so no
detector sees another's masks. Text that is broken up by control or zero-width characters is
searched a second time without them.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final, Literal

from hermes.safety.redact_assignments import assignments, triggers
from hermes.safety.redact_blocks import addresses, form_body, headers, private_keys
from hermes.safety.redact_commands import prints_one_secret, prints_secrets
from hermes.safety.redact_manifests import secret_manifests
from hermes.safety.redact_mask import Span, carries_mask, holds_sentinel, whole
from hermes.safety.redact_tokens import literals, phones, tokens

__all__ = ["Mode", "Redactor", "carries_mask", "holds_sentinel"]

Mode = Literal["text", "file", "terminal", "code", "log"]
"""What the text is: anything (text), a file's content for a model that may write it back (file),
what a command printed (terminal), source code (code), a log or a debug file (log)."""

_SHORTEST_LITERAL: Final = 8
_ROUNDS: Final = 4
"""A mask may part what was one word and so lay bare a secret beside it, for the next round."""
_CONTROLS: Final = tuple(chr(c) for c in (*range(9), 11, 12, *range(14, 32), 127))


@cache
def _invisible() -> re.Pattern[str]:
    # Terminal sequences first, then single controls, then characters without width.
    return re.compile(
        r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)"
        r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u180b-\u180e\u200b-\u200f"
        r"\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]+"
    )


class Redactor:
    """Masks secrets; `secrets` are known values (8 characters or more) to mask wherever they are.

    A Redactor that is not `enabled` returns every text as it came.
    """

    def __init__(self, *, enabled: bool = True, secrets: Iterable[str] = ()) -> None:
        self._enabled = enabled
        known = {s for s in secrets if len(s) >= _SHORTEST_LITERAL}
        self._secrets = tuple(sorted(known, key=lambda s: (-len(s), s)))

    def redact(self, text: str, mode: Mode = "text") -> str:
        """`text` with its secrets masked; redacting the result again changes nothing.

        Text and log mode take every assignment to a secret name; the other modes only those whose
        value cannot be code. File and log mode mask with sentinels, which show nothing of a secret.
        """
        if not self._enabled or not text:
            return text
        for _ in range(_ROUNDS):
            masked = _apply(text, sorted(self._spans(text, mode)))
            if masked == text:
                break
            text = masked
        return text

    def terminal(self, output: str, command: str) -> str:
        """`output` of `command`: as text if that prints secrets by its nature, else as code."""
        masked = self.redact(output, "text" if prints_secrets(command) else "code")
        if self._enabled and prints_one_secret(command):
            # Words are a message of the command; a secret that stands alone has no blanks.
            lines = (line if " " in line else whole(line, False) for line in masked.split("\n"))
            return "\n".join(lines)
        return masked

    def _spans(self, text: str, mode: Mode) -> Iterator[tuple[int, int, int, str]]:
        """Start, end, rank of the detector and mask; the lowest rank names the mask."""
        loud, sentinel = mode in ("text", "log"), mode in ("file", "log")
        plain = text.replace("\0", "\n")
        yield from self._view(plain, loud=loud, sentinel=sentinel)
        if not _has_invisible(text):
            return
        visible, starts, shifts = _strip(plain)
        for start, end, rank, mask in self._view(visible, loud=loud, sentinel=sentinel):
            yield _place(start, starts, shifts), _place(end - 1, starts, shifts) + 1, rank, mask
        if "\0" in text:
            visible, starts, shifts = _strip(text)
            for start, end, mask in tokens(visible, sentinel):
                yield _place(start, starts, shifts), _place(end - 1, starts, shifts) + 1, 5, mask

    def _view(
        self, text: str, *, loud: bool, sentinel: bool
    ) -> Iterator[tuple[int, int, int, str]]:
        lowered = text.replace("İ", "I").lower()
        ends = triggers(lowered)
        found: tuple[Iterable[Span], ...] = (
            literals(text, self._secrets, sentinel),
            private_keys(text),
            secret_manifests(text, sentinel),
            headers(text, lowered, ends, sentinel),
            addresses(text, loud=loud, sentinel=sentinel),
            tokens(text, sentinel),
            form_body(text, sentinel),
            phones(text, loud=loud),
        )
        for rank, spans in enumerate(found):
            for start, end, mask in spans:
                yield start, end, rank, mask
        # Among plain assignments the whole value goes; in code a key that is known by its prefix
        # keeps the mask that tells it from others.
        rank = 4 if loud else len(found)
        for start, end, mask in assignments(text, ends, loud=loud, sentinel=sentinel):
            yield start, end, rank, mask


def _apply(text: str, spans: list[tuple[int, int, int, str]]) -> str:
    if not spans:
        return text
    parts: list[str] = []
    at = 0
    start, end, rank, mask = spans[0]
    for next_start, next_end, next_rank, next_mask in spans[1:]:
        if next_start < end:
            end = max(end, next_end)
            if next_rank < rank:
                rank, mask = next_rank, next_mask
            continue
        parts += text[at:start], mask
        at = end
        start, end, rank, mask = next_start, next_end, next_rank, next_mask
    parts += text[at:start], mask, text[end:]
    return "".join(parts)


def _has_invisible(text: str) -> bool:
    if text.isascii():
        return any(c in text for c in _CONTROLS)
    return _invisible().search(text) is not None


def _strip(text: str) -> tuple[str, list[int], list[int]]:
    """`text` without what cannot be seen, and where each piece of it stood.

    `starts[i]` is the position of a piece in the stripped text, `shifts[i]` what to add to get the
    position in `text`.
    """
    pieces: list[str] = []
    starts: list[int] = []
    shifts: list[int] = []
    at = length = 0
    for hit in (*_invisible().finditer(text), None):
        stop = hit.start() if hit is not None else len(text)
        if stop > at:
            pieces.append(text[at:stop])
            starts.append(length)
            shifts.append(at - length)
            length += stop - at
        at = hit.end() if hit is not None else stop
    return "".join(pieces), starts, shifts


def _place(position: int, starts: list[int], shifts: list[int]) -> int:
    return position + shifts[bisect_right(starts, position) - 1]
