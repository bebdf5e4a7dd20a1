"""Which proxy a request goes through, and that none stands before this machine."""

from importlib.util import find_spec

import pytest

from hermes.core.errors import UserError
from hermes.sdk.testing import ScriptedModel
from hermes.system.http import http_transport, proxy_for
from hermes.system.http_port import HttpFault, HttpTransport

ENVIRONMENT = {
    "HTTPS_PROXY": "http://secure:1",
    "http_proxy": "plain:2",
    "NO_PROXY": "internal.example, .corp.example,10.0.0.0/8,*.lab.example",
}


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://api.example/v1", "http://secure:1"),
        ("http://api.example/v1", "http://plain:2"),
        ("http://127.0.0.1:8080/v1", None),
        ("http://127.5.6.7/v1", None),
        ("http://localhost:8080/v1", None),
        ("http://[::1]:8080/v1", None),
        ("https://internal.example/v1", None),
        ("https://a.internal.example/v1", None),
        ("https://notinternal.example/v1", "http://secure:1"),
        ("https://a.corp.example/v1", None),
        ("https://a.lab.example/v1", None),
        ("http://10.1.2.3/v1", None),
        ("http://11.1.2.3/v1", "http://plain:2"),
    ],
)
def test_a_proxy_is_chosen_by_scheme_and_exempted_by_host(url, proxy):
    assert proxy_for(url, ENVIRONMENT) == proxy


def test_all_proxy_serves_the_rest_and_a_star_exempts_everything():
    assert proxy_for("https://a.example", {"ALL_PROXY": "socks5://p:1"}) == "socks5://p:1"
    assert proxy_for("https://a.example", {"ALL_PROXY": "socks5://p:1", "no_proxy": "*"}) is None


async def get(transport: HttpTransport, url: str) -> tuple[int, bytes]:
    """Status and body of a GET; the transport is closed after it."""
    try:
        answer = await transport.send("GET", url, {})
        body = b""
        while chunk := await answer.read():
            body += chunk
        await answer.aclose()
        return answer.status, body
    finally:
        await transport.aclose()


async def test_requests_go_through_the_proxy_only_where_one_is_due():
    with ScriptedModel() as proxy:
        address = proxy.base_url.removesuffix("/v1")
        url = "http://models.example/v1/models"
        await get(http_transport(url, {"HTTP_PROXY": address}), url)
        direct = http_transport(proxy.base_url, {"HTTP_PROXY": "http://127.0.0.1:9"})
        status, _ = await get(direct, f"{proxy.base_url}/models")
        assert status == 200
    assert proxy.other_requests[0].path == url


async def test_a_proxy_that_does_not_answer_is_told_apart_from_the_host():
    url = "https://models.example/v1"
    with pytest.raises(HttpFault) as caught:
        await get(http_transport(url, {"HTTPS_PROXY": "http://127.0.0.1:9"}), url)
    assert caught.value.stage in ("connect", "proxy")


def test_a_socks_proxy_without_its_extra_is_a_plain_sentence() -> None:
    if find_spec("socksio") is not None:
        pytest.skip("the socks extra is installed here")
    with pytest.raises(UserError, match=r"hermes-agent\[socks\]"):
        http_transport("https://example.com/v1", {"ALL_PROXY": "socks5://127.0.0.1:9"})
