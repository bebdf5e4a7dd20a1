"""Decides by its look whether the value of a secret-named thing is a secret."""

import re
from functools import cache
from typing import Final, Literal

from hermes.safety.redact_mask import is_masked
from hermes.safety.redact_names import Kind, classify, is_env_name
from hermes.safety.redact_tokens import name_like
from hermes.safety.secret_patterns import BENIGN_VALUES, PLACEHOLDER_WORDS

Form = Literal["quoted", "env", "line", "prose"]

SHORTEST_DRAWN: Final = 8
"""Characters that a value drawn by lot has at least."""


class Assignment:
    """`name` set to `value`.

    `form` is "quoted" (a string literal), "env" (NAME=value without blanks), "line" (`name: value`
    or `name = value` that fills a line) or "prose" (more words follow). `data_key` tells a key of
    data, such as a quoted name in JSON; `fills_line` that nothing else stands on the line.
    """

    # A plain class: a generated one costs more to define than this module does to import.
    __slots__ = ("data_key", "fills_line", "form", "kind", "name", "value")

    def __init__(
        self, *, name: str, kind: Kind, value: str, form: Form, data_key: bool, fills_line: bool
    ) -> None:
        self.name = name
        self.kind: Kind = kind
        self.value = value
        self.form: Form = form
        self.data_key = data_key
        self.fills_line = fills_line


@cache
def _rx(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_LOOKUP: Final = (
    r"\$\{|\$\(|\$env:|\{\{|\{%|<|%[({]|!(?:Ref|Sub|vault)\b|@Microsoft|(?:op|vault|env|file|arn|"
    r"secret|ssm|keyring)[:/]|[*&][A-Za-z_]|(?:await|new|function|lambda|async|not|void|return)\b|"
    r"\#\{|\{[A-Za-z_]|\{\}|%[a-z]\b|os\.environ|process\.env|`"
)
_CALL: Final = r"[A-Za-z_$][\w$.:>\-]{0,80}\([^\n]{0,200}?\)|[A-Za-z_$][\w$.]{0,80}[(\[]"
_MEMBER: Final = r"[A-Za-z_$][\w$]{0,60}(?:(?:\.|->|::|\?\.)[A-Za-z_][\w$]{0,60}){1,12}[;,)]?"
_PATH: Final = r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[\w.@%\-]{1,40}[/\\]?){0,12}"
_DRAWN: Final = r"[A-Za-z0-9+/=_.\-:~!@#$%^&*]+"
_UUID: Final = r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"
_VARIABLE: Final = r"\$[A-Za-z_][\w/.\-]*|%[A-Za-z_]\w*%"


def is_secret(it: Assignment, *, loud: bool) -> bool:
    """Whether `it` is to be masked; `loud` in text that may hold any secret, not in code."""
    value = it.value
    word = value.lower().rstrip(".,;:)]}")
    if is_masked(value) or word.split("|")[0] in BENIGN_VALUES or len(set(value)) == 1:
        return False
    if _rx(_LOOKUP).match(value) or _rx(r"\w+://").match(value):
        return False
    if it.form == "quoted" and _rx(r"[,;:)\]}](?:\s|$)").match(value):
        # What looked like an opening quote closed a string that ends with the name.
        return False
    if it.form in ("line", "prose") and _variable(value):
        return False
    if it.data_key and it.form != "quoted" and _rx(r"[A-Za-z_$][A-Za-z_$.]*").fullmatch(value):
        # {"password": password} is code: what stands there is the name of a variable.
        return False
    return _loud(it) if loud else _quiet(it)


def opaque(value: str, least: int = SHORTEST_DRAWN) -> bool:
    """Whether `value` looks drawn by lot: letters and digits mixed, or long and of no word."""
    if len(value) < least or name_like(value) or not _rx(_DRAWN).fullmatch(value):
        return False
    if _rx(_CALL).match(value) or _rx(_MEMBER).fullmatch(value) or _rx(_PATH).fullmatch(value):
        return False
    if _rx(r"[\d.,:/_\-]+").fullmatch(value):
        return False
    letters, digits = _rx(r"[A-Za-z]").search(value), _rx(r"\d").search(value)
    return letters is not None and (digits is not None or len(value) >= max(least, 20))


def dense(value: str) -> bool:
    """Whether `value` can hardly be anything but a key."""
    if _rx(_UUID).fullmatch(value) or not opaque(value, 20):
        return False
    if _rx(r"[0-9a-f]+|[0-9A-F]+").fullmatch(value):
        return len(value) >= 32
    return all(_rx(p).search(value) for p in ("[a-z]", "[A-Z]", r"\d"))


def _variable(value: str) -> bool:
    """Whether an unquoted value is a variable that holds a secret, or an expression with one."""
    if value[0] in "([{":
        return True
    return value.isidentifier() and not _has_digit(value) and classify(value) is not None


def _loud(it: Assignment) -> bool:
    value = it.value
    literal = it.form == "quoted" or (it.form == "env" and is_env_name(it.name))
    if not literal and _rx(_CALL).match(value):
        return False
    if value == it.name.capitalize() or _rx(r"your[-_ ]").match(value):
        return False
    if it.kind == "ambiguous":
        return opaque(value) and not _rx(_VARIABLE).fullmatch(value)
    if it.kind == "plain key":
        return opaque(value) if is_env_name(it.name) else dense(value)
    if it.form == "prose" and _rx(r"[A-Za-z'’,.\-]+").fullmatch(value):
        return False
    if it.kind == "password":
        member = it.form == "line" and _rx(_MEMBER).fullmatch(value)
        return not member and not _rx(r"\d{1,2}[,.)]?").fullmatch(value)
    if _rx(_VARIABLE).match(value) or _rx(_PATH).fullmatch(value):
        return False
    if it.form != "quoted" and _rx(_MEMBER).fullmatch(value):
        return opaque(value.replace(".", ""), 20)
    return not _rx(r"[\d.]+").fullmatch(value) or len(value) > 8


def _quiet(it: Assignment) -> bool:
    value, env = it.value, is_env_name(it.name)
    if _placeholder(it) or " " in value or _rx(_VARIABLE).match(value):
        return False
    if _rx(_PATH).fullmatch(value) or (it.form != "quoted" and _expression(value)):
        return False
    match it.kind:
        case "ambiguous":
            return opaque(value, 12 if env or it.data_key else 16) and _has_digit(value)
        case "plain key":
            return opaque(value, 16) and _has_digit(value) if env else dense(value)
        case _ if it.form == "quoted" or it.data_key:
            return _quiet_literal(it, env)
        case _ if it.form == "env" and env:
            return len(value) >= (4 if it.kind == "password" else 6) and not is_env_name(value)
        case _ if it.fills_line:
            least = 6 if it.kind == "password" else 12
            drawn = _has_digit(value) or value.endswith("=")
            return len(value) >= least and drawn and not name_like(value)
        case _:
            return opaque(value, 16) and _has_digit(value)


def _quiet_literal(it: Assignment, env: bool) -> bool:
    value = it.value
    if len(value) < 6:
        return False
    if not (env or it.data_key):
        return opaque(value, 10 if it.kind == "password" else 16) and _has_digit(value)
    if it.kind == "api key":
        return _rx(r"[a-z]{6,}").fullmatch(value) is not None or not name_like(value)
    return not name_like(value)


def _expression(value: str) -> bool:
    return bool(
        _rx(_CALL).match(value)
        or _rx(_MEMBER).fullmatch(value)
        or value[-1] in ",;({["
        or value[0] in "([{!|"
    )


def _placeholder(it: Assignment) -> bool:
    value = it.value.lower()
    if value in PLACEHOLDER_WORDS or value.strip("_-") == it.name.lower():
        return True
    return _rx(r"(?:your|my|insert|replace|enter)[-_ .]|x{4,}|.*\.\.\.$").match(value) is not None


def _has_digit(value: str) -> bool:
    return _rx(r"\d").search(value) is not None
