"""The guard, before a look-up, after it, and once a socket is connected."""

from __future__ import annotations

import subprocess
import sys
from ipaddress import IPv4Network, IPv6Network

import pytest

from sift.errors import GuardError, RefusedAddressError, RefusedURLError
from sift.guard.guard import Guard
from tests.guard.vectors import GOOD4, GOOD6, looked_up

OWN4, OWN6 = "172.20.0.2", "2a01:4f8::2"
DENYING = Guard(frozenset({8443}), (IPv4Network("93.184.215.0/24"), IPv6Network("2606:2800::/32")))


def test_host_has_many_addresses_four_are_tried() -> None:
    """contract: Guard: at most four, the first ones."""
    found = looked_up(*(f"8.8.8.{number}" for number in range(1, 201)))
    assert Guard().judge(found) == found[:4]


def test_host_has_many_addresses_the_last_is_bad_it_is_refused() -> None:
    """contract: Guard: one bad address refuses the host, tried or not."""
    found = looked_up(*(f"8.8.8.{number}" for number in range(1, 200)), "10.0.0.1")
    with pytest.raises(RefusedAddressError):
        Guard().judge(found)


@pytest.mark.parametrize("addresses", [(GOOD4,), (GOOD6,), ("8.8.8.8", GOOD4), (f"::ffff:{GOOD4}",)])
def test_host_has_an_address_that_is_denied_it_is_refused(addresses: tuple[str, ...]) -> None:
    """contract: Guard: the settings deny more."""
    assert Guard().judge(looked_up(*addresses))
    with pytest.raises(RefusedAddressError):
        DENYING.judge(looked_up(*addresses))


@pytest.mark.parametrize(
    ("own", "peer", "address"),
    [
        (OWN4, GOOD4, GOOD4),
        (OWN6, GOOD6, GOOD6),
        (OWN6, GOOD6, "2606:2800:021f:cb07:6820:80da:af6b:8b2c"),
        (f"::ffff:{OWN4}", f"::ffff:{GOOD4}", f"::ffff:{GOOD4}"),
        (OWN4, f"::ffff:{GOOD4}", GOOD4),
        ("fe80::1%eth0", GOOD6, GOOD6),
    ],
)
def test_peer_is_the_judged_address_it_is_confirmed(own: str, peer: str, address: str) -> None:
    """contract: Guard: in whichever spelling."""
    Guard().confirm(own, peer, *looked_up(address))


@pytest.mark.parametrize(
    ("own", "peer", "address"),
    [
        (OWN4, "8.8.8.8", GOOD4),
        (OWN4, "127.0.0.1", GOOD4),
        (OWN6, OWN6, GOOD6),
        (OWN6, GOOD4, GOOD6),
        (OWN4, "", GOOD4),
        (OWN4, f"{GOOD6}%eth0", GOOD6),
        (OWN4, "", ""),
    ],
)
def test_peer_is_another_address_it_is_refused(own: str, peer: str, address: str) -> None:
    """contract: Guard: the peer of the connected socket must be the address that was judged."""
    with pytest.raises(RefusedAddressError):
        Guard().confirm(own, peer, *looked_up(address))


@pytest.mark.parametrize("own", [GOOD4, f"::ffff:{GOOD4}"])
def test_peer_is_this_host_it_is_refused(own: str) -> None:
    """contract: Guard: and not the socket's own: a public address of this very host."""
    with pytest.raises(RefusedAddressError):
        Guard().confirm(own, GOOD4, *looked_up(GOOD4))


def test_settings_add_a_port_and_deny_a_network_urls_and_redirects_are_judged_by_them() -> None:
    """contract: Guard: a redirect's target is judged from the start."""
    base = DENYING.target("https://good.com:8443/")
    assert DENYING.redirect(base, "/x").url == "https://good.com:8443/x"
    for location in (f"//{GOOD4}/", f"https://[{GOOD6}]:8443"):
        with pytest.raises(RefusedURLError, match=r"^address$"):
            DENYING.redirect(base, location)
        assert Guard(DENYING.ports).redirect(base, location)
    with pytest.raises(RefusedURLError, match=r"^port$"):
        Guard().redirect(base, "/x")


@pytest.mark.parametrize(("page", "location"), [("http", "https"), ("http", "http"), ("https", "https")])
def test_redirect_keeps_or_enters_tls_it_passes(page: str, location: str) -> None:
    """contract: Guard: `http` only after `http`."""
    base = Guard().target(f"{page}://good.com/")
    assert Guard().redirect(base, f"{location}://good.com/").scheme == location


def test_refusals_carry_no_address() -> None:
    """contract: Guard: what a look-up or a connection told goes no further."""
    with pytest.raises(GuardError) as judged:
        Guard().judge(looked_up("10.11.12.13"))
    with pytest.raises(GuardError) as confirmed:
        Guard().confirm(OWN4, "10.11.12.13", *looked_up(GOOD4))
    assert [str(error.value) for error in (judged, confirmed)] == ["address", "address"]


def test_guard_is_loaded_without_an_http_client() -> None:
    """contract: Guard: a URL can be checked offline, by a command that starts at once."""
    code = "import sys, sift.guard.guard; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "sift.guard.guard" in loaded
    assert not {"requests", "flask", "certifi", "sift.wire.dial", "sift.config"} & set(loaded)
