"""One short question to a model, beside every conversation."""

from hermes.core.content import Text
from hermes.core.entries import UserEntry
from hermes.core.errors import BadReply
from hermes.core.ids import TurnId
from hermes.core.people import HARNESS
from hermes.core.prompt import FrozenPrompt
from hermes.core.transcript import Epoch
from hermes.models.provider import HttpProvider
from hermes.ports.model import Reply, Route, SideModel


class SideQuestions(SideModel):
    """Asks at the route of `provider`; answers are as long and as warm as that says."""

    def __init__(self, provider: HttpProvider) -> None:
        self._provider = provider

    @property
    def route(self) -> Route:
        return self._provider.route

    async def ask(self, system: str, text: str) -> Reply:
        """See the port."""
        epoch = Epoch(
            number=1,
            prompt=FrozenPrompt(text=system),
            tools=(),
            model=self.route.name,
            opened_at=0.0,
            reason="new",
        )
        entry = UserEntry(turn=TurnId(""), at=0.0, content=(Text(text=text),), origin=HARNESS)
        async with self._provider.open(epoch).ask_aside(entry) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Reply):
                    return chunk
        raise BadReply("the model ended its stream without a reply")

    async def aclose(self) -> None:
        await self._provider.aclose()
