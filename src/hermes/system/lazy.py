"""Loading what a registration names, when it is first used."""

from importlib import import_module
from typing import Any


def load(name: str) -> Any:
    """The object at `module:attribute`."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
