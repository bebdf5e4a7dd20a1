"""Hooks as they are configured, checked whole before a run begins."""

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from msgspec.structs import asdict

from hermes.core.errors import ConfigError
from hermes.ports.hooks import HookEvent
from hermes.system.config.sections import HookSection, HooksSection
from hermes.system.i18n import t

LONGEST: Final = 300.0
"""Seconds that a hook may take at most, as in the reference."""

CALLS: Final = ("pre_tool_call", "post_tool_call")
"""The events of a call, for which `matcher` counts."""

EVENTS: Final[tuple[HookEvent, ...]] = get_args(HookEvent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """One configured hook.

    `base` is the folder that its relative names start from, None for the session's own; `root` is
    the project it comes from, empty for the owner's. `cut`: a longer time was asked for. `closed`
    says that its failure denies, `strict` that the owner wrote so.
    """

    event: HookEvent
    command: str
    argv: tuple[str, ...]
    matcher: str
    pattern: re.Pattern[str] | None
    timeout: float
    cut: bool
    closed: bool
    strict: bool
    root: str

    def meets(self, tool: str) -> bool:
        """Whether this hook is for calls of `tool`."""
        return self.pattern is None or self.pattern.fullmatch(tool) is not None


def hooks_of(
    section: HooksSection, *, where: str, user: Path | None, root: str = ""
) -> tuple[Hook, ...]:
    """The hooks of a configuration, in its order; `where` names the file for an error.

    Raises ConfigError for a hook without a command, and for a command or matcher that cannot be
    read: a hook that judges must not be lost to a slip.
    """
    given: Mapping[str, tuple[HookSection, ...]] = asdict(section)
    return tuple(
        _hook(event, each, f"hooks.{event}[{i}]", where, user, root)
        for event in EVENTS
        for i, each in enumerate(given[event])
    )


def _hook(
    event: HookEvent, given: HookSection, key: str, where: str, user: Path | None, root: str
) -> Hook:
    try:
        argv = shlex.split(given.command)
    except ValueError as e:
        raise _wrong(f"{key}.command", where, str(e)) from e
    if not argv or "\0" in given.command:
        raise _wrong(f"{key}.command", where, t("hooks.no_command"))
    pattern = None
    if given.matcher and event in CALLS:
        try:
            pattern = re.compile(given.matcher)
        except re.error as e:
            raise _wrong(f"{key}.matcher", where, str(e)) from e
    said = given.fail_closed if given.fail_closed is not None else given.failClosed
    judges = event == "pre_tool_call"
    return Hook(
        event=event,
        command=given.command,
        argv=tuple(_expanded(word, user) for word in argv),
        matcher=given.matcher,
        pattern=pattern,
        timeout=min(given.timeout, LONGEST),
        cut=given.timeout > LONGEST,
        closed=judges and said is not False,
        strict=judges and said is True,
        root=root,
    )


def _expanded(word: str, user: Path | None) -> str:
    if user is not None and (word == "~" or word.startswith("~/")):
        return os.path.join(user, word[2:])  # noqa: PTH118  a final slash is kept
    return word


def _wrong(key: str, where: str, reason: str) -> ConfigError:
    return ConfigError(t("hooks.wrong", where=where, key=key, reason=reason), hint=t("hooks.fix"))
