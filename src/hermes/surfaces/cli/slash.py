"""The slash commands of the line chat."""

from hermes.surfaces.cli.chat import Chat
from hermes.surfaces.cli.commands import COMMANDS
from hermes.system.i18n import t


async def help_(chat: Chat, words: list[str]) -> None:
    """List the commands."""
    rows = [f"  /{c.name:<10} {t(c.help)}" for c in COMMANDS if c.slash]
    chat.say("\n".join((*rows, t("cli.keys"))))


async def quit_(chat: Chat, words: list[str]) -> None:
    """Leave."""
    chat.leaving = True


async def new(chat: Chat, words: list[str]) -> None:
    """End this session and open a fresh one."""
    chat.leaving = chat.again = True


async def usage(chat: Chat, words: list[str]) -> None:
    """What this chat has used since it was opened."""
    used = chat.used
    cost = t("cli.cost_unknown") if used.cost_usd is None else f"${used.cost_usd:.4f}"
    chat.say(t("cli.usage", input=used.input, cached=used.cached, output=used.output, cost=cost))


async def model(chat: Chat, words: list[str]) -> None:
    """Which model answers here."""
    chat.say(t("cli.model_here", model=chat.live.route.name, url=chat.live.route.base_url))
