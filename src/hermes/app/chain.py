"""The chain of a run: the owner's rules, the scanner and the judging model of this machine."""

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Final

import anyio

from hermes.app.guard import GuardChoice
from hermes.app.tools import Workbench, registry
from hermes.core.errors import UserError
from hermes.core.ids import RandomIds, SessionId, TurnId
from hermes.core.people import Origin
from hermes.core.transcript import ToolSchema
from hermes.ports.guard import Judge, Proposal, Verdict
from hermes.ports.model import Route, SideModel
from hermes.ports.tool import Arguments, SessionState
from hermes.safety.approvals.rules import Rule, Rules, checked, command_flaw, unfit
from hermes.safety.approvals.scanner import NAME, Scan
from hermes.safety.approvals.steps import Modes
from hermes.safety.approvals.subject import Classifier
from hermes.safety.chain import ApprovalGuard
from hermes.safety.paths import PathPolicy
from hermes.system.config.load import Config
from hermes.system.env import Environment
from hermes.system.i18n import t
from hermes.system.lazy import load as lazy
from hermes.system.paths import Home
from hermes.system.program import running
from hermes.terminals.environment import child_environment

SCAN_SECONDS: Final = 5.0
JUDGED_TOKENS: Final = 16
WIRE: Final = "chat_completions"
ALLOWED: Final = "command_allowlist"


def guard_of(
    config: Config, env: Environment, hands: Workbench, choice: GuardChoice
) -> ApprovalGuard:
    """The guard of a run; raises ConfigError for a rule that can never match."""
    route, home, settings = choice.route, config.home, config.settings
    approvals = settings.approvals
    given = child_environment(env, settings.terminal.env_passthrough)
    # The models that run in this process are too small to judge.
    judged = approvals.mode == "smart" and route is not None and route.dialect == WIRE
    return ApprovalGuard(
        policy=hands.policy,
        off=choice.unasked or approvals.mode == "off",
        classifier=partial(classifier_of, home, hands.policy),
        rules=rules_of(config, partial(_schemas, hands)),
        denied=denied_of(config),
        allowed=settings.command_allowlist,
        modes=Modes(
            cron=approvals.cron_mode,
            single=approvals.single_query_mode,
            other=approvals.unattended_mode,
        ),
        most_refusals=approvals.denial_breaker_threshold,
        scan=_scan_of(given) if approvals.scanner == "auto" else None,
        judge_model=_judge_of(config, env, choice, route) if judged and route is not None else None,
        environ=lambda _: given,
        save=partial(_save, home),
        redact=hands.redactor.redact,
        sudo_password=bool(config.secrets.get("SUDO_PASSWORD")),
    )


async def verdict_on(
    config: Config, env: Environment, hands: Workbench, tool: str, arguments: Arguments, cwd: str
) -> Verdict:
    """What the chain would say of a call now, with a person there and no model asked; nothing is
    run. Raises UserError for a tool that does not exist."""
    found = registry(hands).find(tool)
    if found is None:
        known = ", ".join(sorted(_schemas(hands)))
        raise UserError(
            t("cli.unknown_toolset", name=tool), hint=t("cli.unknown_toolset_hint", known=known)
        )
    async with AsyncExitStack() as stack:
        choice = GuardChoice(unasked=False, route=None, ids=RandomIds(os.urandom), stack=stack)
        guard = guard_of(config, env, hands, choice)
        state, made = SessionState(cwd), found.item()
        proposal = Proposal(
            tool=made.spec,
            arguments=arguments,
            state=state,
            origin=Origin(surface="cli", person=True),
            session=SessionId(""),
            turn=TurnId(""),
            # Nobody knows what a command touches; its tool would want shells to say so.
            touches=await made.touches(arguments, state) if made.spec.effects != "world" else (),
        )
        return await guard.judge(proposal)


def _schemas(hands: Workbench) -> Mapping[str, ToolSchema]:
    """Every tool there is, by name."""
    return {tool.name: tool.item().spec.schema for tool in registry(hands)}


def classifier_of(home: Home, policy: PathPolicy) -> Classifier:
    """What parses commands; its parser is loaded with the first command."""
    make = lazy("hermes.safety.commands.classify:Classifier")
    own = (os.getpid(), os.getpgrp())
    classifier: Classifier = make(home=policy.user, hermes_home=home.root, pids=own)
    return classifier


def rules_of(config: Config, tools: Callable[[], Mapping[str, ToolSchema]]) -> Rules:
    """`permissions`, each of which can match something; raises ConfigError."""
    sections = config.settings.permissions
    if not sections:
        return Rules()
    rules = [
        Rule(
            tool=section.tool or "*",
            match=section.match.strip(),
            argument=section.argument,
            decision=section.decision,
            source=f"permissions[{i}]",
        )
        for i, section in enumerate(sections)
    ]
    return checked(rules, tools(), partial(_place, config))


def denied_of(config: Config) -> tuple[str, ...]:
    """`approvals.deny`, each of which can match something; raises ConfigError."""
    globs = config.settings.approvals.deny
    for i, glob in enumerate(globs):
        why = command_flaw(glob) if glob.strip() else t("approvals.rule_empty")
        if why is not None:
            source = f"approvals.deny[{i}]"
            raise unfit(_place(config, source), source, why)
    return tuple(glob.strip() for glob in globs)


def _place(config: Config, source: str) -> str:
    """File and line of what stands at `source`, such as `permissions[0]`."""
    file = config.home.display(config.home.config)
    line = config.line(source) or config.line(source.partition("[")[0])
    return file if line is None else f"{file}:{line}"


def _judge_of(config: Config, env: Environment, choice: GuardChoice, route: Route) -> Judge:
    """The judging model: the one of the run, asked for one word. Made when first needed."""
    made: list[SideModel] = []

    async def model() -> SideModel:
        if not made:
            short = replace(route, max_output=JUDGED_TOKENS, temperature=0.0)
            make = lazy("hermes.app.provider:side_model_of")
            side = make(short, config, env, choice.ids)
            choice.stack.push_async_callback(side.aclose)
            made.append(side)
        return made[0]

    judge: Judge = lazy("hermes.safety.approvals.judge:ModelJudge")(
        model=model, policy=config.settings.approvals.smart_policy
    )
    return judge


async def _save(home: Home, rule: str) -> None:
    # lazy: the YAML parser costs 40 ms to import
    append_item = lazy("hermes.system.config.edit:append_item")
    await anyio.to_thread.run_sync(append_item, home, ALLOWED, rule)


def _scan_of(env: Mapping[str, str]) -> Scan | None:
    """Runs Tirith, if it is installed."""
    program = shutil.which(NAME, path=env.get("PATH", ""))
    if program is None:
        return None

    async def scan(command: str) -> tuple[int, str]:
        words = [program, "check", "--non-interactive", "--shell", "posix", "--", command]
        output = b""
        try:
            with anyio.fail_after(SCAN_SECONDS):
                async with running(words, env=env) as scanner:
                    while piece := await scanner.receive():
                        output += piece
                    status, said = await scanner.end()
        except TimeoutError as e:
            raise OSError(t("approvals.scanner_slow", seconds=f"{SCAN_SECONDS:g}")) from e
        return status, output.decode("utf-8", "replace") or said

    return scan
