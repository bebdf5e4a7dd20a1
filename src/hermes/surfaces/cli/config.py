"""`hermes config`: what is set, where it comes from, and careful changes of it."""

import argparse
import json
import sys

from hermes.core.errors import ConfigError
from hermes.surfaces.cli.services import Services
from hermes.surfaces.kit.columns import columns
from hermes.surfaces.kit.plain import printable
from hermes.system.config import edit
from hermes.system.config.explain import explain as explanations
from hermes.system.config.explain import explain_all, shown
from hermes.system.config.load import Config, type_at
from hermes.system.i18n import t


def show(_: argparse.Namespace, services: Services) -> int:
    """Print the keys that are set, by the file or the environment, and what has no effect."""
    config = services.config()
    print(services.home.display(services.home.config))
    told = [e for e in explain_all(config) if e.layers[-1].name != "default"]
    rows = [[e.key, _text(e.layers[-1].value), e.layers[-1].source] for e in told]
    print("\n".join(columns(rows)) if rows else t("verbs.nothing_set"))
    idle = dict.fromkeys(p.key for p in config.problems if p.kind in ("unserved", "unknown"))
    if idle:
        print(f"\n{t('verbs.without_effect')}")
        rows = [[key, _text(shown(key, config.written(key)))] for key in idle]
        print("\n".join(columns(rows)))
    return 0


def get(options: argparse.Namespace, services: Services) -> int:
    """Print the value of a key, or of all keys; a secret is hidden, and stderr says so."""
    config = services.config()
    found = explanations(config, options.key) if options.key else explain_all(config)
    alone = found[0] if len(found) == 1 and found[0].key == options.key else None
    if options.json:
        print(json.dumps(alone.value if alone else {e.key: e.value for e in found}, indent=2))
    elif alone and alone.value in (None, ""):
        print(t("verbs.not_set", key=alone.key), file=sys.stderr)
    elif alone:
        print(_text(alone.value))
    else:
        print("\n".join(columns([[e.key, _text(e.value)] for e in found])))
    if hidden := [e.key for e in found if t("config.hidden") in json.dumps(e.value)]:
        print(t("verbs.secret_hidden", keys=", ".join(hidden)), file=sys.stderr)
    for told in found:
        if not told.served:
            print(t("verbs.not_served", key=told.key), file=sys.stderr)
    return 0


def set_(options: argparse.Namespace, services: Services) -> int:
    """Set a key in the file."""
    key = "model.default" if options.key == "model" else options.key
    edit.set_value(services.home, key, options.value)
    where = services.home.display(services.home.config)
    config = _again(services)
    if config is None:
        print(t("verbs.set_only", where=where, key=key))
        return 0
    line = config.line(key)
    value = _text(shown(key, config.written(key)))
    where = where if line is None else f"{where}:{line}"
    print(printable(t("verbs.set", where=where, key=key, value=value)))
    _tell_effect(config, key)
    return 0


def unset(options: argparse.Namespace, services: Services) -> int:
    """Take a key out of the file."""
    edit.unset(services.home, options.key)
    print(t("verbs.unset", where=services.home.display(services.home.config), key=options.key))
    if config := _again(services):
        _tell_effect(config, options.key)
    return 0


def path(_: argparse.Namespace, services: Services) -> int:
    """Print where the file is, or would be."""
    print(services.home.config)
    return 0


def check(_: argparse.Namespace, services: Services) -> int:
    """Print what is wrong with the files; exit 1 unless it is only keys that are not served yet."""
    config = services.config()
    for problem in config.problems:
        print(printable(problem.text))
    kinds = {problem.kind for problem in config.problems}
    where = services.home.display(services.home.config)
    if not services.home.config.exists():
        print(t("verbs.no_file", path=where))
    elif not kinds:
        print(t("verbs.no_problems", path=where))
    return 0 if kinds <= {"unserved"} else 1


def explain(options: argparse.Namespace, services: Services) -> int:
    """Print what each layer says about a key, and which one counts."""
    for told in explanations(services.config(), options.key):
        for line in told.lines():
            print(printable(line))
        if not told.served:
            print(t("verbs.not_served", key=told.key), file=sys.stderr)
    return 0


def _again(services: Services) -> Config | None:
    """The configuration after a change; None if something else in it is wrong, and that is told."""
    try:
        return services.config()
    except ConfigError as e:
        print(e, file=sys.stderr)
        return None


def _tell_effect(config: Config, key: str) -> None:
    """Say so if the file's word on `key` does not count."""
    try:
        type_at(key)
    except KeyError:
        print(t("verbs.not_served", key=key), file=sys.stderr)
        return
    winner = config.origin(key)
    if winner.name not in ("file", "default"):
        print(t("verbs.overridden", key=key, source=winner.source), file=sys.stderr)


def _text(value: object) -> str:
    """A value on one line: as it is typed, or JSON for a list or a map."""
    match value:
        case None | "":
            return t("config.none")
        case str():
            return printable(" ".join(value.split("\n")))
        case bool() | list() | tuple() | dict():
            return printable(json.dumps(value, ensure_ascii=False))
        case _:
            return str(value)
