"""A proxy that connects to listed hosts only: the network policy `allow-list`.

It speaks HTTP's CONNECT, and plain requests with a whole address (RFC 9110, 9112). A name is
resolved once, here, and the very address that was judged is the one connected to. It does not look
into what is encrypted: who may speak to a host may say there what he likes.
"""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteStream, Listener, SocketAttribute

from hermes.core.errors import ConfigError, ToolError
from hermes.system.i18n import t
from hermes.system.url_safety import CheckedUrl, checked

HEAD: Final = 65_536
"""Bytes of a request's head at most."""

PATIENCE: Final = 30.0
"""Seconds for a head to come, and for a connection to be made."""

USUAL: Final = (80, 443)
"""The ports of an entry without one."""


HOST: Final = re.compile(r"[^\s*@/\\%]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One entry of the list: a name, a name with all below it, or an address."""

    host: str
    below: bool
    port: int | None

    def admits(self, host: str, port: int) -> bool:
        if port != self.port and (self.port is not None or port not in USUAL):
            return False
        return host.endswith(f".{self.host}") if self.below else host == self.host


class Refused(Exception):
    """What is answered instead of a connection."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


def listed(entries: Sequence[str]) -> tuple[Listed, ...]:
    """The list from the configuration; raises ConfigError for what is no host."""
    return tuple(map(_entry, entries))


def _entry(entry: str) -> Listed:
    wrong = ConfigError(t("sandbox.bad_host", entry=entry), hint=t("sandbox.bad_host_hint"))
    below = entry.startswith("*.")
    try:
        parts = urlsplit(f"//{entry.removeprefix('*.')}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise wrong from None
    if not host or not HOST.fullmatch(host) or parts.path or "@" in entry:
        raise wrong
    return Listed(host=host.rstrip("."), below=below, port=port)


@asynccontextmanager
async def serving(entries: Sequence[str], socket: Path | None) -> AsyncIterator[int]:
    """Serve at the file `socket`, else at a free port of 127.0.0.1; yields the port, 1 for a file.

    Raises ConfigError, OSError.
    """
    allowed = listed(entries)
    listener: Listener[Any] = (
        await anyio.create_tcp_listener(local_host="127.0.0.1")
        if socket is None
        else await anyio.create_unix_listener(socket, mode=0o600)
    )
    port = 1 if socket is not None else int(listener.extra(SocketAttribute.local_port))

    async def handle(client: ByteStream) -> None:
        async with client:
            try:
                await _serve(client, allowed)
            except Refused as e:
                body = f"hermes: {e.why}\n".encode()
                head = f"HTTP/1.1 {e.status}\r\nContent-Length: {len(body)}\r\n"
                await client.send(f"{head}Connection: close\r\n\r\n".encode() + body)
            except (OSError, anyio.BrokenResourceError, anyio.EndOfStream, TimeoutError):
                return  # One of both has gone; there is nobody to tell.

    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, handle)
        try:
            yield port
        finally:
            group.cancel_scope.cancel()
            if socket is not None:
                _remove(socket)


def _remove(socket: Path) -> None:
    socket.unlink(missing_ok=True)


async def _serve(client: ByteStream, allowed: tuple[Listed, ...]) -> None:
    with anyio.fail_after(PATIENCE):
        head, rest = await _head(client)
        method, target, version, *_ = (*head.split("\r\n", 1)[0].split(" "), "", "", "")
        tunnel = method == "CONNECT"
        try:
            parts = urlsplit(f"//{target}" if tunnel else target)
            host, port = (parts.hostname or "").rstrip("."), parts.port
        except ValueError:
            raise Refused("400 Bad Request", "this is no address") from None
        port = port or (443 if tunnel else 80)
        if not host or not (tunnel or parts.scheme == "http"):
            raise Refused("400 Bad Request", "only CONNECT and http:// are served")
        try:
            server = await _connect(await judge(host, port, allowed), port)
        except (OSError, ToolError) as e:
            raise Refused("502 Bad Gateway", f"{host}:{port}: {e}") from None
    async with server:
        if tunnel:
            await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            # One request for a connection, so that no other host is asked for on it.
            path = parts._replace(scheme="", netloc="").geturl() or "/"
            fields = [f for f in head.split("\r\n")[1:] if not _hop(f)]
            rest = "\r\n".join((f"{method} {path} {version}", *fields, "Connection: close")).encode(
                "latin-1"
            ) + (b"\r\n\r\n" + rest)
        if rest:
            await server.send(rest)
        async with anyio.create_task_group() as group:
            group.start_soon(_pass_on, client, server)
            await _pass_on(server, client)
            if not tunnel:
                group.cancel_scope.cancel()


def _hop(field: str) -> bool:
    return field.lower().startswith(("connection:", "proxy-connection:", "proxy-authorization:"))


async def _head(client: ByteStream) -> tuple[str, bytes]:
    """The head of a request without the empty line, and what came after it."""
    data = b""
    while b"\r\n\r\n" not in data:
        if len(data) > HEAD:
            raise Refused("431 Request Header Fields Too Large", "the head is too long")
        data += await client.receive()
    head, _, rest = data.partition(b"\r\n\r\n")
    return head.decode("latin-1"), rest


async def judge(host: str, port: int, allowed: tuple[Listed, ...]) -> tuple[str, ...]:
    """The addresses to connect to; raises Refused.

    A private address has to be listed itself: a listed name may not lead into the house, unless it
    is `localhost`.
    """
    host = host.lower()
    if not any(entry.admits(host, port) for entry in allowed):
        why = f"{host}:{port} is not in `terminal.local.network_allow`"
        raise Refused("403 Forbidden", why)
    try:
        return (await _addresses(host, port, private=False)).addresses
    except ToolError:
        # Raises again for what may not be reached by any list.
        found = await _addresses(host, port, private=True)
    if host == "localhost" or all(any(e.admits(a, port) for e in allowed) for a in found.addresses):
        return found.addresses
    raise Refused("403 Forbidden", f"{host} leads to a private address, which is not listed")


async def _addresses(host: str, port: int, *, private: bool) -> CheckedUrl:
    name = f"[{host}]" if ":" in host else host
    return await checked(f"http://{name}:{port}", allow_private=private)


async def _connect(addresses: tuple[str, ...], port: int) -> ByteStream:
    for address in addresses[:-1]:
        try:
            return await anyio.connect_tcp(address, port)
        except OSError:
            continue
    return await anyio.connect_tcp(addresses[-1], port)


async def _pass_on(source: ByteStream, target: ByteStream) -> None:
    try:
        async for data in source:
            await target.send(data)
        await target.send_eof()
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        return  # The other direction finds out too.
