"""The settings of a home: defaults, then `config.yaml`, then the environment, then flags.

The parsed file is kept in the home's cache, by the sha256 of its bytes; the YAML parser, which
costs more than all the rest of a start, is imported only for a file that has changed.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, final

import msgspec

from hermes.core.errors import ConfigError
from hermes.system.config.cache import Finding, Parsed, keep, recall
from hermes.system.config.convert import convert, fields_of, struct_below
from hermes.system.config.fault import decode, read_config, with_last_good
from hermes.system.config.settings import Settings
from hermes.system.env import Environment
from hermes.system.i18n import t
from hermes.system.paths import Home
from hermes.system.secrets import Secrets, is_secret_name

LayerName = Literal["default", "file", "environment", "flag"]

_REFERENCE = r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}"
_SHORTEST_SECRET = 6

ENVIRONMENT_KEYS = (
    ("HERMES_INFERENCE_MODEL", "model.default"),
    ("HERMES_MODEL", "model.default"),
    ("HERMES_INFERENCE_PROVIDER", "model.provider"),
    ("HERMES_MAX_ITERATIONS", "agent.max_turns"),
    ("HERMES_LOCAL_STREAM_STALE_TIMEOUT", "agent.local_stream_stale_timeout"),
    ("TERMINAL_TIMEOUT", "terminal.timeout"),
    ("TERMINAL_CWD", "terminal.cwd"),
    ("HERMES_REDACT_SECRETS", "security.redact_secrets"),
    ("HERMES_ACCEPT_HOOKS", "hooks_auto_accept"),
    ("HERMES_TIMEZONE", "timezone"),
    ("HERMES_LANGUAGE", "display.language"),
)
"""Variables that stand for a key; of two for one key the later wins."""
_YOLO = "HERMES_YOLO_MODE"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something in the configuration that has no effect; never an error.

    `unknown`: no such key. `unserved`: the reference's, not served yet. `unset`: a reference to a
    variable without a value. `secrets`: others can read `.env`. `line` is in `config.yaml`.
    """

    kind: Literal["unknown", "unserved", "unset", "secrets"]
    key: str
    line: int | None
    text: str


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """What one layer says about a key: `value` as written, `source` names file and line, variable
    or command line."""

    name: LayerName
    value: object
    source: str


class _Override(msgspec.Struct, frozen=True):
    key: str
    value: object
    layer: LayerName
    source: str


@final
class Config:
    """The settings of a home, the secrets beside them, and where each value came from."""

    def __init__(
        self, home: Home, secrets: Secrets, parsed: Parsed, overrides: tuple[_Override, ...]
    ) -> None:
        self.home = home
        self.secrets = secrets
        self._file = home.display(home.config)
        self._tree = _normalised(parsed.tree)
        self._lines = parsed.lines
        self._findings = parsed.findings
        self._overrides = overrides
        self._unset: dict[tuple[str, str], None] = {}
        self.settings = convert(self._merged(), Settings, where=self._where, expand=self._expand)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything worth telling about the files, in the order of their lines."""
        found = [_told(f, self._file) for f in self._findings]
        for key, name in self._unset:
            line = self._line(key)
            text = t("config.unset", where=self._where(key), key=key, name=name)
            found.append(Problem(kind="unset", key=key, line=line, text=text))
        found.sort(key=lambda p: p.line or 0)
        found.extend(
            Problem(kind="secrets", key="", line=None, text=text) for text in self.secrets.problems
        )
        return tuple(found)

    def layers(self, key: str) -> tuple[Layer, ...]:
        """What each layer says about the served key `key`, the winner last."""
        layers = [Layer(name="default", value=value_at(Settings(), key), source="")]
        written = _at(self._tree, key)
        if written is not None:
            layers.append(Layer(name="file", value=written, source=self._place(key)))
        layers.extend(
            Layer(name=o.layer, value=o.value, source=o.source)
            for o in self._overrides
            if o.key == key
        )
        return tuple(layers)

    def origin(self, key: str) -> Layer:
        """The layer whose value for `key` counts."""
        return self.layers(key)[-1]

    def written(self, key: str) -> object:
        """What the file itself says for any key, served or not; None if it says nothing."""
        return _at(self._tree, key)

    def line(self, key: str) -> int | None:
        """The line of `key` in the file."""
        return self._lines.get(key)

    def secret_values(self) -> tuple[str, ...]:
        """Every secret that the configuration knows, for the redactor."""
        model, providers = self.settings.model, self.settings.providers.values()
        keys = [model.api_key]
        for provider in providers:
            keys.append(provider.api_key)
            keys.append((provider.key_env and self.secrets.get(provider.key_env)) or "")
            keys.extend(v for name, v in provider.headers.items() if secret_key(f"headers.{name}"))
        long_enough = (key for key in keys if len(key) >= _SHORTEST_SECRET)
        return tuple(dict.fromkeys((*self.secrets.values(), *long_enough)))

    def _merged(self) -> dict[str, Any]:
        tree = dict(self._tree)
        for override in self._overrides:
            *parents, leaf = override.key.split(".")
            at = tree
            for name in parents:
                inner = at.get(name)
                if inner is not None and not isinstance(inner, dict):
                    break  # the file is wrong here, and says so when it is converted
                at[name] = at = dict(inner or {})
            else:
                at[leaf] = override.value
        return _normalised(tree)

    def _winner(self, key: str) -> _Override | None:
        return next((o for o in reversed(self._overrides) if o.key == key), None)

    def _where(self, key: str) -> str:
        winner = self._winner(key)
        return winner.source if winner else self._place(key)

    def _place(self, key: str) -> str:
        line = self._line(key)
        return self._file if line is None else f"{self._file}:{line}"

    def _line(self, key: str) -> int | None:
        while key and key not in self._lines:
            key = re.sub(r"(^|\.)[^.\[]*$|\[\d+\]$", "", key)
        return self._lines.get(key)

    def _expand(self, key: str, text: str) -> str:
        if self._winner(key):
            return text

        def value(match: re.Match[str]) -> str:
            found = self.secrets.get(match[1])
            if found is None:
                self._unset[(key, match[1])] = None
            return found or ""

        return re.sub(_REFERENCE, value, text)


def load(
    home: Home,
    env: Environment,
    *,
    flags: Mapping[str, object] | None = None,
    skip_file: bool = False,
) -> Config:
    """The configuration of `home`.

    `flags` maps served keys to what the command line says; None is "not said". `skip_file` leaves
    `config.yaml` out (`--ignore-user-config`, `--safe-mode`). A missing file is all defaults.
    Raises ConfigError for a file that is broken or holds a value of the wrong type; then nothing
    has been changed.
    """
    secrets = Secrets.read(home, env)
    overrides = (*_from_environment(env, secrets), *_from_flags(flags or {}))
    data = b"" if skip_file else read_config(home)
    if not data:
        return Config(home, secrets, Parsed(), overrides)
    digest = hashlib.sha256(data).hexdigest()
    parsed = recall(home, digest)
    if parsed is not None:
        return Config(home, secrets, parsed, overrides)
    try:
        parsed = _parsed(home, data, digest)
        config = Config(home, secrets, parsed, overrides)
    except ConfigError as e:
        raise with_last_good(e, home) from e
    keep(home, data, parsed)
    return config


def value_at(settings: Settings, key: str) -> object:
    """The value of a served key in `settings`; raises KeyError for any other.

    A section comes as its Struct. Of a map, `name` is what the map has under it, or None; such a
    name may have dots in it.
    """
    at: Any = settings
    rest = key
    while rest:
        if isinstance(at, Mapping):
            names = sorted(at, key=len, reverse=True)
            found = next((n for n in names if rest == n or rest.startswith(f"{n}.")), None)
            if found is None:
                return None
            at, rest = at[found], rest[len(found) + 1 :]
            continue
        name, _, rest = rest.partition(".")
        if not isinstance(at, msgspec.Struct) or name not in at.__struct_fields__:
            raise KeyError(key)
        at = getattr(at, name)
    return at


def type_at(key: str | tuple[str, ...]) -> Any:
    """The type of a served key, dotted or in its names; raises KeyError for any other."""
    path = tuple(key.split(".")) if isinstance(key, str) else key
    struct: type[msgspec.Struct] | None = Settings
    type_: Any = Settings
    free = False
    for name in path:
        if free:
            free = False
            type_ = struct or str
        elif struct is None or name not in fields_of(struct):
            raise KeyError(".".join(path))
        else:
            type_ = fields_of(struct)[name]
            struct, free = struct_below(type_)
    return type_


def secret_key(key: str) -> bool:
    """Whether the value of a key must not be shown."""
    parent, _, leaf = key.rpartition(".")
    return is_secret_name(leaf) or parent.rpartition(".")[2] == "headers"


def _from_environment(env: Environment, secrets: Secrets) -> Iterator[_Override]:
    place = t("config.in_environment")
    for name, key in ENVIRONMENT_KEYS:
        if (value := secrets.get(name)) is not None:
            source = f"{name} ({place if name in env else '.env'})"
            yield _Override(key, value, "environment", source)
    if env.flag(_YOLO):
        yield _Override("approvals.mode", "off", "environment", f"{_YOLO} ({place})")


def _from_flags(flags: Mapping[str, object]) -> Iterator[_Override]:
    for key, value in flags.items():
        if value is not None:
            yield _Override(key, value, "flag", t("config.command_line"))


def _normalised(tree: Mapping[str, Any]) -> dict[str, Any]:
    """`tree` with the reference's shorter spellings written out."""
    tree = dict(tree)
    if isinstance(tree.get("model"), str):
        tree["model"] = {"default": tree["model"]}
    agent = tree.get("agent")
    turns = agent.get("max_turns") if isinstance(agent, dict) else None
    if isinstance(turns, str) and turns.casefold() == "none":
        tree["agent"] = {**tree["agent"], "max_turns": "unlimited"}
    providers = tree.get("providers")
    if isinstance(providers, dict):
        tree["providers"] = {name: _with_models(p) for name, p in providers.items()}
    return tree


def _with_models(provider: Any) -> Any:
    """A provider whose `models` is a map from id, where the file has a list of ids or of maps."""
    if not isinstance(provider, dict) or not isinstance(provider.get("models"), list):
        return provider
    models: dict[str, Any] = {}
    for item in provider["models"]:
        name = item.get("id", item.get("name")) if isinstance(item, dict) else item
        if not isinstance(name, str):
            return provider
        models[name] = item if isinstance(item, dict) else {}
    return {**provider, "models": models}


def _at(tree: Mapping[str, Any], key: str) -> Any:
    """The value at a dotted key; a name may itself have dots in it."""
    if key in tree:
        return tree[key]
    for i, letter in enumerate(key):
        below = tree.get(key[:i]) if letter == "." else None
        if isinstance(below, Mapping) and (found := _at(below, key[i + 1 :])) is not None:
            return found
    return None


def _told(finding: Finding, file: str) -> Problem:
    where = file if finding.line is None else f"{file}:{finding.line}"
    name = "nearest" if finding.nearest and finding.kind == "unknown" else finding.kind
    text = t(f"config.{name}", where=where, key=finding.key, nearest=finding.nearest)
    return Problem(kind=finding.kind, key=finding.key, line=finding.line, text=text)


def _parsed(home: Home, data: bytes, digest: str) -> Parsed:
    # lazy: the YAML parser costs 40 ms to import, and most starts find the file in the cache
    from hermes.system.config.document import parse
    from hermes.system.config.known_keys import findings  # lazy: as above

    document = parse(decode(data, home.config, home), home.display(home.config))
    return Parsed(
        digest=digest,
        tree=document.tree,
        lines=document.lines,
        findings=findings(_normalised(document.tree), document.lines),
    )
