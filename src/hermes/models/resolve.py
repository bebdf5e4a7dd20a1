"""From what a user chose to the one route that answers. Nothing is guessed and nothing falls back.

Imports no HTTP: a choice can be checked without paying for a client.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from hermes.core.errors import UserError
from hermes.core.text import clean
from hermes.core.usage import Price
from hermes.models.providers import PROVIDERS, ProviderFacts
from hermes.ports.model import Route
from hermes.system.i18n import t

DIALECT: Final = "chat_completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """What the settings say about the model.

    `provider` is a name or an alias; empty means `custom` if there is a `base_url`. `base_url` and
    `key` given here win over those of the provider. `providers` are the user's own, by name.
    `context_length` and `max_tokens` count tokens.
    """

    model: str
    provider: str = ""
    base_url: str = ""
    key: str = ""
    context_length: int | None = None
    max_tokens: int | None = None
    price: Price | None = None
    providers: Mapping[str, "OwnProvider"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnProvider:
    """A provider that the user defined; `key_variable` names the secret if `key` is empty."""

    base_url: str
    key: str = ""
    key_variable: str = ""


def resolve(choice: ModelChoice, secrets: Mapping[str, str]) -> Route:
    """The route of `choice`; `secrets` holds key variables by name. Raises UserError."""
    name, base_url, key = _where(choice, secrets)
    if choice.base_url and _host(choice.base_url) != _host(base_url):
        key = ""  # a provider's key is not for another host
    base_url = (choice.base_url or base_url).strip()
    key = (choice.key or key).strip()
    if not base_url:
        raise UserError(t("models.no_base_url", provider=name), hint=t("models.no_base_url_hint"))
    if not _usable(base_url):
        raise UserError(t("models.bad_address", url=base_url), hint=t("models.bad_address_hint"))
    if not choice.model.strip():
        raise UserError(t("models.no_model", provider=name), hint=t("models.no_model_hint"))
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise UserError(t("models.bad_key", provider=name), hint=t("models.bad_key_hint"))
    model = clean(choice.model.strip())
    return Route(
        name=f"{name}/{model}",
        provider=name,
        model=model,
        dialect=DIALECT,
        base_url=base_url,
        key=key,
        window=choice.context_length,
        max_output=choice.max_tokens,
        price=choice.price,
    )


def _where(choice: ModelChoice, secrets: Mapping[str, str]) -> tuple[str, str, str]:
    """The provider's own name, and its address and key as far as it has them."""
    wanted = choice.provider.strip() or "custom"
    own = choice.providers.get(wanted.removeprefix("custom:"))
    if own is not None:
        key = own.key or secrets.get(own.key_variable, "")
        return wanted.removeprefix("custom:"), own.base_url, key
    facts = _known(wanted.lower())
    if facts is None:
        raise _unknown(wanted, choice.providers)
    key = next((secrets[v] for v in facts.keys if secrets.get(v)), "")
    elsewhere = choice.base_url and _host(choice.base_url) != _host(facts.base_url)
    if facts.keys and not key and not choice.key and not elsewhere:
        raise UserError(
            t("models.provider_key", provider=facts.name),
            hint=t("models.provider_key_hint", variables=facts.keys[0]),
        )
    return facts.name, facts.base_url, key


def _known(name: str) -> ProviderFacts | None:
    return next((p for p in PROVIDERS if name == p.name or name in p.aliases), None)


def _unknown(wanted: str, own: Mapping[str, OwnProvider]) -> UserError:
    names = [*own, *(n for p in PROVIDERS for n in (p.name, *p.aliases))]
    near = difflib.get_close_matches(wanted.lower(), names, n=1)
    hint = (
        t("models.unknown_provider_near", near=near[0])
        if near
        else t("models.unknown_provider_hint")
    )
    return UserError(t("models.unknown_provider", provider=wanted), hint=hint)


def _host(url: str) -> str:
    return urlsplit(url).netloc.lower()


def _usable(url: str) -> bool:
    try:
        url.encode()
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
