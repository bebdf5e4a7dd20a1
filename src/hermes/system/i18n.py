"""The message catalogue: every string a person reads has a key here.

A key is `area.name`; the area is a module of `hermes.system.messages.<language>`, loaded when its
first message is asked for. Texts sent to models do not belong here: they stay English and live
with their prompts and tools.
"""

from functools import cache
from importlib import import_module

from hermes.core.errors import Bug

LANGUAGE = "en"


@cache
def _area(language: str, area: str) -> dict[str, str]:
    module = import_module(f"hermes.system.messages.{language}.{area}")
    messages: dict[str, str] = module.MESSAGES
    return messages


def t(key: str, /, **values: object) -> str:
    """The message `key` with its `{names}` filled in; raises Bug for a key that does not exist."""
    area, _, name = key.partition(".")
    try:
        message = _area(LANGUAGE, area)[name]
    except (ImportError, KeyError) as e:
        raise Bug(f"no message {key!r}") from e
    return message.format(**values) if values else message
