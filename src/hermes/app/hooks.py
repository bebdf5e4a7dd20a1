"""The shell hooks of a run: the owner's, and those of a project that the owner trusts."""

from collections.abc import Callable
from pathlib import Path

from hermes.app.terminal import RunJails
from hermes.core.clock import Clock
from hermes.ports.trust import FolderTrust
from hermes.safety.hooks.bus import ShellHooks
from hermes.safety.hooks.configured import Hook, hooks_of
from hermes.safety.hooks.consent import Consents
from hermes.safety.hooks.run import HookRunner
from hermes.system.config.load import Config
from hermes.system.config.project import NAME, load_project
from hermes.system.env import Environment
from hermes.system.paths import Home
from hermes.terminals.environment import child_environment


def shell_hooks(
    config: Config,
    env: Environment,
    trust: FolderTrust | None,
    *,
    jails: RunJails | None,
    redact: Callable[[str], str],
    clock: Clock,
    accept: bool = False,
) -> ShellHooks:
    """The hooks that count in this folder; `accept` allows each of them for good.

    Without `trust` no project is looked for, without `jails` there is no sandbox. Raises
    ConfigError.
    """
    home, settings = config.home, config.settings
    hooks = hooks_of(settings.hooks, where=home.display(home.config), user=home.user)
    if trust is not None:
        hooks += _project_hooks(trust, home)
    consents = Consents(home, clock, accept=settings.hooks_auto_accept)
    for hook in hooks if accept else ():
        if consents.of(hook) != "allowed":
            consents.allow(hook)
    return ShellHooks(
        hooks,
        consents=consents,
        runner=HookRunner(
            child_environment(env, settings.terminal.env_passthrough),
            home.root,
            jails.jail if jails is not None else None,
        ),
        profile=home.profile,
        redact=redact,
    )


def _project_hooks(trust: FolderTrust, home: Home) -> tuple[Hook, ...]:
    project = trust.project(Path.cwd())
    if project is None or project.standing != "trusted":
        return ()
    return hooks_of(
        load_project(project.root, home).hooks,
        where=home.display(project.root / NAME),
        user=home.user,
        root=str(project.root),
    )
