"""The guard of a run, put together when the first call wants to run: most turns make none."""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cached_property

from hermes.app.tools import Workbench
from hermes.core.ids import IdSource
from hermes.ports.guard import ALLOW, Guard, Proposal, Verdict
from hermes.ports.model import Route
from hermes.system.config.load import Config
from hermes.system.env import Environment
from hermes.system.lazy import load as lazy


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardChoice:
    """What this run decides: `unasked` is `--yolo`, `route` is the model that may judge, `stack`
    closes what is opened."""

    unasked: bool
    route: Route | None
    ids: IdSource
    stack: AsyncExitStack


class RunGuard(Guard):
    """Made at once if there are rules of the owner's, so that a wrong one stops the start. Raises
    ConfigError for that."""

    def __init__(
        self, config: Config, env: Environment, hands: Workbench, choice: GuardChoice
    ) -> None:
        self._parts = (config, env, hands, choice)
        settings = config.settings
        self._ruled = bool(settings.permissions)
        if settings.permissions or settings.approvals.deny:
            _ = self._guard

    @cached_property
    def _guard(self) -> Guard:
        guard: Guard = lazy("hermes.app.chain:guard_of")(*self._parts)
        return guard

    async def judge(self, proposal: Proposal) -> Verdict:
        if not self._ruled and proposal.tool.effects in ("none", "reads"):
            # The chain has nothing to say of it, and the first call would have to load it.
            return ALLOW
        # A sandbox starts while this thinks, for the first time above all.
        terminal, tool = self._parts[2].terminal, proposal.tool.name
        await terminal.expect(proposal.session, tool, proposal.state.cwd)
        return await self._guard.judge(proposal)

    async def answered(
        self, proposal: Proposal, verdict: Verdict, choice: str, rule: str = ""
    ) -> Verdict:
        return await self._guard.answered(proposal, verdict, choice, rule)

    async def drifted(self, proposal: Proposal, verdict: Verdict) -> str:
        return await self._guard.drifted(proposal, verdict) if verdict is not ALLOW else ""
