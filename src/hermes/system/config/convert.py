"""Plain YAML values into typed settings: forgiving about spelling, never about meaning.

`"5"` is a number where a number is asked for, `"false"`, `no` and `off` are false; null is "use
the default". Everything else of the wrong type is a ConfigError that shows how to write it.
"""

import math
import re
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from msgspec import Meta, Struct
from msgspec.structs import fields

from hermes.core.errors import ConfigError
from hermes.system.i18n import t
from hermes.system.secrets import is_secret_name

S = TypeVar("S", bound=Struct)

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
_INTEGER = r"[-+]?\d{1,18}"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_SHOWN = 60


class _Mismatch(Exception):
    """The value at `key` is not of the type asked for; `hint` replaces the example."""

    def __init__(self, key: str, value: object, type_: Any, hint: str = "") -> None:
        super().__init__(key)
        self.key = key
        self.value = value
        self.type = type_
        self.hint = hint


def fields_of(struct: type[Struct]) -> Mapping[str, Any]:
    """The fields of a section and their types, in order."""
    return {f.name: f.type for f in fields(struct)}


def struct_below(type_: Any) -> tuple[type[Struct] | None, bool]:
    """The section that a field holds, if any, and whether it is a map with names of one's own."""
    if isinstance(type_, type) and issubclass(type_, Struct):
        return type_, False
    if get_origin(type_) is Mapping or get_origin(type_) is dict:
        inner = get_args(type_)[1]
        return struct_below(inner)[0], True
    return None, False


def item_of(type_: Any) -> type[Struct] | None:
    """The section that each item of a list is, or None."""
    item = get_args(type_)[0] if get_origin(type_) is tuple else None
    return item if isinstance(item, type) and issubclass(item, Struct) else None


def convert(
    tree: Mapping[str, Any],
    struct: type[S],
    *,
    where: Callable[[str], str],
    expand: Callable[[str, str], str],
) -> S:
    """`tree` as `struct`; keys that it does not have are left out.

    `where(key)` names the place of a key for an error; `expand(key, text)` resolves references in
    a text. Raises ConfigError with place, value, what is expected and an example.
    """
    try:
        return _Converter(expand).struct(tree, struct, "")
    except _Mismatch as e:
        words, example = expected(e.type)
        leaf = e.key.rpartition(".")[2]
        shown = "…" if is_secret_name(leaf) else _shown(e.value)
        raise ConfigError(
            t("config.bad_value", where=where(e.key), key=e.key, value=shown, expected=words),
            hint=e.hint or t("config.bad_value_hint", example=f"{leaf}: {example}"),
        ) from None


def scalar(type_: Any, value: object) -> Any:
    """One value, a text typed by a person for example, as `type_`; raises ValueError."""
    try:
        return _Converter(lambda _, text: text).value(value, type_, "")
    except _Mismatch as e:
        raise ValueError(str(value)) from e


class _Converter:
    """One conversion; `expand` resolves references in texts."""

    def __init__(self, expand: Callable[[str, str], str]) -> None:
        self._expand = expand

    def struct(self, value: object, struct: type[S], key: str) -> S:
        if not isinstance(value, Mapping):
            raise _Mismatch(key, value, struct)
        given = {}
        for name, type_ in fields_of(struct).items():
            inner = f"{key}.{name}" if key else name
            if value.get(name) is not None:
                given[name] = self.value(value[name], type_, inner)
        return struct(**given)

    def value(self, value: object, type_: Any, key: str) -> Any:
        if isinstance(value, str) and "${" in value:
            value = self._expand(key, value)
        origin = get_origin(type_)
        if origin is Annotated:
            base, meta = get_args(type_)[:2]
            return self._bounded(self.value(value, base, key), meta, type_, key)
        if origin in {Union, types.UnionType}:
            return self._union(value, type_, key)
        if origin is Literal:
            return _choice(value, type_, key)
        if origin is tuple:
            return self._list(value, type_, key)
        if isinstance(type_, type) and issubclass(type_, Struct):
            return self.struct(value, type_, key)
        if origin is not None:
            return self._mapping(value, type_, key)
        return _plain(value, type_, key)

    def _union(self, value: object, type_: Any, key: str) -> Any:
        for option in get_args(type_):
            if option is type(None):
                continue
            try:
                return self.value(value, option, key)
            except _Mismatch:
                continue
        raise _Mismatch(key, value, type_)

    def _bounded(self, value: Any, meta: Meta, type_: Any, key: str) -> Any:
        too_low = (meta.ge is not None and value < meta.ge) or (
            meta.gt is not None and value <= meta.gt
        )
        if too_low:
            raise _Mismatch(key, value, type_)
        return value

    def _list(self, value: object, type_: Any, key: str) -> tuple[Any, ...]:
        if isinstance(value, str):
            quoted = value.strip().startswith("[")
            hint = t("config.quoted_list" if quoted else "config.text_for_list", text=value)
            raise _Mismatch(key, value, type_, hint)
        if not isinstance(value, list):
            raise _Mismatch(key, value, type_)
        item = get_args(type_)[0]
        return tuple(self.value(v, item, f"{key}[{i}]") for i, v in enumerate(value))

    def _mapping(self, value: object, type_: Any, key: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _Mismatch(key, value, type_)
        item = get_args(type_)[1]
        empty: object = {} if struct_below(item)[0] else None
        return {
            name: self.value(empty if v is None else v, item, f"{key}.{name}")
            for name, v in value.items()
        }


def _choice(value: object, type_: Any, key: str) -> str:
    choices: tuple[str, ...] = get_args(type_)
    if isinstance(value, bool):
        # YAML 1.1 writers turn on and off into true and false.
        value = "on" if value else "off"
    if isinstance(value, str):
        for choice in choices:
            if choice.casefold() == value.strip().casefold():
                return choice
    raise _Mismatch(key, value, type_)


def _plain(value: object, type_: Any, key: str) -> Any:
    if type_ is str:
        if isinstance(value, str):
            return value
        hint = t("config.needs_quotes", example=f'{key.rpartition(".")[2]}: "{_shown(value)}"')
        raise _Mismatch(key, value, type_, hint if isinstance(value, int | float) else "")
    text = value.strip().lower() if isinstance(value, str) else None
    if type_ is bool:
        if isinstance(value, bool):
            return value
        text = str(value) if isinstance(value, int) else text
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
    elif type_ is int and not isinstance(value, bool):
        if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
            return int(value)
        if text is not None and re.fullmatch(_INTEGER, text):
            return int(text)
    elif type_ is float and not isinstance(value, bool):
        if isinstance(value, int | float) and math.isfinite(value):
            return float(value)
        if text is not None and re.fullmatch(_NUMBER, text) and math.isfinite(float(text)):
            return float(text)
    raise _Mismatch(key, value, type_)


def expected(type_: Any) -> tuple[str, str]:
    """What a type accepts, in words, and an example of it."""
    origin = get_origin(type_)
    if origin is Annotated:
        base, meta = get_args(type_)[:2]
        words, example = expected(base)
        if meta.ge is not None:
            return t("config.at_least", what=words, least=meta.ge), example
        return t("config.more_than", what=words, least=meta.gt), example
    if origin in {Union, types.UnionType}:
        options = [expected(o) for o in get_args(type_) if o is not type(None)]
        return t("config.or").join(words for words, _ in options), options[0][1]
    if origin is Literal:
        choices = get_args(type_)
        return t("config.or").join(choices), choices[0]
    if origin is tuple:
        return t("config.a_list"), "[one, two]"
    if type_ is bool:
        return t("config.a_bool"), "true"
    if type_ is int:
        return t("config.an_int"), "5"
    if type_ is float:
        return t("config.a_number"), "1.5"
    if type_ is str:
        return t("config.a_text"), "text"
    return t("config.a_section"), "{name: value}"


def _shown(value: object) -> str:
    text = str(value) if not isinstance(value, bool) else str(value).lower()
    if isinstance(value, Mapping):
        text = "{…}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
