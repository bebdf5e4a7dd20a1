"""Whatever agent, person and restores do in turn: a restore reports exactly what it does, touches
what the agent changed and nothing else, and keeps what the person made of it since."""

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.stores.checkpoints.store import CheckpointStore
from undo_place import UndoPlace

State = tuple[bytes, int] | None
"""Content and permissions, None for nothing."""

NAMES = ("a", "b", "dir/c", "dir/sub/d", "mine")
OWN = "mine"
"""What only the person changes."""

agents = st.sampled_from(NAMES[:-1])
LONG = b"LONG"
"""Stands for more than the database takes."""

contents = st.sampled_from([b"one\n", b"two\n", b"", b"\0\xff", LONG])
changed = st.one_of(st.none(), contents)

operations = st.lists(
    st.one_of(
        st.tuples(st.just("edit"), st.booleans(), st.dictionaries(agents, changed, min_size=1)),
        st.tuples(st.just("command"), st.booleans(), st.dictionaries(agents, changed, min_size=1)),
        st.tuples(st.just("person"), st.sampled_from(NAMES), changed),
        st.tuples(st.just("chmod"), st.sampled_from(NAMES), st.sampled_from([0o644, 0o600])),
        st.tuples(
            st.just("restore"),
            st.integers(0, 9),
            st.fixed_dictionaries(
                {
                    "overwrite": st.booleans(),
                    "only": st.booleans(),
                    "paths": st.lists(st.sampled_from([*NAMES, "dir"]), max_size=2),
                }
            ),
        ),
    ),
    min_size=3,
    max_size=14,
)


@dataclass
class World:
    """The place, and what a restore may be expected to do there."""

    place: UndoPlace
    store: CheckpointStore
    turn: int = 0
    numbers: dict[int, int] = field(default_factory=dict)
    """The checkpoint of each turn."""

    was: dict[tuple[int, str], State] = field(default_factory=dict)
    left: dict[str, State] = field(default_factory=dict)
    """Files as the agent, or a restore, left them last."""

    persons: set[str] = field(default_factory=set)
    """Files as the person left them, other than whoever had them before."""

    def state(self, name: str) -> State:
        path = self.place.work / name
        if not path.exists():
            return None
        return path.read_bytes(), path.stat().st_mode & 0o7777

    def states(self) -> dict[str, State]:
        return {name: self.state(name) for name in NAMES}

    async def newest(self) -> int:
        rows = await self.store.checkpoints(self.place.root)
        return rows[0].number if rows else 0

    async def agent(self, how: str, again: bool, changes: dict[str, bytes | None]) -> None:
        self.turn += not again
        before = self.states()
        changes = {
            n: _whole(d) for n, d in changes.items() if d is not None or before[n] is not None
        }
        if not changes:
            return
        last = await self.newest()
        if how == "edit":
            await self.place.edit(self.store, self.turn, changes)
        else:
            scripts = [
                f"rm {name}"
                if data is None
                else f"mkdir -p $(dirname {name}); printf '{_octal(data[:99])}' > {name}"
                for name, data in changes.items()
            ]
            await self.place.command(self.store, self.turn, "\n".join(scripts))
        if await self.newest() > last:
            self.numbers[self.turn] = await self.newest()
        number = self.numbers.get(self.turn, 0)
        for name in changes:
            if how == "edit" or self.state(name) != before[name]:
                self.was.setdefault((number, name), before[name])
                self.persons.discard(name)
                self.left[name] = self.state(name)

    def person(self, name: str, data: bytes | None) -> None:
        before = self.state(name)
        if data is not None:
            self.place.put(name, _whole(data) or b"")
        elif before is not None:
            (self.place.work / name).unlink()
        self._changed(name, before)

    def _changed(self, name: str, before: State) -> None:
        """The person did it; who brings back what the agent left has changed nothing of it."""
        if name in self.left and self.state(name) == self.left[name]:
            self.persons.discard(name)
        elif self.state(name) != before:
            self.persons.add(name)

    def chmod(self, name: str, mode: int) -> None:
        before = self.state(name)
        if before is not None and before[1] != mode:
            (self.place.work / name).chmod(mode)
            self._changed(name, before)

    async def restore(self, choice: int, options: dict[str, Any]) -> None:
        newest = await self.newest()
        if not newest:
            return
        number = choice % newest + 1
        paths = [self.place.at(name) for name in options["paths"]]
        options = options | {"paths": paths}
        before = self.states()
        rows = [
            (n, name)
            for n, name in sorted(self.was)
            if n >= number and (n == number or not options["only"])
        ]
        expected: dict[str, State] = {}
        for row in rows:
            expected.setdefault(row[1], self.was[row])
        foreseen = await self.store.restore(self.place.root, number, dry_run=True, **options)
        assert self.states() == before
        done = await self.store.restore(self.place.root, number, **options)
        after = self.states()

        assert foreseen.outcomes == done.outcomes
        outcomes = {os.path.relpath(o.path, self.place.work): o for o in done.outcomes}
        wanted = {
            n for n in expected if not paths or any(_below(self.place.at(n), p) for p in paths)
        }
        assert set(outcomes) == wanted
        for name in NAMES:
            outcome = outcomes.get(name)
            deed = outcome.deed if outcome else None
            assert (after[name] != before[name]) == (deed is not None)
            if outcome is not None and outcome.hindrance is None:
                assert after[name] == expected[name]
            if name in self.persons and not options["overwrite"]:
                assert after[name] == before[name]
        assert (done.undo is None) == (after == before)
        if options["overwrite"]:
            assert done.complete
        if done.undo is not None:
            for name, outcome in outcomes.items():
                if outcome.deed:
                    self.was[done.undo, name] = before[name]
                    self.persons.discard(name)
                    self.left[name] = after[name]
            undone = await self.store.restore(self.place.root, done.undo, dry_run=True)
            assert undone.complete
            assert {
                os.path.relpath(o.path, self.place.work) for o in undone.outcomes if o.deed
            } == {name for name in NAMES if after[name] != before[name]}


def _whole(data: bytes | None) -> bytes | None:
    return b"long " * 20_000 if data == LONG else data


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def _octal(data: bytes) -> str:
    return "".join(f"\\{byte:03o}" for byte in data)


async def play(folder: Path, steps: list[tuple[Any, ...]]) -> None:
    place = UndoPlace(folder).make()
    place.put(OWN, b"mine\n")
    place.put("a", b"zero\n")
    async with place.store() as store:
        world = World(place, store)
        for what, *words in steps:
            if what in ("edit", "command"):
                await world.agent(what, *words)
            elif what == "restore":
                await world.restore(*words)
            else:
                getattr(world, what)(*words)
    place.check_store()


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(steps=operations)
def test_a_restore_does_what_it_reports_to_the_agents_files_alone(
    steps: list[tuple[Any, ...]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(play, Path(folder), steps)
