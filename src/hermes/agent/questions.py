"""Questions that are open in a session, whichever surface answers them."""

import anyio

from hermes.core.inputs import Answer


class Questions:
    """Any number of open questions by id. The first answer counts; silence takes the default."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[tuple[str, ...], anyio.Event]] = {}
        self._choices: dict[str, str] = {}

    def answer(self, answer: Answer) -> None:
        """Settle an open question; answers to closed ones and choices not offered are ignored."""
        choices, event = self._open.get(answer.question, ((), None))
        if event is not None and answer.choice in choices and not event.is_set():
            self._choices[answer.question] = answer.choice
            event.set()

    async def wait(self, id: str, choices: tuple[str, ...], *, default: str, seconds: float) -> str:
        """The choice of a person, or `default` after `seconds`."""
        event = anyio.Event()
        self._open[id] = (choices, event)
        try:
            with anyio.move_on_after(seconds):
                await event.wait()
            return self._choices.pop(id, default)
        finally:
            del self._open[id]
