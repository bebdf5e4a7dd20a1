"""Where a value came from: each layer's say, and which one counts. Secrets are never shown."""

from typing import Any

from msgspec import Struct, to_builtins

from hermes.core.errors import UserError
from hermes.system.config.known_keys import is_known, nearest, served_keys
from hermes.system.config.load import Config, Layer, secret_key, value_at
from hermes.system.i18n import t


class Explanation(Struct, frozen=True, kw_only=True):
    """A key, the value that counts, and the layers that were asked, the winner last."""

    key: str
    value: object
    layers: tuple[Layer, ...]
    served: bool = True

    def lines(self) -> tuple[str, ...]:
        """For people, the winner first and marked."""
        told = [
            t(
                "config.explain",
                mark="*" if i == len(self.layers) - 1 else " ",
                value=_text(layer.value),
                source=layer.source or t("config.default"),
            )
            for i, layer in enumerate(self.layers)
        ]
        return (self.key, *reversed(told))


def explain(config: Config, key: str) -> tuple[Explanation, ...]:
    """The explanation of `key`, or of every key in the section `key`.

    Raises UserError for a key that neither Hermes nor the file knows.
    """
    try:
        value = value_at(config.settings, key)
    except KeyError:
        return (_unserved(config, key),)
    if isinstance(value, Struct):
        below = (f"{key}.{name}" for name in value.__struct_fields__)
        return tuple(e for inner in below for e in explain(config, inner))
    if isinstance(value, dict) and any(isinstance(v, Struct) for v in value.values()):
        return tuple(e for name in value for e in explain(config, f"{key}.{name}"))
    layers = tuple(
        Layer(name=layer.name, value=shown(key, layer.value), source=layer.source)
        for layer in config.layers(key)
    )
    return (Explanation(key=key, value=shown(key, value), layers=layers),)


def explain_all(config: Config) -> tuple[Explanation, ...]:
    """The explanation of every key that is served."""
    sections = dict.fromkeys(key.partition(".")[0] for key in served_keys())
    return tuple(e for section in sections for e in explain(config, section))


def shown(key: str, value: Any) -> object:
    """`value` in plain values for showing; a secret is replaced, a `${NAME}` for it is not."""
    value = to_builtins(value)
    if isinstance(value, dict):
        return {name: shown(f"{key}.{name}", v) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return [shown(key, v) for v in value]
    reference = isinstance(value, str) and value.startswith("${") and value.endswith("}")
    if secret_key(key) and value and not isinstance(value, bool) and not reference:
        return t("config.hidden")
    return value


def no_such_key(key: str) -> UserError:
    """The refusal of a key that does not exist, with the one that was probably meant."""
    meant = nearest(key)
    hint = (
        t("config.no_such_key_hint", nearest=meant)
        if meant and meant != key
        else t("config.no_such_key_list")
    )
    return UserError(t("config.no_such_key", key=key), hint=hint)


def _unserved(config: Config, key: str) -> Explanation:
    written = config.written(key)
    if written is None and not is_known(key):
        raise no_such_key(key)
    source = f"{config.home.display(config.home.config)}"
    if (line := config.line(key)) is not None:
        source = f"{source}:{line}"
    value = shown(key, written)
    layers = () if written is None else (Layer(name="file", value=value, source=source),)
    return Explanation(key=key, value=value, layers=layers, served=False)


def _text(value: object) -> str:
    if value is None or value == "":
        return t("config.none")
    return str(value).lower() if isinstance(value, bool) else str(value)
