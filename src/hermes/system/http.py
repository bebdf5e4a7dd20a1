"""The one place that makes HTTP clients: proxies, trust, no redirects, no hidden time-outs.

Importing this module imports httpx2 (about 50 ms); whoever does so is about to make a request.
"""

import ssl
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

import httpx2

from hermes.core.errors import UserError
from hermes.system.i18n import t


def http_client(url: str, environment: Mapping[str, str]) -> httpx2.AsyncClient:
    """A client for requests to the host of `url`.

    Proxies come from `environment` (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, either
    case), trust from the system or from `SSL_CERT_FILE`. It follows no redirect, keeps no cookie
    for another host and has no deadline: the caller's scopes are the only ones.
    Raises OSError or ssl.SSLError if `SSL_CERT_FILE` cannot be used, UserError for a SOCKS proxy
    without the extra that it needs.
    """
    proxy = proxy_for(url, environment)
    try:
        return httpx2.AsyncClient(
            verify=_trust(url, proxy, environment),
            proxy=proxy,
            trust_env=False,
            timeout=None,
            follow_redirects=False,
        )
    except ImportError as e:
        raise UserError(t("models.no_socks"), hint=t("models.no_socks_hint")) from e


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """The proxy that requests to `url` go through; never one for a loopback address."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if is_loopback(host) or _exempt(host, _variable(environment, "no_proxy")):
        return None
    proxy = _variable(environment, f"{parts.scheme}_proxy") or _variable(environment, "all_proxy")
    return (proxy if "://" in proxy else f"http://{proxy}") if proxy else None


def is_loopback(host: str) -> bool:
    """Whether `host`, a name or an address, is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _variable(environment: Mapping[str, str], name: str) -> str:
    return (environment.get(name) or environment.get(name.upper()) or "").strip()


def _exempt(host: str, rules: str) -> bool:
    return any(_matches(host, rule) for rule in rules.lower().replace(",", " ").split())


def _matches(host: str, rule: str) -> bool:
    if "/" in rule:
        try:
            return ip_address(host) in ip_network(rule, strict=False)
        except ValueError:
            return False
    name = rule.rpartition(":")[0] if rule.count(":") == 1 else rule
    name = name.removeprefix("*").lstrip(".")
    return rule == "*" or (name != "" and (host == name or host.endswith(f".{name}")))


def _trust(url: str, proxy: str | None, environment: Mapping[str, str]) -> ssl.SSLContext | bool:
    if proxy is None and urlsplit(url).scheme == "http":
        # No handshake will happen. Reading the machine's certificates would cost 0.3 s for nothing;
        # this context trusts nobody, so a mistake here fails closed.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if bundle := environment.get("SSL_CERT_FILE"):
        return ssl.create_default_context(cafile=bundle)
    return True
