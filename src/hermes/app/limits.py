"""The bounds of a run: what was asked for, or what is configured."""

from hermes.agent.limits import Limits
from hermes.surfaces.cli.services import RunChoice
from hermes.system.config.settings import Settings

CHAT_STEPS = 500
"""Model calls in a turn of a chat when nothing else is set; one-shots have no limit. The
reference's numbers."""


def limits_of(settings: Settings, choice: RunChoice) -> Limits:
    """The bounds of a run's turns."""
    steps = choice.max_turns or settings.agent.max_turns
    if steps is None and choice.surface == "cli":
        steps = CHAT_STEPS
    usd = settings.budget.usd
    return Limits(
        steps=None if steps == "unlimited" else steps,
        turn_seconds=settings.request.turn_timeout or settings.agent.run_budget_seconds,
        attempts=settings.agent.api_max_retries,
        approval_seconds=settings.approvals.timeout,
        usd_per_turn=usd.turn,
        usd_per_session=usd.session,
        usd_per_day=usd.day,
        allow_unpriced=settings.budget.unpriced == "allow",
    )
