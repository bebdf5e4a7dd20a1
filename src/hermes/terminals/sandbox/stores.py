"""What a person may open to commands by name: credential stores, and sockets of other programs."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from hermes.core.errors import ConfigError
from hermes.safety.path_area import below
from hermes.safety.path_lists import SOCKET_PATTERNS, SOCKETS, STORES
from hermes.system.i18n import t

NAMES = tuple(sorted({*STORES, *SOCKETS, *SOCKET_PATTERNS}))

VARIABLES: Mapping[str, str] = {
    "CONTAINER_HOST": "container-socket",
    "DBUS_SESSION_BUS_ADDRESS": "desktop",
    "DBUS_SYSTEM_BUS_ADDRESS": "dbus",
    "DOCKER_HOST": "container-socket",
    "STY": "screen",
    "TMUX": "tmux",
    "TMUX_PANE": "tmux",
}
"""Variables that lead to a socket, and the name that opens it."""


def paths_of(name: str, people: Iterable[Path]) -> tuple[Path, ...]:
    """The paths for which `name` stands, there or not; those with patterns only if they are."""
    found = below(people, STORES.get(name, ()))
    found += below((Path("/"),), SOCKETS.get(name, ()))
    if name == "container-socket":
        found += below(people, (".docker/run/docker.sock",))
    return found + tuple(
        path for each in SOCKET_PATTERNS.get(name, ()) for path in Path("/").glob(each[1:])
    )


def check(names: Iterable[str]) -> None:
    """Raise ConfigError for a name that stands for nothing."""
    for name in names:
        if name not in NAMES:
            # lazy: only for the message of an error
            from difflib import get_close_matches

            close = get_close_matches(name, NAMES, 1)
            hint = t("sandbox.nearest", name=close[0]) if close else ""
            raise ConfigError(
                t("sandbox.unknown_store", name=name),
                hint=f"{hint}{t('sandbox.stores', names=', '.join(NAMES))}",
            )


def name_of(path: str, people: Iterable[Path], exposed: Iterable[str]) -> str | None:
    """The name that would open `path`; None if none would, or it is open."""
    homes = tuple(people)
    for name in NAMES:
        if name not in exposed:
            for found in map(os.fspath, paths_of(name, homes)):
                if path == found or path.startswith(f"{found}/"):
                    return name
    return None
