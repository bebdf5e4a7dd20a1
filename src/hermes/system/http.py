"""The one place that makes HTTP transports: proxies, trust, no redirects, no hidden time-outs."""

import ssl
import sys
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from hermes.system.http_direct import DirectTransport
from hermes.system.http_port import HttpTransport
from hermes.system.lazy import load

AUTHORITIES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where Linux distributions keep them, for a Python that was built to look elsewhere."""


def http_transport(url: str, environment: Mapping[str, str]) -> HttpTransport:
    """A transport for requests to the host of `url`.

    Proxies come from `environment` (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, either
    case), trust from the system or from `SSL_CERT_FILE`.
    Raises OSError or ssl.SSLError if `SSL_CERT_FILE` cannot be used, UserError for a SOCKS proxy
    without the extra that it needs.
    """
    proxy = proxy_for(url, environment)
    if proxy is None and urlsplit(url).scheme == "http":
        # No handshake will happen. Reading the machine's certificates would cost 0.3 s for nothing;
        # this context trusts nobody, so a mistake here fails closed.
        return DirectTransport(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    trust = _trust(environment)
    if proxy is None:
        return DirectTransport(trust)
    # lazy: httpx2 costs 50 ms, and only proxies need it
    proxied: HttpTransport = load("hermes.system.http_proxied:ProxiedTransport")(proxy, trust)
    return proxied


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


def _trust(environment: Mapping[str, str]) -> ssl.SSLContext:
    if bundle := environment.get("SSL_CERT_FILE"):
        return ssl.create_default_context(cafile=bundle)
    if sys.platform != "linux":
        # lazy: httpx2 asks the system's own trust store there; on Linux there are only files
        trust: ssl.SSLContext = load("httpx2:create_ssl_context")(trust_env=False)
        return trust
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not any((paths.cafile, paths.capath)):
        for bundle in AUTHORITIES:
            if Path(bundle).is_file():
                context.load_verify_locations(cafile=bundle)
                break
    return context
