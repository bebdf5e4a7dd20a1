"""`hermes model`: which model answers, another one, or the demo."""

import argparse
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

from hermes.core.errors import UserError
from hermes.ports.model import Route
from hermes.surfaces.cli.services import Services
from hermes.surfaces.kit.columns import columns
from hermes.surfaces.kit.plain import printable
from hermes.system.config.edit import set_values
from hermes.system.config.sections import ModelSection
from hermes.system.i18n import t

INSTALL = "install"
DEMO = "smollm2"
CUSTOM = "custom"


async def run(options: argparse.Namespace, services: Services) -> int:
    """Show the model; set it; or `install`."""
    match options.words:
        case [command, *names] if command == INSTALL:
            return await _install(names, services)
        case [] if not (options.provider or options.base_url):
            return _show(services)
        case [] | [_]:
            model = options.words[0] if options.words else ""
            return _set(model, options.provider.strip(), options.base_url.strip(), services)
    raise UserError(t("verbs.one_model"), hint=t("verbs.one_model_hint"))


async def _install(names: list[str], services: Services) -> int:
    if names not in ([], [DEMO]):
        raise UserError(t("verbs.no_such_demo", name=" ".join(names)), hint=t("verbs.demo_hint"))
    path = await services.install_demo()
    print(t("verbs.demo_ready", path=services.home.display(path)))
    return 0


def _show(services: Services) -> int:
    route = services.default_route({})
    if route is None:
        print(t("verbs.no_model"))
        return 1
    _tell(route)
    return 0


def _set(model: str, provider: str, base_url: str, services: Services) -> int:
    """Save the choice once it is known to lead somewhere; one write, or none."""
    old = services.config().settings.model
    wanted = _changes(model, provider, base_url, old)
    route = services.default_route(wanted)
    if route is None:
        raise UserError(t("verbs.no_endpoint"), hint=t("verbs.no_endpoint_hint"))
    if model and route.model != model.strip():
        raise UserError(
            t("verbs.other_model", provider=route.provider, model=route.model),
            hint=t("verbs.other_model_hint", provider=route.provider),
        )
    if old.api_key and _elsewhere(wanted, route, old):
        raise UserError(t("verbs.key_of_another"), hint=t("verbs.key_of_another_hint"))
    written = services.config().written
    set_values(
        services.home, {key: value for key, value in wanted.items() if value or written(key)}
    )
    print(t("cli.saved", path=services.home.display(services.home.config)), file=sys.stderr)
    _tell(route)
    for key in wanted:
        origin = services.config().origin(key)
        if origin.name == "environment":
            print(t("verbs.overridden", key=key, source=origin.source), file=sys.stderr)
    return 0


def _changes(model: str, provider: str, base_url: str, old: ModelSection) -> Mapping[str, str]:
    """The keys that name a model and its place: another place replaces the old one whole."""
    changes = {"model.default": model} if model else {}
    if base_url or (provider and provider != old.provider):
        changes["model.provider"] = provider or CUSTOM
        changes["model.base_url"] = base_url
    return changes


def _elsewhere(changes: Mapping[str, str], route: Route, old: ModelSection) -> bool:
    """Whether `model.api_key` was given for another place than that of `route`."""
    if "model.provider" not in changes:
        return False
    if old.base_url:
        return urlsplit(old.base_url).netloc != urlsplit(route.base_url).netloc
    return bool(old.provider) and old.provider != changes["model.provider"]


def _tell(route: Route) -> None:
    price = route.price
    rows = [
        (t("verbs.row_model"), route.name + (f" ({t('verbs.a_demo')})" if route.demo else "")),
        (t("verbs.row_address"), route.base_url or t("verbs.this_machine")),
        (
            t("verbs.row_window"),
            t("verbs.tokens", count=route.window) if route.window else t("verbs.not_known"),
        ),
        (
            t("verbs.row_price"),
            t("verbs.price", input=price.input, output=price.output)
            if price
            else t("verbs.not_known"),
        ),
        (t("verbs.row_key"), t("verbs.key_set") if route.key else t("verbs.no_key")),
    ]
    print("\n".join(printable(line) for line in columns(rows)))
