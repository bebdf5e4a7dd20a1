"""Who reads and who changes which paths, within one Hermes: nobody sees half a change."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import final

import anyio


@dataclass(eq=False, slots=True)
class _Claim:
    paths: tuple[str, ...]
    exclusive: bool
    granted: anyio.Event = field(default_factory=anyio.Event)

    def bars(self, other: "_Claim") -> bool:
        if not (self.exclusive or other.exclusive):
            return False
        return any(_overlap(a, b) for a in self.paths for b in other.paths)


@final
class PathLocks:
    """Locks over paths; a folder's covers all below it.

    First come, first served: a claim waits for those before it that overlap, so a stream of
    readers keeps no writer waiting for ever. Waiting is cancellable, and ends when the holders
    do: each holds its claim for one tool call at most.
    """

    def __init__(self) -> None:
        self._claims: list[_Claim] = []

    @asynccontextmanager
    async def reading(self, *paths: str) -> AsyncIterator[None]:
        """Hold `paths` together with other readers."""
        async with self._held(_Claim(paths, exclusive=False)):
            yield

    @asynccontextmanager
    async def changing(self, paths: Sequence[str]) -> AsyncIterator[None]:
        """Hold `paths`, all at once, alone."""
        async with self._held(_Claim(tuple(paths), exclusive=True)):
            yield

    @asynccontextmanager
    async def _held(self, claim: _Claim) -> AsyncIterator[None]:
        self._claims.append(claim)
        try:
            if any(other.bars(claim) for other in self._claims[:-1]):
                await claim.granted.wait()
            yield
        finally:
            self._claims.remove(claim)
            self._grant()

    def _grant(self) -> None:
        for at, claim in enumerate(self._claims):
            if not any(other.bars(claim) for other in self._claims[:at]):
                claim.granted.set()


def _overlap(a: str, b: str) -> bool:
    return a == b or a.startswith(_inside(b)) or b.startswith(_inside(a))


def _inside(folder: str) -> str:
    return folder if folder.endswith(os.sep) else folder + os.sep
