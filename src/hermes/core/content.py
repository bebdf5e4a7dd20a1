"""What an entry is made of."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Text that a reader may see."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """A model's reasoning; never shown as an answer.

    `replay` is the provider's own opaque form (a signature, an encrypted block), stored verbatim
    and sent back only to the `issuer` that made it.
    """

    text: str
    issuer: str = ""
    replay: str = ""


Part = Text | Thinking


def visible(parts: tuple[Part, ...]) -> str:
    """The text of `parts` without any reasoning."""
    return "".join(p.text for p in parts if isinstance(p, Text))


def thoughts(parts: tuple[Part, ...]) -> str:
    """The reasoning in `parts`, without any answer."""
    return "".join(p.text for p in parts if isinstance(p, Thinking))
