"""What callers of each class learn from a page that cannot be had."""

from __future__ import annotations

from tests.world.answers import failed
from tests.world.network import OWN
from tests.world.service import Inside
from tests.world.steps import redirect
from tests.world.world import World


def redirecting(world: World) -> str:
    """Return a host that redirects to one that leads inside."""
    return world.host(pages={"/": redirect(f"http://{world.host('10.1.2.3')}/")})


FAILURES = {
    "forbidden address": lambda world: f"http://{world.host('10.1.2.3')}/",
    "forbidden address beside a good one": lambda world: f"http://{world.host('8.8.4.4', '127.0.0.1')}/",
    "own address": lambda world: f"http://{world.host(OWN[0])}/",
    "no such name": lambda world: "http://nobody-is-called-so.example.org/",
    "name server out of order": lambda world: f"http://{world.host(rcode=2)}/",
    "refused connection": lambda world: f"http://{world.host()}:8081/",
    "expired certificate": lambda world: f"https://{world.host(kind='expired')}/",
    "wrong certificate": lambda world: f"https://{world.host(kind='wrong')}/",
    "redirect to a forbidden address": lambda world: f"http://{redirecting(world)}/",
}


def test_restricted_caller_learns_nothing_from_refusals(sift: Inside, world: World) -> None:
    """contract: Guard: what a name server or a connection told is one and the same answer for this class."""
    replies = {what: sift.fetch(url(world), "restricted") for what, url in FAILURES.items()}
    expected = (502, b'{"error":"fetch failed","hint":"unreachable"}')
    seen = {what: (reply.status, reply.body.replace(b" ", b"").strip()) for what, reply in replies.items()}
    assert {what: (status, body.replace(b"fetchfailed", b"fetch failed")) for what, (status, body) in seen.items()} == (
        dict.fromkeys(FAILURES, expected)
    )
    assert len({reply.body for reply in replies.values()}) == 1
    varying = {"date"}
    assert (
        len({frozenset((k, v) for k, v in reply.headers.items() if k not in varying) for reply in replies.values()})
        == 1
    )


def test_fleet_caller_is_told_which_step_failed(sift: Inside, world: World) -> None:
    """contract: Fetch: the words are coarse, and no address is among them."""
    hints = {what: failed(sift.fetch(url(world))) for what, url in FAILURES.items()}
    assert hints == {
        "forbidden address": "address",
        "forbidden address beside a good one": "address",
        "own address": "address",
        "no such name": "dns",
        "name server out of order": "dns",
        "refused connection": "connect",
        "expired certificate": "tls",
        "wrong certificate": "tls",
        "redirect to a forbidden address": "address",
    }
