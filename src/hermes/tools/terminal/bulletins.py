"""What background commands have to tell their sessions: never twice, and never a flood.

What comes together goes out together: the first word at once, what follows within PAUSE seconds in
one message after it.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio.abc import TaskGroup

from hermes.core.ids import SessionId

PAUSE: Final = 2.0
"""Seconds between two messages to one session."""

LINES: Final = 20
CHARS: Final = 2_000
"""Of one bulletin's output at most, the last ones."""

Tell = Callable[[SessionId, str], Awaitable[None]]
"""Puts a text into a session's stream; saved when it returns."""


def shortened(output: str) -> str:
    """The end of `output`, within LINES and CHARS."""
    text = "\n".join(output.rstrip("\n").split("\n")[-LINES:])
    return text if len(text) <= CHARS else "..." + text[-CHARS:]


class Bulletins:
    """Sends texts to sessions in the task group `tasks`."""

    def __init__(self, tell: Tell, tasks: TaskGroup) -> None:
        self._tell = tell
        self._tasks = tasks
        self._waiting: dict[SessionId, list[str]] = {}

    def post(self, session: SessionId, text: str) -> None:
        """Send `text` soon."""
        if (waiting := self._waiting.get(session)) is not None:
            waiting.append(text)
            return
        self._waiting[session] = [text]
        self._tasks.start_soon(self._send, session)

    async def _send(self, session: SessionId) -> None:
        while texts := self._waiting[session]:
            self._waiting[session] = []
            await self._tell(session, "\n\n".join(texts))
            await anyio.sleep(PAUSE)
        del self._waiting[session]
