"""Questions that are open in a session, whichever surface answers them."""

from dataclasses import dataclass

import anyio

from hermes.core.inputs import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """What a person is asked: in short, in full, what they may choose, what silence means, and
    what the choice `always` would save."""

    text: str
    detail: str
    choices: tuple[str, ...]
    default: str
    rule: str = ""


class Questions:
    """Any number of open questions by id. The first answer counts; silence takes the default."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[tuple[str, ...], anyio.Event]] = {}
        self._answers: dict[str, Answer] = {}

    def answer(self, answer: Answer) -> None:
        """Settle an open question; answers to closed ones and choices not offered are ignored."""
        choices, event = self._open.get(answer.question, ((), None))
        if event is not None and answer.choice in choices and not event.is_set():
            self._answers[answer.question] = answer
            event.set()

    async def wait(self, id: str, inquiry: Inquiry, *, seconds: float) -> Answer:
        """The answer of a person, or the default after `seconds`."""
        event = anyio.Event()
        self._open[id] = (inquiry.choices, event)
        try:
            with anyio.move_on_after(seconds):
                await event.wait()
            silence = Answer(question=id, choice=inquiry.default)
            return self._answers.pop(id, silence)
        finally:
            del self._open[id]
