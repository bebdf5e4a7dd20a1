"""What background commands have to tell their sessions: never twice, and never a flood.

What comes together goes out together: the first word at once, what follows within PAUSE seconds in
one message after it.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from hermes.core.ids import SessionId

PAUSE: Final = 2.0
"""Seconds between two messages to one session."""

LINES: Final = 20
CHARS: Final = 2_000
"""Of one bulletin's output at most, the last ones."""

SAVED_WITHIN: Final = 5.0
"""Seconds that a text may take into its session."""

Tell = Callable[[SessionId, str], Awaitable[bool]]
"""Puts a text into a session's stream; saved when it returns true. False if it is not open."""


def shortened(output: str) -> str:
    """The end of `output`, within LINES and CHARS."""
    text = "\n".join(output.rstrip("\n").split("\n")[-LINES:])
    return text if len(text) <= CHARS else "..." + text[-CHARS:]


def _never() -> bool:
    return False


async def _nothing() -> None:
    return


class Bulletin(Struct, frozen=True, kw_only=True):
    """A text for a session. It is not sent if it is `known` when its time comes; `told` is called
    once it is in the session's stream."""

    text: str
    known: Callable[[], bool] = _never
    told: Callable[[], Awaitable[None]] = _nothing


class Bulletins:
    """Sends texts to sessions in the task group `tasks`."""

    def __init__(self, tell: Tell, tasks: TaskGroup) -> None:
        self._tell = tell
        self._tasks = tasks
        self._waiting: dict[SessionId, list[Bulletin]] = {}

    def post(self, session: SessionId, bulletin: Bulletin) -> None:
        """Send `bulletin` soon."""
        if (waiting := self._waiting.get(session)) is not None:
            waiting.append(bulletin)
            return
        self._waiting[session] = [bulletin]
        self._tasks.start_soon(self._send, session)

    async def _send(self, session: SessionId) -> None:
        try:
            while waiting := self._waiting[session]:
                self._waiting[session] = []
                # Shielded: what is in the stream has to be known to be.
                with anyio.move_on_after(SAVED_WITHIN, shield=True):
                    await self._deliver(session, [each for each in waiting if not each.known()])
                await anyio.sleep(PAUSE)
        finally:
            del self._waiting[session]

    async def _deliver(self, session: SessionId, bulletins: list[Bulletin]) -> None:
        text = "\n\n".join(each.text for each in bulletins)
        if bulletins and await self._tell(session, text):
            for each in bulletins:
                await each.told()
