"""Server-sent events out of the raw bytes of a response.

https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream; only `data`
matters to a model's reply. Bytes are split, never looked at one by one.
"""

from collections.abc import Iterator
from typing import Final

_FIELDS: Final = (b"data", b"event", b"id", b"retry", b":")


def begins_like_events(body: bytes) -> bool:
    """Whether a body that begins so can be a stream of events."""
    return body.startswith(_FIELDS)


class EventSplitter:
    """Yields the data of each event; `size` is the bytes of the event in the making."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._last = b""
        self.size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Take more bytes, cut anywhere."""
        chunk = self._last + chunk
        # The last bytes wait: a line end and a blank line may be cut in two.
        kept = len(chunk) - len(chunk.rstrip(b"\r\n"))
        body, self._last = (chunk[:-kept], chunk[-kept:]) if kept else (chunk, b"")
        if self._last.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") > 1:
            body, self._last = body + self._last, b""
        text = _unix(body)
        # One byte is looked for ten times as fast as two, and most of a large event has none.
        *events, rest = text.split(b"\n\n") if b"\n" in text else (text,)
        for event in events:
            self._parts.append(event)
            yield from self._flush()
        self._parts.append(rest)
        self.size += len(rest)

    def end(self) -> Iterator[bytes]:
        """There are no more bytes; an event without its blank line counts."""
        self._last = b""
        yield from self._flush()

    def _flush(self) -> Iterator[bytes]:
        event, self._parts, self.size = b"".join(self._parts), [], 0
        yield from _data(event.strip(b"\n"))


def _unix(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text


def _data(event: bytes) -> Iterator[bytes]:
    # A large event is copied as seldom as can be: `strip` copies only where there is a blank.
    lines = [
        line[6 if line[5:6] == b" " else 5 :].strip()
        for line in (event.split(b"\n") if b"\n" in event else (event,))
        if line.startswith(b"data:")
    ]
    if len(lines) > 1 and all(line.startswith((b"{", b"[DONE]")) for line in lines):
        yield from lines  # a server that forgets the blank lines
    elif any(lines):
        yield b"\n".join(lines)
