"""Whether a model can be reached, found out without asking it anything."""

from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio

from hermes.core.errors import ModelError, UserError
from hermes.models import errors
from hermes.models.dialects.chat_completions import ChatCompletions
from hermes.ports.model import Route
from hermes.system.env import Environment
from hermes.system.http import http_transport
from hermes.system.http_port import HttpFault, HttpTransport
from hermes.system.i18n import t

DEADLINE: Final = 5.0
MAX_BODY: Final = 64 * 1024
NO_LIST: Final = (404, 405, 501)
"""Answers of an endpoint that serves models and has no list of them."""


async def probe(route: Route, env: Environment, local_path: str) -> None:
    """Ask for `/models` at the endpoint of `route`; for a model on this machine, find its file.

    Raises ModelError in the words that a turn would use, UserError for a missing file.
    """
    if route.dialect != "chat_completions":
        if not route.demo and not Path(local_path).expanduser().is_file():
            raise UserError(
                t("localmodel.no_model", path=local_path), hint=t("localmodel.no_model_hint")
            )
        return
    try:
        transport = http_transport(route.base_url, env)
    except OSError as e:
        raise ModelError(t("doctor.no_trust", reason=e), hint=t("doctor.no_trust_hint")) from e
    try:
        with anyio.move_on_after(DEADLINE):
            await _ask(transport, route)
            return
    finally:
        with anyio.CancelScope(shield=True):
            await transport.aclose()
    raise errors.stalled(route, "first_byte", DEADLINE)


async def _ask(transport: HttpTransport, route: Route) -> None:
    base, question, query = route.base_url.partition("?")
    url = base.rstrip("/").removesuffix("/chat/completions") + "/models" + question + query
    headers = {**ChatCompletions().headers(route), "Accept": "application/json"}
    try:
        answer = await transport.send("GET", url, headers)
    except HttpFault as e:
        raise errors.from_transport(route, e, replying=False) from e
    body = bytearray()
    with suppress(HttpFault):
        while len(body) <= MAX_BODY and (chunk := await answer.read()):
            body += chunk
    await answer.aclose()
    if not 200 <= answer.status < 300 and answer.status not in NO_LIST:
        raise errors.from_status(route, url, answer.status, answer.headers, bytes(body), full=False)
