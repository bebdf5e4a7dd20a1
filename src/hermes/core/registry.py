"""The one registry pattern: everything that can be extended is a named, owned registration."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from hermes.core.errors import Bug

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration(Generic[T]):
    """`item` makes the thing when it is first used; `available` names what it lacks, or None."""

    name: str
    owner: str
    item: Callable[[], T]
    aliases: tuple[str, ...] = ()
    available: Callable[[], str | None] = field(default=lambda: None)


class Registry(Generic[T]):
    """Registrations of one kind, in the order they were added."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._by_name: dict[str, Registration[T]] = {}
        self._aliases: dict[str, str] = {}

    def add(self, registration: Registration[T]) -> Callable[[], None]:
        """Register, and return the exact undo; raises Bug naming both owners on a duplicate."""
        names = (registration.name, *registration.aliases)
        for name in names:
            if (other := self.find(name)) is not None:
                raise Bug(
                    f"{self.kind} {name!r} of {registration.owner} is already {other.owner}'s"
                )
        self._by_name[registration.name] = registration
        self._aliases.update(dict.fromkeys(registration.aliases, registration.name))

        def undo() -> None:
            self._by_name.pop(registration.name, None)
            for alias in registration.aliases:
                self._aliases.pop(alias, None)

        return undo

    def find(self, name: str) -> Registration[T] | None:
        """The registration with this name or alias."""
        return self._by_name.get(self._aliases.get(name, name))

    def __iter__(self) -> Iterator[Registration[T]]:
        return iter(tuple(self._by_name.values()))

    def freeze(self) -> Mapping[str, T]:
        """The available items by name; later changes of the registry do not show in it."""
        return {r.name: r.item() for r in self if r.available() is None}
