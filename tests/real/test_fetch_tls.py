"""TLS: whom a fetch trusts, and which name it asks for."""

from __future__ import annotations

import pytest

from tests.world.answers import failed
from tests.world.certificates import LITERALS
from tests.world.service import Inside
from tests.world.steps import article, drip, forever, send, stall
from tests.world.world import World


@pytest.mark.parametrize("kind", ["", "certifi"])
def test_authorities_of_the_system_and_of_certifi_are_trusted(kind: str, sift: Inside, world: World) -> None:
    """contract: Guard: both lists count, and the handshake asks for the host by its name."""
    host = world.host(kind=kind, pages={"/": article()})
    assert sift.page(f"https://{host}/")["final_url"] == f"https://{host}/"
    hits = world.outside.hits()
    assert [(hit.port, hit.sni, hit.header("host")) for hit in hits] == [(443, host, host)] * 2


@pytest.mark.parametrize("kind", ["expired", "wrong", "unknown"])
def test_bad_certificate_ends_the_fetch(kind: str, sift: Inside, world: World) -> None:
    """contract: Guard: nothing is asked of a host that cannot prove who it is; there is no way to insist."""
    host = world.host(kind=kind)
    assert failed(sift.fetch(f"https://{host}/")) == "tls"
    assert failed(sift.fetch(f"https://{host}/", "restricted")) == "unreachable"
    assert world.outside.requests() == []


@pytest.mark.parametrize("address", LITERALS)
def test_address_that_the_certificate_names_is_trusted_without_a_name(address: str, sift: Inside, world: World) -> None:
    """contract: Guard: a literal address is checked against the certificate's addresses; SNI is for names."""
    literal = f"[{address}]" if ":" in address else address
    world.serve(literal, {"*": article()})
    assert sift.page(f"https://{literal}/", max_age=0)["status"] == 200
    assert {(hit.address, hit.sni) for hit in world.outside.hits()} == {(address, "")}


def test_address_that_the_certificate_lacks_is_not_trusted(sift: Inside, world: World) -> None:
    """contract: Guard: as for a name that it lacks."""
    assert failed(sift.fetch("https://8.8.4.5/")) == "tls"
    assert world.outside.requests() == []


@pytest.mark.parametrize(
    "steps", [stall(), drip(b"\x16\x03\x03\x10\x00"), drip(b"\0"), forever(b"\x16\x03\x03\x00\x00")], ids=str
)
def test_handshake_without_end_is_a_timeout(steps: list[dict[str, object]], sift: Inside, world: World) -> None:
    """contract: Fetch: one deadline bounds the handshake too, whatever comes in the meantime, or it is broken."""
    host = world.host(address := world.address())
    world.stall(address, steps)
    reply = sift.fetch(f"https://{host}/", timeout=1)
    assert reply.status == 504 or failed(reply) == "tls"
    if steps == stall():
        assert (reply.status, reply.json()) == (504, {"error": "fetch timeout", "hint": ""})
    assert world.outside.requests() == []


def test_plain_http_where_tls_belongs_is_a_tls_failure(sift: Inside, world: World) -> None:
    """contract: Fetch: and not a page."""
    host = world.host(address := world.address())
    world.stall(address, send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
    assert failed(sift.fetch(f"https://{host}/")) == "tls"


def test_connection_that_is_reset_in_the_handshake_is_a_failure(sift: Inside, world: World) -> None:
    """contract: Fetch: a host that hangs up is one that cannot be had."""
    host = world.host(address := world.address())
    world.stall(address, [{"reset": True}])
    assert failed(sift.fetch(f"https://{host}/")) in ("tls", "connect")


def test_body_cut_within_tls_is_no_page(sift: Inside, world: World) -> None:
    """contract: Fetch: an end of the connection that TLS did not announce may be anybody's."""
    cut = [*send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 500\r\n\r\n<p>half"), {"reset": True}]
    host = world.host(pages={"/": cut})
    assert failed(sift.fetch(f"https://{host}/")) == "bad response"
