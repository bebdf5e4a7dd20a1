"""The hooks of a run: which are told of an event, what they said together, and who may look."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

from hermes.core.errors import HermesError, UserError
from hermes.ports.hook_book import HookConsent, HookFacts, HookTrial
from hermes.ports.hooks import HookAnswer, HookEvent, HookPayload
from hermes.ports.tool import Arguments
from hermes.safety.hooks.answers import Reading, read
from hermes.safety.hooks.configured import CALLS, LONGEST, Hook
from hermes.safety.hooks.consent import Consents
from hermes.safety.hooks.run import HookRunner, Ran
from hermes.system.i18n import t

log = logging.getLogger("hermes.hooks")

SCHEMA: Final = "hermes.observer.v1"
SHOWN: Final = 30, 70
"""Characters of a long command in a sentence: its first and its last."""


@final
class ShellHooks:
    """The configured hooks; see `ports.hooks.Hooks` and `ports.hook_book.HookBook`.

    A hook that was to judge a call and could not denies it, unless `fail_closed: false` is set. One
    that no person has allowed yet does not run; if its owner wrote `fail_closed: true`, that denies
    as well. `redact` is for what people read.
    """

    def __init__(
        self,
        hooks: Sequence[Hook],
        *,
        consents: Consents,
        runner: HookRunner,
        profile: str,
        redact: Callable[[str], str],
    ) -> None:
        self._hooks = tuple(hooks)
        self._consents = consents
        self._runner = runner
        self._profile = profile
        self._redact = redact
        self._told: set[Hook] = set()

    async def aclose(self) -> None:
        """End whatever still runs."""
        await self._runner.aclose()

    # a run

    def wants(self, event: HookEvent, tool: str = "") -> bool:
        return any(hook.event == event and hook.meets(tool) for hook in self._hooks)

    async def fire(self, payload: HookPayload) -> HookAnswer:
        answer = _Answer(payload.tool_input, self._redact)
        for hook in self._hooks:
            if hook.event != payload.event or not hook.meets(payload.tool):
                continue
            if hindrance := self._hindrance(hook):
                self._not_run(hook, hindrance, answer)
            else:
                reading = await self._heard(hook, payload, answer.arguments)
                self._weigh(hook, reading, answer)
            if answer.denied:
                break
        return answer.given()

    async def _heard(
        self, hook: Hook, payload: HookPayload, arguments: Arguments | None
    ) -> Reading:
        try:
            data = _wire(payload, arguments, self._profile)
            ran = await self._runner.run(hook, data, cwd=payload.cwd)
            reading = read(hook.event, ran)
        except Exception as e:  # boundary: one hook
            log.exception("hook %s", hook.command)
            return Reading(failure=t("hooks.broke", kind=type(e).__name__))
        log.debug("hook %s: %s in %.3f s", hook.command, ran.exit_code, ran.seconds)
        return reading

    def _weigh(self, hook: Hook, reading: Reading, answer: "_Answer") -> None:
        if reading.failure:
            name = self._name(hook)
            log.warning("hook %s at %s: %s", name, hook.event, reading.failure)
            answer.notices.append(
                t("hooks.failed", event=hook.event, command=name, failure=reading.failure)
            )
            if hook.closed:
                answer.deny(t("hooks.judge_failed", command=name, failure=reading.failure))
            return
        answer.take(reading)

    def _hindrance(self, hook: Hook) -> str:
        """Why `hook` may not run, empty if it may."""
        try:
            consent = self._consents.of(hook)
        except (HermesError, OSError) as e:
            return str(e)
        return "" if consent in ("allowed", "accepted") else t(f"hooks.{consent}")

    def _not_run(self, hook: Hook, hindrance: str, answer: "_Answer") -> None:
        name = self._name(hook)
        if hook not in self._told:
            self._told.add(hook)
            log.warning("hook %s at %s did not run: %s", name, hook.event, hindrance)
            answer.notices.append(
                t("hooks.not_run", event=hook.event, command=name, reason=hindrance)
            )
        if hook.strict:
            answer.deny(t("hooks.judge_absent", command=name, reason=hindrance))

    def _name(self, hook: Hook) -> str:
        command = self._redact(hook.command)
        first, last = SHOWN
        return command if len(command) <= sum(SHOWN) else f"{command[:first]}…{command[-last:]}"

    # for people

    def listed(self) -> tuple[HookFacts, ...]:
        return tuple(map(self._facts, self._hooks))

    def allow(self, hook: HookFacts) -> None:
        self._consents.allow(self._find(hook))

    def revoke(self, command: str) -> int:
        return self._consents.revoke(command)

    async def trial(self, hook: HookFacts, payload: HookPayload) -> HookTrial:
        found = self._find(hook)
        if hindrance := self._hindrance(found):
            name = self._name(found)
            raise UserError(t("hooks.not_run", event=hook.event, command=name, reason=hindrance))
        data = _wire(payload, payload.tool_input, self._profile)
        ran: Ran = await self._runner.run(found, data, cwd=payload.cwd)
        reading = read(found.event, ran)
        answer = _Answer(payload.tool_input, self._redact)
        self._weigh(found, reading, answer)
        return HookTrial(
            exit_code=ran.exit_code,
            seconds=ran.seconds,
            stdout=ran.stdout.decode("utf-8", "replace"),
            stderr=ran.stderr.decode("utf-8", "replace"),
            failure=reading.failure,
            answer=answer.given(),
        )

    def _facts(self, hook: Hook) -> HookFacts:
        consent: HookConsent = self._consents.of(hook)
        program = self._runner.program(hook)
        problems = []
        if program is None:
            problems.append(t("hooks.not_found", detail=hook.argv[0], seconds=0))
        elif not program.stat().st_mode & 0o111:
            problems.append(t("hooks.not_executable", detail=program, seconds=0))
        if consent in ("new", "changed"):
            problems.append(t(f"hooks.{consent}"))
        elif not hook.root and self._consents.drifted(hook):
            problems.append(t("hooks.drifted"))
        if hook.matcher and hook.event not in CALLS:
            problems.append(t("hooks.useless_matcher"))
        if hook.cut:
            problems.append(t("hooks.longest", seconds=LONGEST))
        return HookFacts(
            event=hook.event,
            command=hook.command,
            matcher=hook.matcher,
            timeout=hook.timeout,
            fail_closed=hook.closed,
            root=hook.root,
            consent=consent,
            problems=tuple(problems),
        )

    def _find(self, facts: HookFacts) -> Hook:
        wanted = (facts.event, facts.command, facts.root, facts.matcher)
        return next(h for h in self._hooks if (h.event, h.command, h.root, h.matcher) == wanted)


class _Answer:
    """What has been said so far."""

    def __init__(self, arguments: Arguments | None, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self.arguments = arguments
        self.notices: list[str] = []
        self.denied = False
        self._changed = False
        self._message = ""
        self._asks: list[str] = []
        self._context: list[str] = []

    def deny(self, message: str) -> None:
        self.denied, self._message = True, message

    def take(self, reading: Reading) -> None:
        if reading.decision == "deny":
            self.deny(self._redact(reading.message))
        if reading.decision == "ask":
            self._asks.append(self._redact(reading.message))
        if reading.changes:
            self.arguments = {**(self.arguments or {}), **reading.changes}
            self._changed = True
        if reading.context:
            self._context.append(self._redact(reading.context))

    def given(self) -> HookAnswer:
        asked = "\n".join(self._asks)
        return HookAnswer(
            decision="deny" if self.denied else "ask" if self._asks else "pass",
            message=self._message if self.denied else asked,
            arguments=self.arguments if self._changed else None,
            context=tuple(self._context),
            notices=tuple(self.notices),
        )


def _wire(payload: HookPayload, arguments: Arguments | None, profile: str) -> bytes:
    """The JSON that a hook reads, keys as in the reference."""
    extra: Mapping[str, Any] = {
        "task_id": payload.session,
        **payload.extra,
        "telemetry_schema_version": SCHEMA,
    }
    keys = {
        "hook_event_name": payload.event,
        "tool_name": payload.tool or None,
        "tool_input": dict(arguments) if arguments is not None else None,
        "session_id": payload.session,
        "cwd": payload.cwd,
        "profile": profile,
        "extra": extra,
    }
    # In ASCII, so that half a character in an argument stays the escape that it came as.
    return json.dumps(keys).encode() + b"\n"
