"""URLs that a model may have requested: every spelling of an address is one address."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.errors import ToolError
from hermes.system.url_safety import CheckedUrl, Resolver, checked

PUBLIC = "93.184.215.14"
HEX = "{:x}".format


def answering(*addresses: str) -> Resolver:
    async def resolve(_host: str, _port: int) -> Sequence[str]:
        return addresses

    return resolve


async def check(
    url: str, *addresses: str, allow_private: bool = False, base: str = ""
) -> CheckedUrl:
    resolve = answering(*(addresses or (PUBLIC,)))
    return await checked(url, allow_private=allow_private, resolve=resolve, base=base)


async def refused(url: str, *addresses: str, allow_private: bool = False) -> str:
    with pytest.raises(ToolError) as caught:
        await check(url, *addresses, allow_private=allow_private)
    return str(caught.value)


def run(url: str, *addresses: str, allow_private: bool = False) -> str:
    """The reason why `url` is refused, empty if it is not."""

    async def judge() -> str:
        try:
            await check(url, *addresses, allow_private=allow_private)
        except ToolError as e:
            return str(e)
        return ""

    return anyio.run(judge)


async def test_a_public_name_is_pinned_to_what_it_resolved_to() -> None:
    found = await check("HTTPS://Example.COM.:443/a?b=1#c", PUBLIC, "2606:4700::6810:84e5")
    assert found == CheckedUrl(
        url="https://example.com/a?b=1",
        scheme="https",
        host="example.com",
        port=443,
        addresses=(PUBLIC, "2606:4700::6810:84e5"),
    )


async def test_a_name_is_looked_up_once() -> None:
    asked: list[tuple[str, int]] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append((host, port))
        return [PUBLIC] if len(asked) == 1 else ["127.0.0.1"]

    found = await checked("http://a.example:8080", allow_private=False, resolve=resolve)
    assert asked == [("a.example", 8080)]
    assert found.addresses == (PUBLIC,)


PRIVATE = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.1.1",
    "198.18.0.1",
    "192.0.0.8",
]
PRIVATE_6 = ["::1", "fe80::1", "fc00::1", "fd12::1", "fec0::1", "2001:db8::1", "64:ff9b:1::1"]
CARRIERS = [
    "::ffff:{}",
    "64:ff9b::{}",
    "::ffff:0:{}",
    "::{}",
    "2606:4700::200:5efe:{}",
    "2606:4700::5efe:{}",
]


@pytest.mark.parametrize("address", PRIVATE)
async def test_a_private_address_is_refused_in_every_form_that_carries_it(address: str) -> None:
    packed = IPv4Address(address).packed
    words = f"{packed[:2].hex()}:{packed[2:].hex()}"
    forms = [form.format(address) for form in CARRIERS] + [f"2002:{words}::1"]
    assert "private" in await refused(f"http://{address}/")
    assert "private" in await refused("http://rebinding.example/", PUBLIC, address)
    for form in forms:
        assert await refused(f"http://[{form}]/"), form
        assert await refused("http://name.example/", form), form


@pytest.mark.parametrize("address", PRIVATE_6)
async def test_a_private_ipv6_address_is_refused(address: str) -> None:
    assert "private" in await refused(f"http://[{address}]/")
    assert "private" in await refused("http://name.example/", address)


@pytest.mark.parametrize("address", [*PRIVATE, "::1", "fc00::1"])
async def test_the_owner_can_allow_private_addresses(address: str) -> None:
    literal = f"[{address}]" if ":" in address else address
    assert (await check(f"http://{literal}/", allow_private=True)).addresses == (address,)
    assert (await check("http://nas.local/", address, allow_private=True)).host == "nas.local"


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "100.100.100.200",
        "fd00:ec2::254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "0.0.0.0",
        "::",
        "ff02::1",
        "::ffff:224.0.0.1",
    ],
)
async def test_metadata_and_addresses_of_nobody_are_refused_whatever_is_set(address: str) -> None:
    literal = f"[{address}]" if ":" in address else address
    assert "No setting" in await refused(f"http://{literal}/", allow_private=True)
    assert "No setting" in await refused("http://x.example/", address, allow_private=True)


@pytest.mark.parametrize(
    "host", ["metadata.google.internal", "METADATA.google.internal.", "metadata"]
)
async def test_names_of_metadata_services_are_refused(host: str) -> None:
    assert "No setting" in await refused(f"http://{host}/", allow_private=True)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "a.localhost"])
async def test_names_of_this_machine_are_refused_without_asking(host: str) -> None:
    assert "this machine" in await refused(f"http://{host}:8080/", PUBLIC)


@pytest.mark.parametrize(
    "host",
    [
        "2130706433",
        "0x7f000001",
        "0x7F.1",
        "017700000001",
        "0177.0.0.1",
        "0000177.0.0x0.01",
        "127.1",
        "127.0.1",
        "127.0.0.1.",
        "١٢٧.0.0.1",
        "127.0.0.1",
        "127。0。0。1",
        "⑫7.0.0.1",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[::7f00:1]",
    ],
)
async def test_other_spellings_of_loopback_are_loopback(host: str) -> None:
    assert await refused(f"http://{host}/")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "javascript:alert(1)",
        "//example.com/",
        "example.com",
        "",
        "http://",
        "http:///path",
        "http://user@example.com/",
        "http://example.com@127.0.0.1/",
        "http://user:pw@example.com/",
        "http://@example.com/",
        "http://example.com:0/",
        "http://example.com:99999/",
        "http://example.com:-1/",
        "http://example.com:8o/",
        "http://exa mple.com/",
        "http://example.com\\@127.0.0.1/",
        "http:\\\\127.0.0.1/",
        "http://example.com\t/",
        "http://exam\nple.com/",
        "http://%31%32%37.0.0.1/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://[v1.a]/",
        "http://1.2.3.4.5/",
        "http://256.1.1.1/",
        "http://1.2.3.08/",
        "http://4294967296/",
        "http://a.b.1/",
        "http://-a.example/",
        "http://a..b/",
        "http://ex*mple.com/",
    ],
)
async def test_what_is_not_a_plain_web_address_is_refused(url: str) -> None:
    assert await refused(url, allow_private=True)


async def test_a_redirect_is_checked_again_and_may_be_relative() -> None:
    base = "https://example.com/a/b?c"
    assert (await check("../d", base=base)).url == "https://example.com/d"
    assert (await check("//other.example/x", base=base)).host == "other.example"
    for location in ("//127.0.0.1/", "http://[::1]/", "file:///etc/passwd", "\t//10.0.0.1/"):
        with pytest.raises(ToolError):
            await check(location, base=base)


async def test_a_name_without_addresses_and_a_look_up_that_fails_are_told() -> None:
    async def fails(_host: str, _port: int) -> Sequence[str]:
        raise OSError("no such name")

    async def nothing(_host: str, _port: int) -> Sequence[str]:
        return []

    for resolve in (fails, nothing, answering("fe80::1%lo"), answering("not an address")):
        with pytest.raises(ToolError):
            await checked("http://nowhere.example", allow_private=False, resolve=resolve)


async def test_the_systems_own_look_up_is_judged_too() -> None:
    with pytest.raises(ToolError, match="private"):
        await checked("http://127.0.0.1.:80", allow_private=False)
    found = await checked("http://localhost:80", allow_private=True)
    assert set(found.addresses) <= {"127.0.0.1", "::1"}


def spelled(number: int, parts: int, bases: list[int], pad: int) -> str:
    """An IPv4 number in `parts` parts, each in one of the bases that C libraries read."""
    octets = list(IPv4Address(number).packed)
    head = octets[: parts - 1]
    values = [*head, number & (256 ** (5 - parts) - 1)]
    spell = {8: "0" + "0" * pad + "{:o}", 10: "{}", 16: "0x" + "0" * pad + "{:X}"}
    return ".".join(spell[base].format(v) for v, base in zip(values, bases, strict=False))


@given(
    number=st.sampled_from([int(IPv4Address(a)) for a in PRIVATE])
    | st.integers(0x7F000000, 0x7FFFFFFF)
    | st.integers(0x0A000000, 0x0AFFFFFF),
    parts=st.integers(1, 4),
    bases=st.lists(st.sampled_from([8, 10, 16]), min_size=4, max_size=4),
    pad=st.integers(0, 4),
    dot=st.booleans(),
)
def test_no_spelling_of_a_private_number_gets_through(
    number: int, parts: int, bases: list[int], pad: int, dot: bool
) -> None:
    host = spelled(number, parts, bases, pad) + ("." if dot else "")
    assert "private" in run(f"http://{host}/", PUBLIC)


@given(
    number=st.integers(0, 2**32 - 1),
    parts=st.integers(1, 4),
    bases=st.lists(st.sampled_from([8, 10, 16]), min_size=4, max_size=4),
)
def test_a_spelling_is_judged_as_the_plain_address_is(
    number: int, parts: int, bases: list[int]
) -> None:
    plain = str(IPv4Address(number))
    odd = spelled(number, parts, bases, 0)
    assert bool(run(f"http://{odd}/")) == bool(run(f"http://{plain}/"))


@given(number=st.integers(0, 2**128 - 1))
def test_what_gets_through_is_global_unicast(number: int) -> None:
    address = IPv6Address(number)
    if not run(f"http://[{address}]/"):
        assert address.is_global
        assert address.ipv4_mapped is None or address.ipv4_mapped.is_global


@given(url=st.text(max_size=60))
def test_any_text_is_refused_or_a_web_address(url: str) -> None:
    async def judge() -> CheckedUrl | None:
        try:
            return await check(f"http://{url}")
        except ToolError:
            return None

    found = anyio.run(judge)
    if found is not None:
        assert found.addresses
        assert "@" not in found.url.partition("://")[2].partition("/")[0]
