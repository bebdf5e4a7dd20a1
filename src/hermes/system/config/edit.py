"""Changes of `config.yaml` that keep everything else: comments, order, quotes and `${NAME}`.

A change is made in the text, parsed again and compared: unless exactly this key has changed, the
file is left alone. A broken file is never written.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, get_origin

from msgspec import Struct
from ruamel.yaml.nodes import MappingNode

from hermes.core.errors import ConfigError, UserError
from hermes.core.text import clean
from hermes.system.config.convert import expected, scalar, struct_below
from hermes.system.config.document import compose, parse
from hermes.system.config.explain import no_such_key
from hermes.system.config.fault import decode, read_config, with_last_good
from hermes.system.config.known_keys import is_known
from hermes.system.config.lists import append, remove
from hermes.system.config.load import type_at
from hermes.system.config.splice import Path, find, put, take
from hermes.system.files import BOM, write_atomic
from hermes.system.i18n import t
from hermes.system.locks import FileLock
from hermes.system.paths import Home

_LOCK_SECONDS = 5.0
_NEW_FILE_MODE = 0o600

_Step = Callable[[str, MappingNode | None, dict[str, Any]], tuple[str, dict[str, Any]]]


def set_value(home: Home, key: str, text: str) -> None:
    """Set `key` to what `text` means for it: a number, true, a list `[a, b]`, or just text.

    Raises UserError for a key that does not exist or a value that it cannot take, ConfigError for
    a file that is broken or a place that cannot be edited; then nothing has been changed.
    """
    set_values(home, {key: text})


def set_values(home: Home, changes: Mapping[str, str]) -> None:
    """Set several keys at once, or none."""
    changes = {"model.default" if k == "model" else k: text for k, text in changes.items()}
    _write(home, [_setting(home, key, text) for key, text in changes.items()])


def unset(home: Home, key: str) -> None:
    """Take `key` out of the file, so that its default counts; raises as `set_value` does."""

    def step(text: str, root: MappingNode | None, tree: dict[str, Any]) -> tuple[str, Any]:
        path = find(root, key)
        if root is None or _missing(tree, path):
            message = t("config.not_there", path=home.display(home.config), key=key)
            raise UserError(message)
        spliced, taken = take(text, root, path)
        return spliced, _without(tree, taken)

    _write(home, [step])


def append_item(home: Home, key: str, item: str | Mapping[str, str]) -> bool:
    """Add `item` at the end of the list `key`; false if it is in it already.

    Raises as `set_value` does; then nothing has been changed.
    """
    value = clean(item) if isinstance(item, str) else {k: clean(v) for k, v in item.items()}
    added = True

    def step(text: str, root: MappingNode | None, tree: dict[str, Any]) -> tuple[str, Any]:
        nonlocal added
        path = find(root, key)
        held = _list_at(home, tree, path, key)
        if value in held:
            added = False
            return text, tree
        return append(text, root, path, value), _with(tree, path, [*held, value])

    _write(home, [step])
    return added


def remove_item(home: Home, key: str, item: str | Mapping[str, str]) -> bool:
    """Take `item` out of the list `key`; false if it is not in it. Raises as `set_value` does."""
    removed = True

    def step(text: str, root: MappingNode | None, tree: dict[str, Any]) -> tuple[str, Any]:
        nonlocal removed
        path = find(root, key)
        held = _list_at(home, tree, path, key)
        if item not in held:
            removed = False
            return text, tree
        at = held.index(item)
        rest = [*held[:at], *held[at + 1 :]]
        return remove(text, root, path, at), _with(tree, path, rest)

    _write(home, [step])
    return removed


def _list_at(home: Home, tree: Any, path: Path, key: str) -> list[Any]:
    """The list at `path`, empty if there is none; raises ConfigError for anything else."""
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    if tree is None:
        return []
    if not isinstance(tree, list):
        raise ConfigError(
            t("config.cannot_edit", path=home.display(home.config)),
            hint=t("config.cannot_edit_hint"),
        )
    return tree


def _setting(home: Home, key: str, typed: str) -> _Step:
    def step(text: str, root: MappingNode | None, tree: dict[str, Any]) -> tuple[str, Any]:
        path = find(root, key)
        value = _typed(key, path, typed)
        # A file may say `model: NAME` for what is written out as `model.default: NAME`.
        if key == "model.default" and not isinstance(tree.get("model"), dict | None):
            return put(text, root, ("model",), value), _with(tree, ("model",), value)
        above: Any = tree
        for i, name in enumerate(path[:-1]):
            above = above.get(name)
            if above is None or isinstance(above, dict):
                above = above or {}
            elif path[: i + 1] == ("model",) and isinstance(above, str):
                tree = {**tree, "model": {"default": above}}
                break
            else:
                file, parent = home.display(home.config), ".".join(path[: i + 1])
                raise ConfigError(
                    t("config.under_value", path=file, parent=parent, key=key),
                    hint=t("config.cannot_edit_hint"),
                )
        return put(text, root, path, value), _with(tree, path, value)

    return step


def _write(home: Home, steps: list[_Step]) -> None:
    """Apply `steps`, each checked against the tree that it promises, and replace the file."""
    home.prepare()
    with FileLock(home.locks / "config.lock").hold(_LOCK_SECONDS):
        name = home.display(home.config)
        data = read_config(home)
        try:
            text = decode(data, home.config, home)
            for step in steps:
                text = _applied(text, step, name)
        except ConfigError as e:
            raise with_last_good(e, home) from e
        new = ((BOM if data.startswith(BOM.encode()) else "") + text).encode()
        if new == data:
            return
        try:
            mode = None if home.config.exists() else _NEW_FILE_MODE
            write_atomic(home.config, new, mode=mode)
        except OSError as e:
            reason = e.strerror or str(e)
            raise UserError(
                t("config.unwritable", path=name, reason=reason),
                hint=t("config.unwritable_hint"),
            ) from e


def _applied(text: str, step: _Step, name: str) -> str:
    before = parse(text, name)
    spliced, wanted = step(text, compose(text, name), before.tree)
    try:
        after = parse(spliced, name).tree
    except ConfigError:
        after = {}
    if after != wanted:
        raise ConfigError(t("config.cannot_edit", path=name), hint=t("config.cannot_edit_hint"))
    return spliced


def _typed(key: str, path: Path, text: str) -> Any:
    """What to write for `text` typed at `key`."""
    text = clean(text)
    try:
        type_ = type_at(path)
    except KeyError:
        if not is_known(key):
            raise no_such_key(key) from None
        return _yaml(key, text)
    if type_ is str or (text.startswith("${") and text.endswith("}")):
        return text
    if isinstance(type_, type) and issubclass(type_, Struct):
        first = type_.__struct_fields__[0]
        raise UserError(
            t("config.is_a_section", key=key),
            hint=t("config.is_a_section_hint", key=key, first=first),
        )
    if text.strip() in {"null", "~"}:
        return None
    collection = get_origin(type_) is tuple or struct_below(type_)[1]
    try:
        value = _yaml(key, text) if collection else text
        typed = scalar(type_, value)
    except (ValueError, UserError):
        words, example = expected(type_)
        raise UserError(
            t("config.cannot_set", text=repr(text), key=key, expected=words),
            hint=t("config.cannot_set_hint", key=key, example=f"'{example}'"),
        ) from None
    return value if collection else typed


def _yaml(key: str, text: str) -> Any:
    """`text` as YAML on one line."""
    if "\n" in text:
        return text
    try:
        return parse(f"value: {text}", key).tree["value"]
    except ConfigError as e:
        raise UserError(t("config.bad_yaml_value", text=repr(text), key=key, cause=e)) from e


def _missing(tree: Any, path: Path) -> bool:
    for name in path:
        if not isinstance(tree, dict) or name not in tree:
            return True
        tree = tree[name]
    return False


def _with(tree: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    tree = deepcopy(tree)
    at = tree
    for name in path[:-1]:
        if not isinstance(at.get(name), dict):
            at[name] = {}
        at = at[name]
    at[path[-1]] = list(value) if isinstance(value, tuple) else value
    return tree


def _without(tree: dict[str, Any], path: Path) -> dict[str, Any]:
    tree = deepcopy(tree)
    at = tree
    for name in path[:-1]:
        at = at[name]
    del at[path[-1]]
    return tree
