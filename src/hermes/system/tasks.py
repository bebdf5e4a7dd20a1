"""Tasks beside a piece of work, which end with it."""

from typing import Self, final

import anyio
from anyio.abc import TaskGroup


@final
class SideTasks:
    """A task group whose tasks are cancelled when it is left, and which leaves an error of the work
    beside them as it is: a bare task group would wrap it.

    `group` is there while it is entered.
    """

    def __init__(self) -> None:
        self.group: TaskGroup = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self.group.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.group.cancel_scope.cancel()
        await self.group.__aexit__(None, None, None)
