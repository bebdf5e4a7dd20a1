"""The network policies, from the inside."""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from hermes.system.process import Reaper
from hermes.terminals.sandbox.jail import Engine, Jail
from hermes.terminals.sandbox.proxy import Listed, Refused, judge, listed
from sandbox_rig import ENGINES, Place, throw_away

pytestmark = pytest.mark.anyio

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"

FETCH = """
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())
except urllib.error.HTTPError as e:
    print(e.code, e.read().decode())
except OSError as e:
    print("failed", e)
"""

CONNECT = """
import socket, sys
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
    print("reached")
except OSError as e:
    print("failed", e)
"""


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    engine: Engine = request.param
    with throw_away(engine) as place:
        yield place


@asynccontextmanager
async def server() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A web server of this machine, and the heads of the requests that came."""
    heads: list[bytes] = []

    async def answer(stream: SocketStream) -> None:
        async with stream:
            heads.append(await stream.receive())
            await stream.send(ANSWER)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, answer)
        yield int(listener.extra(SocketAttribute.local_port)), heads
        group.cancel_scope.cancel()


async def inside(place: Place, jail: Jail, code: str, word: str) -> str:
    def run() -> str:
        script = 'exec "$1" -c "$2" "$3"'
        said = place.bash(jail, script, sys.executable, code, word)
        return said.stdout + said.stderr

    return await anyio.to_thread.run_sync(run)


async def test_with_an_open_network_this_machine_is_reached(place: Place) -> None:
    async with server() as (port, _):
        said = await inside(place, await place.jail(), FETCH, f"http://127.0.0.1:{port}/x")
    assert said == "hello\n"


async def test_without_a_network_nothing_is_reached(place: Place) -> None:
    async with server() as (port, heads):
        jail = await place.jail(network="none")
        said = await inside(place, jail, FETCH, f"http://127.0.0.1:{port}/x")
    assert said.startswith("failed")
    assert heads == []
    hint = jail.hint(b"curl: (7) Failed to connect to 127.0.0.1", 7)
    assert hint is not None
    assert "`terminal.local.network`" in hint


async def test_only_what_is_listed_is_reached_and_only_through_the_proxy(place: Place) -> None:
    async with (
        server() as (port, heads),
        server() as (other, others),
        place.sandboxes(network="allow-list", network_allow=(f"127.0.0.1:{port}",)) as made,
    ):
        jail = await made.jail(place.workspace)
        assert await inside(place, jail, FETCH, f"http://127.0.0.1:{port}/a?b") == "hello\n"
        refused = await inside(place, jail, FETCH, f"http://127.0.0.1:{other}/")
        direct = await inside(place, jail, CONNECT, str(port))
    assert heads[0].startswith(b"GET /a?b HTTP/1.1\r\n")
    assert refused.startswith("403 ")
    assert "network_allow" in refused
    assert direct.startswith("failed")
    assert (len(heads), others) == (1, [])


async def test_a_keeper_works_beside_the_way_out(place: Place) -> None:
    async with place.sandboxes(network="allow-list", network_allow=("example.org",)) as made:
        reaper = Reaper(jail=await made.jail(place.workspace))
        said = bytearray()
        tree = reaper.start(["/bin/echo", "works"], cwd="/", env={})
        assert await tree.stream(said.extend) == 0
        tree.leave()
        with anyio.fail_after(1):
            await reaper.aclose()
    assert said == b"works\n"


async def test_a_tunnel_carries_both_ways_until_either_end(place: Place) -> None:
    tunnel = (
        "import os, socket, sys, urllib.parse\n"
        "proxy = urllib.parse.urlsplit(os.environ['https_proxy'])\n"
        "s = socket.create_connection((proxy.hostname, proxy.port), 10)\n"
        "s.sendall(f'CONNECT 127.0.0.1:{sys.argv[1]} HTTP/1.1\\r\\n\\r\\n'.encode())\n"
        "print(s.recv(100).split()[1].decode())\n"
        "s.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n')\n"
        "print(b''.join(iter(lambda: s.recv(9), b'')).decode()[-5:])\n"
    )
    async with (
        server() as (port, heads),
        place.sandboxes(network="allow-list", network_allow=(f"127.0.0.1:{port}",)) as made,
    ):
        said = await inside(place, await made.jail(place.workspace), tunnel, str(port))
    assert said == "200\nhello\n"
    assert heads == [b"GET / HTTP/1.1\r\n\r\n"]


@pytest.mark.parametrize(
    ("entry", "host", "port", "admitted"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "example.org", 80, True),
        ("example.org", "example.org", 22, False),
        ("example.org", "www.example.org", 443, False),
        ("example.org", "example.org.evil.net", 443, False),
        ("*.example.org", "www.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "evilexample.org", 443, False),
        ("example.org:8443", "example.org", 8443, True),
        ("example.org:8443", "example.org", 443, False),
        ("Example.ORG.", "example.org", 443, True),
        ("[::1]:5432", "::1", 5432, True),
    ],
)
def test_which_hosts_an_entry_admits(entry: str, host: str, port: int, admitted: bool) -> None:
    (one,) = listed([entry])
    assert isinstance(one, Listed)
    assert one.admits(host, port) is admitted


@pytest.mark.parametrize("host", ["127.1", "0x7f000001", "10.1", "169.254.169.254"])
async def test_a_listed_name_does_not_lead_into_the_house(host: str) -> None:
    with pytest.raises((Refused, Exception), match=r"private|credentials"):
        await judge(host, 80, listed([host]))


async def test_a_private_address_that_is_listed_itself_is_reached() -> None:
    assert await judge("127.1", 80, listed(["127.1", "127.0.0.1"])) == ("127.0.0.1",)
    assert await judge("10.0.0.1", 80, listed(["10.0.0.1"])) == ("10.0.0.1",)


async def test_the_proxys_socket_is_gone_with_it(place: Place) -> None:
    async with place.sandboxes(network="allow-list", network_allow=("example.org",)) as made:
        await made.jail(place.workspace)
    assert os.listdir(place.user / ".hermes/cache/terminal-state") == []
