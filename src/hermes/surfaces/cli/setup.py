"""The first run: nothing is configured, so a person chooses what answers."""

import sys
from dataclasses import replace
from urllib.parse import urlsplit

from prompt_toolkit import PromptSession

from hermes.core.errors import UserError
from hermes.surfaces.cli.services import RunChoice, Services
from hermes.system.config.edit import set_values
from hermes.system.i18n import t
from hermes.system.secrets import keep

KEY_VARIABLE = "HERMES_MODEL_KEY"
"""Where the key goes in `.env`; config.yaml only refers to it."""


async def offer(services: Services, run: RunChoice) -> RunChoice | None:
    """Add a provider or take the demo; None if neither was chosen or nobody can choose."""
    if run.demo:
        return run
    if not sys.stdin.isatty():
        raise UserError(t("cli.no_model_oneshot"))
    print(t("cli.offer"))
    prompt: PromptSession[str] = PromptSession()
    try:
        choice = (await prompt.prompt_async(t("cli.offer_choice"))).strip()
        if choice == "2":
            return replace(run, demo=True)
        if choice == "1":
            return run if await _provider(services, prompt) else None
    except (EOFError, KeyboardInterrupt):
        pass
    return None


async def _provider(services: Services, prompt: PromptSession[str]) -> bool:
    """Ask for an OpenAI-compatible endpoint and save it; false if it was not understood."""
    url = (await prompt.prompt_async(t("cli.ask_url"))).strip()
    if urlsplit(url).scheme not in ("http", "https"):
        print(t("cli.bad_url"), file=sys.stderr)
        return False
    model = (await prompt.prompt_async(t("cli.ask_model"))).strip()
    if not model:
        print(t("cli.bad_model"), file=sys.stderr)
        return False
    key = (await prompt.prompt_async(t("cli.ask_key"), is_password=True)).strip()
    values = {"model.provider": "custom", "model.base_url": url, "model.default": model}
    services.home.prepare()
    if key:
        keep(services.home, KEY_VARIABLE, key)
        values["model.api_key"] = f"${{{KEY_VARIABLE}}}"
    set_values(services.home, values)
    services.reload()
    print(t("cli.saved", path=services.home.display(services.home.config)))
    return True
