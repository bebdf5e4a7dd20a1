"""Who speaks, and through which surface."""

from dataclasses import dataclass
from typing import Literal, NewType

Principal = NewType("Principal", str)
"""A user key. On a machine of one person there is one: OWNER."""

OWNER = Principal("owner")

Trust = Literal["owner", "paired", "system", "outside"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where an input came from.

    `surface` is the sessions' source column (`cli`, `oneshot`, `tools`, ...). `person` says that
    somebody can answer a question right now; it derives from real terminals, never from a flag.
    """

    surface: str
    principal: Principal = OWNER
    trust: Trust = "owner"
    person: bool = False


HARNESS = Origin(surface="harness", trust="system")
"""Notes that Hermes itself puts into a conversation; no surface shows them as a person's words."""
