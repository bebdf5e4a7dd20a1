"""The slash commands of the line chat."""

from hermes.core.inputs import Yolo
from hermes.surfaces.cli.chat import Chat
from hermes.surfaces.cli.commands import COMMANDS
from hermes.surfaces.cli.pen import used
from hermes.surfaces.kit.columns import columns
from hermes.system.i18n import t


async def help_(chat: Chat, words: list[str]) -> None:
    """List the commands."""
    rows = columns([[f"  /{c.name}", t(c.help)] for c in COMMANDS if c.slash])
    chat.say("\n".join((*rows, "", t("cli.keys"))))


async def quit_(chat: Chat, words: list[str]) -> None:
    """Leave."""
    chat.leaving = True


async def new(chat: Chat, words: list[str]) -> None:
    """End this session and open a fresh one."""
    chat.leaving = chat.again = True


async def usage(chat: Chat, words: list[str]) -> None:
    """What this chat has used since it was opened."""
    chat.say(used(chat.used))


async def model(chat: Chat, words: list[str]) -> None:
    """Which model answers here."""
    route = chat.live.route
    where = route.base_url or t("cli.this_machine")
    chat.say(t("cli.model_here", model=route.name, where=where))
    if words:
        chat.say(t("cli.model_stays"))


async def yolo(chat: Chat, words: list[str]) -> None:
    """Ask nothing in this session, or ask again."""
    chat.yolo = not chat.yolo
    await chat.live.send(Yolo(on=chat.yolo))
    chat.say(t("cli.yolo_on" if chat.yolo else "cli.yolo_off"))
