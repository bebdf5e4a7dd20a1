"""HTTP through a proxy, whatever kind it is: httpx2 knows them all."""

import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from typing import final

import httpx2

from hermes.core.errors import UserError
from hermes.system.http_port import HttpFault, Stage
from hermes.system.i18n import t


@final
class ProxiedAnswer:
    """See `http_port.HttpAnswer`."""

    def __init__(self, response: httpx2.Response) -> None:
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._chunks: AsyncIterator[bytes] = response.aiter_bytes()

    async def read(self) -> bytes:
        try:
            while (chunk := await anext(self._chunks, None)) == b"":
                pass
        except httpx2.HTTPError as e:
            raise _fault(e) from e
        return chunk or b""

    async def aclose(self) -> None:
        await self._response.aclose()


@final
class ProxiedTransport:
    """See `http_port.HttpTransport`. Raises UserError for a SOCKS proxy without the extra that it
    needs."""

    def __init__(self, proxy: str, trust: ssl.SSLContext) -> None:
        try:
            self._client = httpx2.AsyncClient(
                verify=trust, proxy=proxy, trust_env=False, timeout=None, follow_redirects=False
            )
        except ImportError as e:
            raise UserError(t("models.no_socks"), hint=t("models.no_socks_hint")) from e

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        connected: Callable[[], None] = lambda: None,
    ) -> ProxiedAnswer:
        async def trace(name: str, _: object) -> None:
            if name.endswith("send_request_headers.started"):
                connected()

        try:
            request = self._client.build_request(
                method, url, content=body or None, headers=headers, extensions={"trace": trace}
            )
            return ProxiedAnswer(await self._client.send(request, stream=True))
        except (httpx2.HTTPError, httpx2.InvalidURL) as e:
            raise _fault(e) from e

    async def aclose(self) -> None:
        await self._client.aclose()


def _fault(error: Exception) -> HttpFault:
    stage: Stage = "exchange"
    match error:
        case httpx2.ProxyError():
            stage = "proxy"
        case httpx2.InvalidURL() | httpx2.UnsupportedProtocol():
            stage = "address"
        case httpx2.ConnectError():
            stage = "connect"
    return HttpFault(stage, str(error))
