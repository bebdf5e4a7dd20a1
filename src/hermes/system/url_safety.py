"""Which addresses of the network a model may make Hermes connect to.

`checked` reads a URL as strictly as a browser would, looks its name up once, judges every address
that comes of it, and returns those addresses: the connection must go to them and to nothing else,
or a second look-up could lead elsewhere. Every redirect is a URL and is checked again.

Sources: the IANA special-purpose address registries, RFC 4291, 3056, 4380, 5214, 6052, 8215, the
IPv4 number parser of the WHATWG URL standard, and the clouds' own papers for metadata addresses.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

import anyio

from hermes.core.errors import ToolError
from hermes.system.i18n import t

Address = IPv4Address | IPv6Address
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a name, as text; raises OSError if there are none."""

PORTS: Final = {"http": 80, "https": 443}
LOOKUP_SECONDS: Final = 10.0

METADATA: Final = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",
            "169.254.169.253",
            "169.254.170.2",
            "169.254.170.23",
            "169.254.42.42",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "fd00:ec2::254",
            "fd00:ec2::253",
            "fd00:ec2::23",
            "fd20:ce::254",
        ),
    )
)
"""Where clouds hand out a machine's credentials. Refused whatever is configured."""

METADATA_NAMES: Final = frozenset(
    ("metadata", "metadata.google.internal", "metadata.goog", "instance-data.ec2.internal")
)

NOT_PUBLIC: Final = (
    IPv4Network("0.0.0.0/8"),
    IPv4Network("10.0.0.0/8"),
    IPv4Network("100.64.0.0/10"),
    IPv4Network("127.0.0.0/8"),
    IPv4Network("169.254.0.0/16"),
    IPv4Network("172.16.0.0/12"),
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.0.2.0/24"),
    IPv4Network("192.88.99.0/24"),
    IPv4Network("192.168.0.0/16"),
    IPv4Network("198.18.0.0/15"),
    IPv4Network("198.51.100.0/24"),
    IPv4Network("203.0.113.0/24"),
)
GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
NOT_PUBLIC_6: Final = (
    IPv6Network("2001::/23"),
    IPv6Network("2001:db8::/32"),
    IPv6Network("3fff::/20"),
)
NOWHERE: Final = (IPv4Network("224.0.0.0/4"), IPv4Network("240.0.0.0/4"))
NAT64: Final = IPv6Network("64:ff9b::/96")
COMPATIBLE: Final = IPv6Network("::/96")
TRANSLATED: Final = IPv6Network("::ffff:0:0:0/96")

_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_NAME = re.compile(
    r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedUrl:
    """A URL that may be requested, from those `addresses` alone.

    `url` is the canonical form without a fragment. `host` goes into the Host header and is what a
    certificate is compared with; an IPv6 address is without brackets.
    """

    url: str
    scheme: str
    host: str
    port: int
    addresses: tuple[str, ...]


async def checked(
    url: str,
    *,
    allow_private: bool,
    resolve: Resolver | None = None,
    base: str = "",
) -> CheckedUrl:
    """`url`, if a model may have it requested; else ToolError with the true reason.

    Refused are schemes other than http and https, user names in the address, port 0, and every
    spelling of an address that is not public: private, loopback, link-local and the like, also
    inside IPv6 forms that carry an IPv4 address. `allow_private` (`security.allow_private_urls`)
    lets those pass, except for the clouds' metadata, multicast and reserved addresses. One refused
    address of a name refuses the name. `base` is the URL that a redirect came from, for relative
    ones. The look-up is `resolve`, the system's if None, and takes LOOKUP_SECONDS at most.
    """
    if _UNSAFE.search(url):
        raise ToolError(t("url.characters"))
    try:
        parts = urlsplit(urljoin(base, url) if base else url)
        port = parts.port
    except ValueError as e:
        raise ToolError(t("url.malformed", reason=e)) from e
    if parts.scheme not in PORTS:
        raise ToolError(t("url.scheme", scheme=parts.scheme or "-"))
    if "@" in parts.netloc:
        raise ToolError(t("url.userinfo"))
    if port == 0:
        raise ToolError(t("url.port"))
    port = port or PORTS[parts.scheme]
    host = _host(parts)
    literal = _literal(host)
    if literal is None and host in METADATA_NAMES:
        raise ToolError(t("url.metadata", host=host))
    if literal is None and not allow_private and _local(host):
        raise _private(host)
    found = [literal] if literal is not None else await _looked_up(host, port, resolve)
    for address in found:
        _judge(address, host, allow_private=allow_private)
    name = str(literal) if literal is not None else host
    return CheckedUrl(
        url=_canonical(parts, name, port),
        scheme=parts.scheme,
        host=name,
        port=port,
        addresses=tuple(dict.fromkeys(map(str, found))),
    )


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """The operating system's look-up."""
    return [str(entry[4][0]) for entry in await anyio.getaddrinfo(host, port, type=1)]


def _host(parts: SplitResult) -> str:
    """The host in its one spelling: lower case, ASCII, no final dot."""
    host = parts.hostname or ""
    if not host:
        raise ToolError(t("url.no_host"))
    bracketed = "[" in parts.netloc
    if "%" in host or bracketed != (":" in host):
        # An escape, a zone, an address of the future: the next reader may take it otherwise.
        raise ToolError(t("url.host", host=host))
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii").lower()
        except UnicodeError as e:
            raise ToolError(t("url.host", host=host)) from e
    return host.removesuffix(".")


def _literal(host: str) -> Address | None:
    """The address that `host` spells, or None if it is a name."""
    if ":" in host:
        try:
            return IPv6Address(host)
        except ValueError as e:
            raise ToolError(t("url.host", host=host)) from e
    labels = host.split(".")
    if not _NUMBER.fullmatch(labels[-1]):
        if len(host) > 253 or not _NAME.fullmatch(host):
            raise ToolError(t("url.host", host=host))
        return None
    numbers = [_number(label) for label in labels]
    *leading, last = numbers
    if len(numbers) > 4 or None in numbers or last is None:
        raise ToolError(t("url.host", host=host))
    value = last
    for i, number in enumerate(leading):
        if number is None or number > 255:
            raise ToolError(t("url.host", host=host))
        value += number << (8 * (3 - i))
    if last >= 256 ** (5 - len(numbers)):
        raise ToolError(t("url.host", host=host))
    return IPv4Address(value)


def _number(label: str) -> int | None:
    """One part of an IPv4 address: decimal, octal after 0, hexadecimal after 0x; 16 digits do."""
    if not _NUMBER.fullmatch(label) or len(label.lstrip("0xX")) > 16:
        return None
    if label[:2] in ("0x", "0X"):
        return int(label[2:] or "0", 16)
    if label[0] == "0" and len(label) > 1:
        return int(label, 8) if not set(label) & {"8", "9"} else None
    return int(label)


def _local(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


async def _looked_up(host: str, port: int, resolve: Resolver | None) -> list[Address]:
    try:
        with anyio.fail_after(LOOKUP_SECONDS):
            texts = await (resolve or system_resolver)(host, port)
        found = [ip_address(text) for text in texts]
    except TimeoutError as e:
        raise ToolError(t("url.slow", host=host, seconds=LOOKUP_SECONDS)) from e
    except (OSError, UnicodeError, ValueError) as e:
        raise ToolError(t("url.unknown", host=host)) from e
    if not found:
        raise ToolError(t("url.unknown", host=host))
    return found


def _judge(address: Address, host: str, *, allow_private: bool) -> None:
    """Raise ToolError unless a connection to `address`, and to any that it carries, is allowed."""
    for each in (address, *_carried(address)):
        if each in METADATA:
            raise ToolError(t("url.metadata", host=host))
        if each.is_multicast or each.is_unspecified or _nowhere(each):
            raise ToolError(t("url.nowhere", host=host, address=each))
        if not allow_private and not _public(each):
            raise _private(host)
    if isinstance(address, IPv6Address) and address.scope_id and not allow_private:
        raise _private(host)


def _carried(address: Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses to which something on the way may unwrap an IPv6 address."""
    if isinstance(address, IPv4Address):
        return
    low = IPv4Address(int(address) & 0xFFFFFFFF)
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    isatap = (int(address) >> 32) & 0xFDFFFFFF == 0x5EFE
    if any(address in network for network in (NAT64, TRANSLATED)) or isatap:
        yield low
    if address in COMPATIBLE and int(address) > 0xFFFF:
        yield low


def _nowhere(address: Address) -> bool:
    return isinstance(address, IPv4Address) and any(address in network for network in NOWHERE)


def _public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in NOT_PUBLIC)
    if address in NAT64:
        return True  # What it carries is judged by itself.
    return address in GLOBAL_UNICAST and not any(address in network for network in NOT_PUBLIC_6)


def _private(host: str) -> ToolError:
    return ToolError(t("url.private", host=host), hint=t("url.private_hint"))


def _canonical(parts: SplitResult, host: str, port: int) -> str:
    netloc = f"[{host}]" if ":" in host else host
    if port != PORTS[parts.scheme]:
        netloc += f":{port}"
    return urlunsplit((parts.scheme, netloc, parts.path or "/", parts.query, ""))
