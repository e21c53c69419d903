"""The internet that the tests of fetch use: it is whole, it counts, and nothing can leave it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import wait_for
from tests.world.network import BLACK_HOLES, GATEWAYS, OWN, OWN_PRIVATE
from tests.world.servers import CLOSED_PORT
from tests.world.steps import article, forever, head, redirect
from tests.world.world import Dial, World

CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 0.3).close()
except OSError as error:
    print(type(error).__name__)
else:
    print("connected")
"""
TAKE = """
import socket, sys
with socket.create_connection((sys.argv[1], 80)) as connection:
    connection.sendall(b"GET / HTTP/1.1\\r\\nHost: " + sys.argv[1].encode() + b"\\r\\n\\r\\n")
    taken = 0
    while taken < int(sys.argv[2]):
        taken += len(connection.recv(65536))
print(taken)
"""
TRUST = """
import socket, ssl, sys, certifi
context = ssl.create_default_context()
if sys.argv[3] == "both":
    context.load_verify_locations(certifi.where())
try:
    with socket.create_connection((sys.argv[2], 443)) as raw:
        context.wrap_socket(raw, server_hostname=sys.argv[1]).close()
except ssl.SSLCertVerificationError as error:
    print(error.verify_message)
else:
    print("trusted")
"""


def connect(world: World, address: str, port: int = 80) -> str:
    """Connect from the inside, and return how that went."""
    return world.inside.run(sys.executable, "-c", CONNECT, address, f"{port}").stdout.strip()


def trust(world: World, name: str, address: str = "", authorities: str = "both") -> str:
    """Shake hands from the inside, and return how that went."""
    return world.inside.run(sys.executable, "-c", TRUST, name, address or name, authorities).stdout.strip()


def addresses(world: World, name: str) -> set[str]:
    """Look up a name from the inside, as every program does."""
    found = world.inside.run("getent", "ahosts", name, check=False).stdout
    return {line.split()[0] for line in found.splitlines()}


def test_nothing_can_leave_the_world(world: World) -> None:
    """The two namespaces have one cable between them and no other device; no route of theirs leads elsewhere."""
    for namespace, cable in ((world.inside, "world0"), (world.outside.namespace, "world1")):
        devices = json.loads(namespace.run("ip", "-json", "link").stdout)
        usable = {device["ifname"] for device in devices if "UP" in device["flags"]}
        assert usable == {"lo", cable}
        for family in ("-4", "-6"):
            routes = json.loads(namespace.run("ip", "-json", family, "route", "show", "table", "all").stdout)
            assert {route["dev"] for route in routes if "dev" in route} <= {"lo", cable}
            gateways = {route["gateway"] for route in routes if "gateway" in route}
            assert gateways <= set(GATEWAYS)
            assert not gateways or namespace is world.inside
    here = json.loads(subprocess.run(["ip", "-json", "link"], check=True, capture_output=True).stdout)
    assert not {"world0", "world1"} & {device["ifname"] for device in here}
    for namespace in (world.inside, world.outside.namespace):
        assert Path(f"/proc/{namespace.pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()


@pytest.mark.parametrize(
    "address", ["8.8.4.4", "2606:4700::844", "10.1.2.3", "169.254.170.2", "fd00:ec2::254", "64:ff9b::a"]
)
def test_address_of_any_kind_is_outside_and_counted(address: str, world: World) -> None:
    """Were Sift to connect anywhere, a server would say so: by the address at which it arrived."""
    assert connect(world, address) == "connected"
    assert [(hit.address, hit.method) for hit in world.outside.hits()] == [(address, "")]
    assert world.dials() == [Dial(address, 80)]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", *OWN, *OWN_PRIVATE])
def test_own_address_is_inside_and_counted(address: str, world: World) -> None:
    """The host of Sift has loopback, public and private addresses, and a metadata service."""
    assert connect(world, address) == "connected"
    assert [hit.address for hit in world.own.hits()] == [address]
    assert world.dials() == [Dial(address, 80)]
    assert world.outside.hits() == []


def test_refused_and_lost_connections_are_counted(world: World) -> None:
    """The kernel tells of every attempt, so that none goes unnoticed for want of a server."""
    holes = [where.split("/")[0].removesuffix("::").removesuffix(".0.0") for where in BLACK_HOLES]
    lost = [f"{holes[0]}.2.3", f"{holes[1]}::5"]
    assert connect(world, "8.8.4.4", CLOSED_PORT) == "ConnectionRefusedError"
    assert [connect(world, address) for address in lost] == ["TimeoutError"] * 2
    assert world.dials() == [Dial("8.8.4.4", CLOSED_PORT), *(Dial(address, 80) for address in lost)]


def test_names_are_looked_up_where_the_world_says(world: World) -> None:
    """A name has the addresses of this look-up; aliases, many addresses and names that do not exist are there too."""
    plain, both = world.host(), world.host("8.8.4.4", "2606:4700::844", "10.0.0.1")
    assert len(addresses(world, plain)) == 1
    assert addresses(world, both) == {"8.8.4.4", "2606:4700::844", "10.0.0.1"}
    assert addresses(world, world.host(alias=world.host(alias=both))) == {"8.8.4.4", "2606:4700::844", "10.0.0.1"}
    many = [world.address() for _ in range(200)]
    assert addresses(world, world.host(*many)) == set(many)
    assert addresses(world, "nobody.example.org") == set()
    assert addresses(world, world.host(rcode=2)) == set()
    assert world.queries(plain) == [(plain, "A"), (plain, "AAAA")]
    assert world.queries("nobody.example.org") == [("nobody.example.org", "A"), ("nobody.example.org", "AAAA")]


def test_names_change_between_look_ups(world: World) -> None:
    """Each look-up can have an answer of its own."""
    switching = world.host(rounds=[["8.8.4.4"], ["10.0.0.1"]])
    alternating = world.host(rounds=[["8.8.4.4"], ["10.0.0.1"]], turn="alternate")
    assert [addresses(world, switching) for _ in range(3)] == [{"8.8.4.4"}, {"10.0.0.1"}, {"10.0.0.1"}]
    assert [addresses(world, alternating) for _ in range(3)] == [{"8.8.4.4"}, {"10.0.0.1"}, {"8.8.4.4"}]


def test_certificates_are_good_and_bad(world: World) -> None:
    """The inside trusts two authorities, the system's and certifi's; certificates are wrong in one respect each."""
    assert trust(world, world.host(), authorities="system") == "trusted"
    assert trust(world, world.host(kind="certifi")) == "trusted"
    assert trust(world, world.host(kind="certifi"), authorities="system").startswith("unable to get local issuer")
    assert trust(world, "8.8.4.4") == trust(world, "2606:4700::844") == "trusted"
    assert trust(world, "8.8.4.5").startswith("IP address mismatch")
    assert trust(world, world.host(kind="wrong")).startswith("Hostname mismatch")
    assert trust(world, world.host(kind="expired")) == "certificate has expired"
    assert trust(world, world.host(kind="unknown")).startswith("unable to get local issuer")


def test_servers_do_what_they_are_told_and_count_bytes(world: World) -> None:
    """A page, a redirect with a body without end, and how much of it the server could get rid of."""
    there = world.host(pages={"/there": article()})
    host = world.host(pages={"/": redirect(f"http://{there}/there", more=forever(b"x" * 4096))})
    got = world.inside.run("curl", "-s", f"http://{there}/there")
    assert "lighthouse" in got.stdout
    taken = world.inside.run(sys.executable, "-c", TAKE, host, "1000000").stdout
    first, second = world.outside.requests()
    assert first.sent == len(head(length=len(got.stdout))) + len(got.stdout)
    assert first.header("host") == there
    assert int(taken) <= second.sent < int(taken) + (2 << 20)


def test_world_leaves_nothing_behind(world: World) -> None:
    """Also when a test fails: no process, no file, no mount, no device."""
    before = Path("/proc/self/mountinfo").read_text()
    made = World()

    def fail() -> None:
        with made:
            assert Path("/proc/self/mountinfo").read_text() == before
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    pids, directory = (made.inside.pid, made.outside.namespace.pid), made.directory
    assert not directory.exists()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    listed = subprocess.run(["ps", "-eo", "args"], check=True, capture_output=True, text=True).stdout
    assert str(directory) not in listed
    assert Path("/proc/self/mountinfo").read_text() == before
