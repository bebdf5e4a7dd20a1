"""The checks of `hermes doctor`: each looks at one thing and says what it found, and what to do."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

from hermes.core.errors import HermesError
from hermes.core.people import OWNER
from hermes.ports.model import Route
from hermes.ports.store import SessionStore
from hermes.system.config.load import Config
from hermes.system.env import Environment
from hermes.system.i18n import t
from hermes.system.paths import Home
from hermes.system.secrets import Secrets
from hermes.terminals.sandbox.sandboxes import Sandboxes

Status = Literal["ok", "warn", "fail"]

LITTLE_SPACE: Final = 200_000_000
"""Bytes; a database, its log and a few large results fit into it."""

OLDEST: Final = (3, 11)
NEWEST: Final = (3, 13)
"""The versions of Python that CI runs."""

ENGINE: Final = "xllamacpp"


class Patient(Protocol):
    """What the doctor looks at."""

    @property
    def env(self) -> Environment: ...

    @property
    def home(self) -> Home: ...

    def config(self) -> Config: ...

    def store(self) -> AbstractAsyncContextManager[SessionStore]: ...

    def default_route(self, changes: Mapping[str, str]) -> Route | None: ...

    async def probe(self, route: Route) -> None: ...

    def demo_model(self) -> Path | None: ...

    def sandboxes(self) -> AbstractAsyncContextManager[Sandboxes]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a check found, in a sentence; `hint` says what to do about it."""

    name: str
    status: Status
    text: str
    hint: str = ""


def failed(name: str, error: HermesError) -> Finding:
    """What an error means to the check `name`."""
    return Finding(name=name, status="fail", text=error.message, hint=error.hint or "")


def _ok(name: str, key: str, /, **values: object) -> Finding:
    return Finding(name=name, status="ok", text=t(f"doctor.{key}", **values))


def _warn(name: str, key: str, /, **values: object) -> Finding:
    hint = t(f"doctor.{key}_hint", **values)
    return Finding(name=name, status="warn", text=t(f"doctor.{key}", **values), hint=hint)


def _fail(name: str, key: str, /, **values: object) -> Finding:
    hint = t(f"doctor.{key}_hint", **values)
    return Finding(name=name, status="fail", text=t(f"doctor.{key}", **values), hint=hint)


def home(patient: Patient) -> Finding:
    """Whether the home can be made and written; makes it."""
    patient.home.prepare()
    return _ok("home", "home", path=patient.home.display(patient.home.root))


def config(patient: Patient) -> Finding:
    """Whether the configuration loads, and how much of it has no effect."""
    path = patient.home.display(patient.home.config)
    kinds = [problem.kind for problem in patient.config().problems]
    wrong = kinds.count("unknown") + kinds.count("unset")
    if wrong:
        return _warn("config", "config_wrong", path=path, count=wrong)
    if idle := kinds.count("unserved"):
        return _ok("config", "config_unserved", path=path, count=idle)
    if not patient.home.config.exists():
        return _ok("config", "config_none", path=path)
    return _ok("config", "config", path=path)


def env_file(patient: Patient) -> Finding:
    """Whether `.env` can be read, and by nobody else."""
    path = patient.home.display(patient.home.env_file)
    secrets = Secrets.read(patient.home, patient.env)
    if secrets.problems:
        return Finding(name=".env", status="warn", text=" ".join(secrets.problems))
    return _ok(".env", "env" if patient.home.env_file.exists() else "env_none", path=path)


def disk(patient: Patient) -> Finding:
    """Whether there is room for what is to come."""
    place = patient.home.root
    while not place.exists() and place != place.parent:
        place = place.parent
    free = shutil.disk_usage(place).free
    values = {"free": free // 1_000_000, "path": patient.home.display(place)}
    if free < LITTLE_SPACE:
        return _warn("disk", "disk_little", **values)
    return _ok("disk", "disk", **values)


async def database(patient: Patient) -> Finding:
    """Whether the conversations can be opened, in a layout that this version knows."""
    path = patient.home.display(patient.home.database)
    if not patient.home.database.exists():
        return _ok("database", "database_none", path=path)
    async with patient.store() as store:
        await store.list(OWNER, limit=1)
    return _ok("database", "database", path=path)


def route_of(patient: Patient) -> Route | Finding:
    """The model that is configured, or what is wrong with that."""
    try:
        route = patient.default_route({})
    except HermesError as e:
        return failed("model", e)
    return route or _warn("model", "model_none")


async def reachable(patient: Patient, route: Route) -> Finding:
    """Whether something answers where the model is said to be."""
    await patient.probe(route)
    if route.base_url:
        return _ok("model", "model", name=route.name, url=route.base_url)
    return _ok("model", "model_local", name=route.name)


def embedded(patient: Patient, route: Route | Finding) -> Iterator[Finding]:
    """The engine for models on this machine, and the demo model."""
    needed = isinstance(route, Route) and not route.base_url
    if importlib.util.find_spec(ENGINE):
        yield _ok("engine", "engine")
    elif needed:
        yield _fail("engine", "engine_missing")
    else:
        yield _ok("engine", "engine_none")
    model = patient.demo_model()
    if model is not None:
        yield _ok("demo", "demo", path=patient.home.display(model))
    elif needed and isinstance(route, Route) and route.demo:
        yield _warn("demo", "demo_missing")
    else:
        yield _ok("demo", "demo_none")


def shell(patient: Patient) -> Finding:
    """Whether there is a bash for the terminal tool."""
    path = patient.env.get("PATH", os.defpath)
    found = shutil.which("bash", path=path)
    if found is None:
        return _fail("shell", "no_bash", path=path)
    return _ok("shell", "bash", path=found)


def python() -> Finding:
    """Whether this Python is one that Hermes is tested with."""
    values = {
        "version": sys.version.split()[0],
        "oldest": ".".join(map(str, OLDEST)),
        "newest": ".".join(map(str, NEWEST)),
    }
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        return _warn("python", "python_untested", **values)
    return _ok("python", "python", **values)


async def sandbox(patient: Patient) -> Finding:
    """Whether commands run in a sandbox of the operating system, and in which."""
    async with patient.sandboxes() as sandboxes:
        level, choice = sandboxes.settings.sandbox, await sandboxes.choice()
    if level == "off":
        return _warn("sandbox", "sandbox_off")
    if choice.engine == "none":
        why = "; ".join(f"{engine}: {reason}" for engine, reason in choice.passed_over.items())
        return _warn("sandbox", "sandbox_none", why=why)
    return _ok("sandbox", "sandbox", level=level, engine=choice.engine)
