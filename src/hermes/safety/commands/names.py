"""Long lists of names, written as one text."""


def names(text: str) -> tuple[str, ...]:
    """The names in a text, divided by blanks."""
    return tuple(text.split())
