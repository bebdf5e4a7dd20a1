"""Why a turn is over, in one value."""

import logging
from dataclasses import dataclass

from hermes.core.errors import BudgetSpent, HermesError, ModelError, StoreError
from hermes.core.events import EndReason
from hermes.system.i18n import t

log = logging.getLogger("hermes.agent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why the turn is over, what the person reads, and the reason in words if it is not success."""

    why: EndReason
    text: str
    detail: str = ""


def first_of(group: BaseExceptionGroup[HermesError]) -> HermesError:
    first = group.exceptions[0]
    return first_of(first) if isinstance(first, BaseExceptionGroup) else first


def failure(error: HermesError) -> Ending:
    match error:
        case BudgetSpent():
            return Ending(why="budget", text=str(error), detail=str(error))
        case StoreError():
            return Ending(why="failed", text=t("turn.store_failed", why=error), detail=str(error))
        case ModelError():
            return Ending(why="failed", text=str(error), detail=str(error))
        case _:
            log.error("turn failed", exc_info=error)
            return Ending(why="failed", text=str(error), detail=str(error))
