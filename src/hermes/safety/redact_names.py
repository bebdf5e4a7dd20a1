"""Tells by its name whether a variable, key or header holds a secret."""

import re
from functools import cache, lru_cache
from typing import Literal

from hermes.safety import secret_patterns as data

Kind = Literal["password", "secret", "api key", "ambiguous", "plain key"]
"""How much the name alone says.

"ambiguous" (token, auth) needs a value that looks like a secret; "plain key" (key, user_key) needs
one that can hardly be anything else.
"""


@cache
def _words() -> re.Pattern[str]:
    return re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@lru_cache(maxsize=2048)
def classify(name: str) -> Kind | None:
    """The kind of secret that a thing called `name` holds; None if it holds none.

    `name` is split into words at `_`, `-`, `.` and humps, so KEYBOARD, author and max_tokens
    hold none, and openaiApiKey, DB_PASS and aws.secret_access_key do.
    """
    words = [w.lower() for w in _words().findall(name)]
    while len(words) > 1 and (words[-1] in data.NEUTRAL_TAILS or words[-1].isdigit()):
        words.pop()
    if not words or "public" in words or name in ("PWD", "OLDPWD"):
        return None
    kind = _kind(words)
    if kind is None and words[-1] not in data.OTHER_TAILS:
        heads = (_kind(words[:n]) for n in range(1, len(words)))
        if any(k in ("password", "secret", "api key") for k in heads):
            return "ambiguous"
    return kind


def _kind(words: list[str]) -> Kind | None:
    last, owner = words[-1], words[-2] if len(words) > 1 else ""
    if last in data.PASSWORD_WORDS or last.endswith(data.PASSWORD_ENDINGS):
        # A test's verdict and a form's label are also called so.
        return "ambiguous" if words == ["pass"] or owner == "by" else "password"
    if last.endswith(data.KEY_ENDINGS):
        return "api key"
    if last in data.SECRET_WORDS or last.endswith(data.SECRET_ENDINGS):
        return "api key" if owner == "client" else "secret"
    if last == "base" and words[-3:-1] == ["secret", "key"]:
        return "api key"
    if last == "key":
        if owner in data.KEY_OWNERS:
            return "api key"
        if owner in data.BENIGN_OWNERS:
            return None
        return "plain key"
    if last in data.AMBIGUOUS_WORDS or last.endswith(data.AMBIGUOUS_ENDINGS):
        return None if owner in data.BENIGN_OWNERS else "ambiguous"
    return None


def is_env_name(name: str) -> bool:
    """Whether `name` is written as environment variables are."""
    return name.isascii() and name.isupper() and "-" not in name and "." not in name
