"""Which model a run uses: as chosen, as configured, or (only if allowed) the demo."""

from pathlib import Path

from hermes.core.usage import FREE
from hermes.models.providers import PROVIDERS
from hermes.models.resolve import ModelChoice, OwnProvider, resolve
from hermes.ports.model import Route
from hermes.surfaces.cli.services import RunChoice
from hermes.system.config.load import Config

DEMO_MODEL = "SmolLM2-135M"
DEMO_WINDOW = 8192
LOCAL_WINDOW = 8192
LOCAL = "local"


def route_of(choice: RunChoice, config: Config) -> Route | None:
    """The route of this run; None if nothing is configured. Raises UserError."""
    model = config.settings.model
    provider = choice.provider or model.provider
    if provider == LOCAL or (model.local.path and not (provider or model.base_url)):
        return local_route(choice, config)
    if not (provider or model.base_url or config.settings.providers):
        return demo_route() if choice.demo else None
    if not (provider or model.base_url) and len(config.settings.providers) == 1:
        (provider,) = config.settings.providers
    return resolve(_model_choice(choice, config, provider), _variables(config))


def local_route(choice: RunChoice, config: Config) -> Route:
    """The model in `model.local.path`, or the demo if there is none."""
    local = config.settings.model.local
    if not local.path:
        return demo_route()
    return Route(
        name=f"{LOCAL}/{Path(local.path).stem}",
        provider=LOCAL,
        model=Path(local.path).stem,
        dialect="schema_union",
        base_url="",
        key="",
        window=local.context or LOCAL_WINDOW,
        max_output=config.settings.model.max_tokens,
        price=FREE,
    )


def demo_route() -> Route:
    """The built-in demo model, named as what it is."""
    return Route(
        name=f"{LOCAL}/{DEMO_MODEL}",
        provider=LOCAL,
        model=DEMO_MODEL,
        dialect="schema_union",
        base_url="",
        key="",
        window=DEMO_WINDOW,
        max_output=512,
        price=FREE,
        demo=True,
    )


def _variables(config: Config) -> dict[str, str]:
    """The key variables of every provider that have a value."""
    own = (section.key_env for section in config.settings.providers.values())
    known = (name for provider in PROVIDERS for name in provider.keys)
    return {name: value for name in (*own, *known) if (value := config.secrets.get(name))}


def _model_choice(choice: RunChoice, config: Config, provider: str) -> ModelChoice:
    settings = config.settings
    model = choice.model or settings.model.default
    own = settings.providers.get(provider)
    special = own.models.get(model) if own else None
    switched = bool(choice.provider) and choice.provider != settings.model.provider
    price = settings.model.price.price() or (
        (special.price.price() if special else None) or (own.price.price() if own else None)
    )
    return ModelChoice(
        model=model,
        provider=provider,
        base_url="" if switched else settings.model.base_url,
        key="" if switched else settings.model.api_key,
        context_length=settings.model.context_length
        or (special.context_length if special else None)
        or (own.context_length if own else None),
        max_tokens=settings.model.max_tokens or (special.max_tokens if special else None),
        price=price,
        providers={
            name: OwnProvider(
                base_url=section.base_url, key=section.api_key, key_variable=section.key_env
            )
            for name, section in settings.providers.items()
        },
    )
