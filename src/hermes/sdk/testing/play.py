"""One reply on its way: pauses, gates, the ending it was given, and a client that leaves."""

from collections.abc import Awaitable, Callable

import anyio

from hermes.sdk.testing.http1 import Connection
from hermes.sdk.testing.replies import Reply


class Gates:
    """Which held replies may go on; used on the server's loop only."""

    def __init__(self) -> None:
        self._named: set[int] = set()
        self._any = 0
        self._opened = anyio.Event()

    def open(self, number: int | None) -> None:
        """Let the reply to request `number` pass, or with None the first that asks."""
        if number is None:
            self._any += 1
        else:
            self._named.add(number)
        self._opened.set()
        self._opened = anyio.Event()

    async def passed(self, number: int) -> None:
        """Return when the reply to request `number` may go on."""
        while number not in self._named:
            if self._any:
                self._any -= 1
                return
            await self._opened.wait()


class Play:
    """Sends the `parts` of a reply, one event each, as the reply says."""

    def __init__(
        self,
        reply: Reply,
        parts: list[bytes],
        connection: Connection,
        gate: Callable[[], Awaitable[None]],
    ) -> None:
        self._reply = reply
        self._parts = parts
        self._connection = connection
        self._gate = gate
        self._over = False
        self._left = False

    async def run(self) -> bool:
        """Send all; returns False if the client left before the end."""
        if self._is_plain():
            await self._connection.write(b"".join(self._parts))
            return True
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                await self._connection.wait_until_left()
                # A client may close as soon as it has read the end, before our write returns.
                self._left = not self._over
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            await self._send()
            tasks.cancel_scope.cancel()
        return not self._left

    def _is_plain(self) -> bool:
        reply = self._reply
        return reply.ending == "complete" and not reply.gap_seconds and reply.held_after is None

    async def _send(self) -> None:
        try:
            for position, data in enumerate(self._parts):
                if position == self._reply.held_after:
                    await self._gate()
                elif position and self._reply.gap_seconds:
                    await anyio.sleep(self._reply.gap_seconds)
                ends = position + 1 >= len(self._parts)
                self._over = ends and self._reply.ending in ("complete", "drop")
                await self._connection.write(data)
            await self._finish()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._left = not self._over

    async def _finish(self) -> None:
        held = self._reply.held_after
        if held is not None and held >= len(self._parts):
            await self._gate()
        self._over = self._reply.ending in ("complete", "drop")
        if self._reply.ending == "stall":
            await anyio.sleep_forever()
        while self._reply.ending == "forever":
            await anyio.sleep(self._reply.gap_seconds)
            await self._connection.write(self._parts[-1])
