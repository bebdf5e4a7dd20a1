"""`hermes hooks`: what is configured, allowed and well, and what a hook says when it is tried."""

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, get_args

from hermes.core.errors import UserError
from hermes.core.ids import SessionId
from hermes.ports.hook_book import HookBook, HookFacts, HookTrial
from hermes.ports.hooks import HookEvent, HookPayload
from hermes.surfaces.cli.services import Services
from hermes.surfaces.kit.plain import printable
from hermes.system.i18n import t
from hermes.system.lazy import load

SAMPLE: Final = SessionId("hooks-test")
TOP: Final = ("hook_event_name", "tool_name", "tool_input", "session_id", "cwd", "profile", "extra")


async def list_(options: argparse.Namespace, services: Services) -> int:
    """Print every hook with what it is for and whether it may run."""
    async with services.hooks() as book:
        hooks = book.listed()
    if getattr(options, "json", False):
        print(json.dumps([asdict(hook) for hook in hooks], indent=2))
        return 0
    if not hooks:
        print(t("hooks.none"))
    for hook in hooks:
        _show(hook)
    return 0


async def test(options: argparse.Namespace, services: Services) -> int:
    """Run the hooks of one event on a sample, or on the payload of a file."""
    event = _event(options.event)
    payload = _payload(event, options.for_tool, _given(options.payload_file))
    status = 0
    async with services.hooks() as book:
        hooks = [h for h in book.listed() if h.event == event and _meets(h, payload.tool)]
        if not hooks:
            tool = t("hooks.for_tool", tool=options.for_tool) if options.for_tool else ""
            raise UserError(t("hooks.none_for", event=event, tool=tool))
        for hook in hooks:
            try:
                trial = await book.trial(hook, payload)
            except UserError as e:
                print(e, file=sys.stderr)
                status = 1
                continue
            _show_trial(hook, trial, services)
            status = 1 if trial.failure else status
    return status


async def doctor(options: argparse.Namespace, services: Services) -> int:
    """Look at every hook, and try those that may run; 1 if something is wrong."""
    wrong = 0
    async with services.hooks() as book:
        hooks = book.listed()
        for hook in hooks:
            problems = list(hook.problems)
            if hook.consent in ("allowed", "accepted"):
                trial = await book.trial(hook, _payload(hook.event, "", {}))
                if trial.failure and trial.failure not in problems:
                    problems.append(trial.failure)
            _show(hook, problems)
            wrong += bool(problems)
    if not hooks:
        print(t("hooks.none"))
    elif not wrong:
        print(t("hooks.all_well", count=len(hooks)))
    return 1 if wrong else 0


async def allow(options: argparse.Namespace, services: Services) -> int:
    """Let a configured command run from now on, at every event it is configured for."""
    async with services.hooks() as book:
        hooks = _named(book, options.hook)
        for hook in hooks:
            book.allow(hook)
            print(t("hooks.allowed", command=printable(hook.command), event=hook.event))
    return 0


async def revoke(options: argparse.Namespace, services: Services) -> int:
    """Take the consent for a command back; it is asked about again."""
    async with services.hooks() as book:
        count = book.revoke(options.hook)
    command = printable(options.hook)
    if not count:
        raise UserError(t("hooks.not_allowed_before", command=command))
    print(t("hooks.revoked", count=count, command=command))
    return 0


async def offer(services: Services) -> None:
    """Ask about each hook that nobody has allowed yet; silence is no."""
    async with services.hooks() as book:
        for hook in book.listed():
            if hook.consent not in ("new", "changed"):
                continue
            matcher = (
                t("hooks.ask_matcher", matcher=printable(hook.matcher)) if hook.matcher else ""
            )
            root = t("hooks.ask_root", root=printable(hook.root)) if hook.root else ""
            # lazy: the line editor costs 100 ms, and few starts have something to ask
            answer = await load("hermes.surfaces.cli.asking:ask")(
                t(
                    "hooks.ask" if hook.consent == "new" else "hooks.ask_again",
                    event=hook.event,
                    matcher=matcher,
                    command=printable(hook.command),
                    root=root,
                )
            )
            if answer in ("y", "yes"):
                book.allow(hook)
            else:
                print(t("hooks.declined"))


def _named(book: HookBook, command: str) -> list[HookFacts]:
    hooks = [hook for hook in book.listed() if hook.command == command]
    if not hooks:
        raise UserError(
            t("hooks.no_such", command=printable(command)), hint=t("hooks.no_such_hint")
        )
    return hooks


def _event(name: str) -> HookEvent:
    events: tuple[HookEvent, ...] = get_args(HookEvent)
    for event in events:
        if event == name:
            return event
    raise UserError(
        t("hooks.no_event", event=printable(name)),
        hint=t("hooks.no_event_hint", events=", ".join(events)),
    )


def _meets(hook: HookFacts, tool: str) -> bool:
    # lazy: the pattern was compiled when the configuration was read, so it is one
    import re

    return not tool or not hook.matcher or re.fullmatch(hook.matcher, tool) is not None


def _given(path: str) -> Mapping[str, Any]:
    if not path:
        return {}
    try:
        given = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as e:
        raise UserError(t("hooks.bad_payload", path=printable(path))) from e
    if not isinstance(given, dict):
        raise UserError(t("hooks.bad_payload", path=printable(path)))
    return given


def _payload(event: HookEvent, tool: str, given: Mapping[str, Any]) -> HookPayload:
    """A sample payload of `event`; what `given` holds wins, keys of its own go into `extra`."""
    sample: dict[str, object] = {"turn_id": "turn-test", "model": "sample", "platform": "cli"}
    if event in ("pre_llm_call", "post_llm_call"):
        sample |= {"user_message": "Hello", "is_first_turn": True}
    name, arguments = "", None
    if event in ("pre_tool_call", "post_tool_call"):
        name = tool or str(given.get("tool_name") or "terminal")
        arguments = given.get("tool_input", {"command": "echo hello"})
        sample |= {"tool_call_id": "call-test"}
    if event == "post_tool_call":
        sample |= {
            "result": '{"output": "hello", "exit_code": 0}',
            "duration_ms": 1,
            "status": "ok",
        }
    sample |= {key: value for key, value in given.items() if key not in TOP}
    inner = given.get("extra")
    return HookPayload(
        event=event,
        session=SessionId(str(given.get("session_id", SAMPLE))),
        cwd=str(Path.cwd()),
        tool=name,
        tool_input=arguments,
        extra={**sample, **(inner if isinstance(inner, dict) else {})},
    )


def _show(hook: HookFacts, problems: list[str] | None = None) -> None:
    print(t("hooks.row", event=hook.event, command=printable(hook.command)))
    if hook.matcher:
        print(t("hooks.row_matcher", matcher=printable(hook.matcher)))
    fails = t("hooks.fails_closed" if hook.fail_closed else "hooks.fails_open")
    consent = t(f"hooks.consent_{hook.consent}")
    print(t("hooks.row_facts", timeout=hook.timeout, fails=fails, consent=consent))
    if hook.root:
        print(t("hooks.row_root", root=printable(hook.root)))
    for problem in hook.problems if problems is None else problems:
        print(t("hooks.problem", problem=printable(problem)))


def _show_trial(hook: HookFacts, trial: HookTrial, services: Services) -> None:
    command, status = printable(hook.command), trial.exit_code
    print(t("hooks.tried", command=command, status=status, seconds=trial.seconds))
    for text in (trial.stdout, trial.stderr):
        for line in services.redact(text).splitlines():
            print(t("hooks.meaning", meaning=printable(line)))
    if trial.failure:
        print(t("hooks.problem", problem=printable(trial.failure)))
        return
    answer = trial.answer
    meanings = [t(f"hooks.meaning_{answer.decision}", message=answer.message)]
    if answer.arguments is not None:
        text = json.dumps(dict(answer.arguments), ensure_ascii=False)
        meanings.append(t("hooks.meaning_arguments", arguments=text))
    meanings += [t("hooks.meaning_context", context=context) for context in answer.context]
    for meaning in meanings:
        print(t("hooks.meaning", meaning=printable(services.redact(meaning))))
