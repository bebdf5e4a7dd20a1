"""The path policy: which paths are hidden, which are read-only, which a person is asked about.

One object, which the file tools obey, and from which a sandbox of the operating system is made: it
answers for one path, and shows the lists that its answers come from. In this process it is a
heuristic, as a shell command does not pass here.
"""

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, final

from hermes.safety.path_area import Area, anywhere_in, below
from hermes.safety.path_lists import (
    CREDENTIALS,
    HOME_DATABASES,
    HOME_OWN,
    HOME_SECRETS,
    INSTRUCTIONS,
    MIRRORS,
    RUN_BY_GIT,
    SECRET_FILES,
    SOCKET_PATTERNS,
    SOCKETS,
    SSH_SETTINGS,
    START_FILES,
    SYSTEM,
)
from hermes.system.i18n import t

ANYWHERE: Final = (Path("/"),)


@final
class PathPolicy:
    """What may be done with a path. All paths it is asked about are canonical.

    `home` is the home of Hermes (of one profile), `user` the person's own; `people` are further
    homes of persons with credentials of their own. `safe_roots`, if any, are the only folders that
    may be written. `interpreter` is the Python that runs Hermes. `protect` asks about files that
    instruct agents, `extra` adds patterns to them. `confine` limits reading to one folder, with
    nothing to be written (the demo).
    """

    def __init__(
        self,
        *,
        home: Path,
        user: Path | None,
        people: Sequence[Path] = (),
        safe_roots: Sequence[Path] = (),
        interpreter: Sequence[Path] = (),
        protect: bool = True,
        extra: Sequence[str] = (),
        confine: Path | None = None,
    ) -> None:
        self._home = _real(home)
        self.user = user
        self._people = tuple(map(_real, dict.fromkeys((*((user,) if user else ()), *people))))
        self._safe_roots = tuple(map(_real, safe_roots))
        self._interpreter = tuple(interpreter)
        self._protect = protect
        self._extra = tuple(extra)
        self._confine = None if confine is None else _real(confine)

    @property
    def people(self) -> tuple[Path, ...]:
        """The homes of persons with credentials of their own."""
        return self._people

    @property
    def home(self) -> Path:
        """The home of Hermes."""
        return self._home

    def unreadable(self, path: Path) -> str | None:
        """Why `path` may not be read, or None. Completes "it was not read: ..."."""
        if self._confine is not None and not path.is_relative_to(self._confine):
            return f"only files under {self._confine} can be read here"
        return next((area.reason for area in self.hidden if area.holds(path)), None)

    def unwritable(self, path: Path) -> str | None:
        """Why `path` may not be written, even if a person allowed it, or None."""
        if not any(path.is_relative_to(root) for root in self.writable):
            if self._confine is not None:
                return "nothing can be written here"
            allowed = os.pathsep.join(map(str, self._safe_roots))
            return f"HERMES_WRITE_SAFE_ROOT allows writing only under {allowed}"
        areas = (*self.read_only, *self.hidden[1:])
        return next((area.reason for area in areas if area.holds(path)), None)

    def sensitive(self, path: Path) -> bool:
        """Whether `path` decides about the whole machine or about Hermes itself; the reference
        tells such a refusal with fewer keys."""
        machine = (self.read_only[0], self.hidden[-1])
        return path == self._home / "config.yaml" or any(area.holds(path) for area in machine)

    def asks(self, path: Path) -> str | None:
        """Why a person has to allow it before `path` is written, or None."""
        return next((area.reason for area in self.asked if area.holds(path)), None)

    def instructs(self, path: Path) -> str | None:
        """Why only a person may allow it, each time, that `path` is written, or None: it is a
        file that instructs agents."""
        if not self._protect:
            return None
        inside, outside = self._instructions
        area = inside if path.is_relative_to(self._home) else outside
        return area.reason if area.holds(path) else None

    @cached_property
    def _instructions(self) -> tuple[Area, Area]:
        """Files that instruct agents: in Hermes's own home, where its folder's name tells nothing,
        and anywhere else."""
        everywhere = (*INSTRUCTIONS, *self._extra)
        inside = tuple(p for p in everywhere if not p.startswith(".hermes/"))
        reason = t("safety.instructions")
        return Area(reason, patterns=inside), Area(reason, patterns=everywhere)

    @cached_property
    def hidden(self) -> tuple[Area, ...]:
        """What is not read. Not written either, except for the first of these, environment files
        of projects: a person may allow that."""
        own = below(self._homes, (*HOME_SECRETS, *HOME_DATABASES))
        profiles = [anywhere_in(home / "profiles", HOME_SECRETS) for home in self._homes]
        profiles += [anywhere_in(home / "profiles", HOME_DATABASES) for home in self._homes]
        return (
            Area("files of this name hold secrets", patterns=SECRET_FILES),
            Area(
                "it holds Hermes's own secrets or conversations",
                roots=own,
                patterns=sum(profiles, ()),
            ),
            Area(
                "it is in a store of credentials",
                roots=below(self._people, CREDENTIALS),
                but=below(self._people, SSH_SETTINGS),
            ),
            Area(
                "who speaks to a container engine, to the desktop or to another terminal can do "
                "anything there",
                roots=below(self._people, (".docker/run/docker.sock",))
                + below(ANYWHERE, sum(SOCKETS.values(), ())),
                patterns=sum(SOCKET_PATTERNS.values(), ()),
            ),
        )

    @cached_property
    def read_only(self) -> tuple[Area, ...]:
        """What may be read and is written by nobody, not even if a person allowed it."""
        others = tuple(home for home in self._homes if home != self._home)
        another = "it belongs to another profile"
        return (
            Area("it belongs to the system", roots=below(ANYWHERE, SYSTEM)),
            Area("it is Hermes's own", roots=below((self._home,), HOME_OWN)),
            Area(another, roots=others, but=(self._home,)),
            Area(another, roots=(self._home / "profiles",)),
            Area("it is a part of the Python that runs Hermes", roots=self._interpreter),
            Area(
                "it is a sandbox's own copy of a home of Hermes; what is written there "
                "does not reach the real one",
                patterns=MIRRORS,
            ),
        )

    @property
    def writable(self) -> tuple[Path, ...]:
        """The folders below which writing is allowed at all, as far as nothing else is said."""
        if self._confine is not None:
            return ()
        return self._safe_roots or ANYWHERE

    @cached_property
    def asked(self) -> tuple[Area, ...]:
        """What is written only if a person allows it; whoever cannot ask may not write it."""
        return (
            Area(t("safety.secrets"), patterns=SECRET_FILES),
            Area(t("safety.ssh"), roots=below(self._people, SSH_SETTINGS)),
            Area(t("safety.home"), roots=(self._home,)),
            Area(
                t("safety.runs"),
                roots=below(self._people, START_FILES),
                patterns=RUN_BY_GIT,
            ),
            *(self._instructions[1:] if self._protect else ()),
        )

    @cached_property
    def _homes(self) -> tuple[Path, ...]:
        """The homes of Hermes that are known here; profiles are in them."""
        inside = self._home.parent.name == "profiles"
        base = self._home.parent.parent if inside else self._home
        return tuple(dict.fromkeys((base, *(_real(each / ".hermes") for each in self._people))))


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
