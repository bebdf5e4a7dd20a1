"""The first run: nothing is configured, so a person chooses what answers."""

from collections.abc import Callable
from dataclasses import replace

from prompt_toolkit import PromptSession

from hermes.core.errors import HermesError
from hermes.surfaces.cli.echo import TypedAhead
from hermes.surfaces.cli.services import RunChoice, Services
from hermes.system.config.edit import set_values
from hermes.system.i18n import t
from hermes.system.secrets import keep

KEY_VARIABLE = "HERMES_MODEL_KEY"
"""Where the key goes in `.env`; config.yaml only refers to it."""

Fault = Callable[[str], str]
"""What is wrong with an answer, in words; empty if nothing is."""


async def offer(services: Services, run: RunChoice) -> RunChoice | None:
    """Add a provider or take the demo; None if the person leaves, and then nothing was saved."""
    print(t("cli.offer"))
    form = Form()
    try:
        with TypedAhead(form.prompt.input, form.prompt.output).silent():
            if await form.ask("offer_choice", _unlisted) == "2":
                run = replace(run, demo=True)
            else:
                await _provider(services, form, run.model)
    except (EOFError, KeyboardInterrupt):
        print(t("cli.nothing_saved"))
        return None
    print()
    return run


class Form:
    """Questions one after the other, each until its answer has no fault."""

    def __init__(self) -> None:
        self.prompt: PromptSession[str] = PromptSession()

    async def ask(self, name: str, fault: Fault, *, default: str = "", hidden: bool = False) -> str:
        """The answer to the message `name`, of which `fault` finds nothing to say."""
        while True:
            given = await self.prompt.prompt_async(
                t(f"cli.{name}"), default=default, is_password=hidden
            )
            answer = given.strip()
            if not (words := fault(answer)):
                return answer
            print(words)


def _unlisted(answer: str) -> str:
    return "" if answer in ("1", "2") else t("cli.bad_choice")


async def _provider(services: Services, form: Form, model: str) -> None:
    """Ask for an OpenAI-compatible endpoint and save it; each answer is checked as it is given."""
    values = {"model.provider": "custom", "model.default": model or "-"}

    def fault_in(key: str, absent: str) -> Fault:
        def fault(answer: str) -> str:
            if not answer:
                return absent
            try:
                services.default_route({**values, key: answer})
            except HermesError as e:
                return str(e)
            values[key] = answer
            return ""

        return fault

    await form.ask("ask_url", fault_in("model.base_url", t("cli.bad_url")))
    await form.ask("ask_model", fault_in("model.default", t("cli.bad_model")), default=model)
    key = await form.ask("ask_key", fault_in("model.api_key", ""), hidden=True)
    services.home.prepare()
    if key:
        keep(services.home, KEY_VARIABLE, key)
        values["model.api_key"] = f"${{{KEY_VARIABLE}}}"
    set_values(services.home, values)
    services.reload()
    print(t("cli.saved", path=services.home.display(services.home.config)))
