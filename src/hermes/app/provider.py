"""From a route to a provider that can be asked."""

import sys
from pathlib import Path

from hermes.core.ids import IdSource
from hermes.models.body import Deadlines
from hermes.models.dialects.chat_completions import ChatCompletions
from hermes.models.local.install import install, installed
from hermes.models.local.provider import LocalProvider
from hermes.models.local.server import LocalServer
from hermes.models.provider import HttpProvider
from hermes.models.side import SideQuestions
from hermes.ports.model import ModelProvider, Route
from hermes.system.config.load import Config
from hermes.system.env import Environment
from hermes.system.http import http_transport
from hermes.system.i18n import t
from hermes.system.lazy import load
from hermes.system.paths import Home

LOOPBACK = "http://127.0.0.1"


async def provider_of(
    route: Route, home: Home, config: Config, env: Environment, ids: IdSource
) -> ModelProvider:
    """The provider of `route`. The demo model is fetched first if it is not there yet."""
    if route.dialect == "chat_completions":
        return _over_http(route, config, env, ids)
    local = config.settings.model.local
    server = LocalServer(
        await fetch_demo(home) if route.demo else Path(local.path).expanduser(),
        state_dir=home.locks,
        log=home.logs / "local-model.log",
        context=route.window or 0,
        threads=local.threads or None,
        idle_seconds=local.idle_seconds,
    )
    patience = config.settings.agent.local_stream_stale_timeout
    # lazy: only a run on the embedded model needs its dialect
    dialect = load("hermes.models.dialects.schema_union:SchemaUnion")()
    deadlines = Deadlines(first_byte=patience, idle=patience)
    http = HttpProvider(route, dialect, lambda: http_transport(LOOPBACK, env), ids, deadlines)
    return LocalProvider(server, http)


def side_model_of(route: Route, config: Config, env: Environment, ids: IdSource) -> SideQuestions:
    """For short questions at `route`, beside the conversation; it has its own connection."""
    return SideQuestions(_over_http(route, config, env, ids))


def _over_http(route: Route, config: Config, env: Environment, ids: IdSource) -> HttpProvider:
    request = config.settings.request
    return HttpProvider(
        route,
        ChatCompletions(),
        lambda: http_transport(route.base_url, env),
        ids,
        Deadlines(first_byte=request.first_byte_timeout, idle=request.idle_timeout),
    )


async def fetch_demo(home: Home) -> Path:
    """The demo model's file, downloaded with progress on stderr if it is not there yet."""
    home.prepare()
    if (path := installed(home.models)) is not None:
        return path
    print(t("cli.installing"), file=sys.stderr)
    path = await install(home.models, progress=_progress)
    print(t("cli.installed", path=home.display(path)), file=sys.stderr)
    return path


def _progress(done: int, total: int | None) -> None:
    finished = done == total
    if not (finished or sys.stderr.isatty()):
        return
    whole = f"{total / 1e6:.0f}" if total else "?"
    start, end = ("\r" if sys.stderr.isatty() else "", "\n" if finished else "")
    sys.stderr.write(start + t("cli.progress", done=f"{done / 1e6:.0f}", total=whole) + end)
    sys.stderr.flush()
