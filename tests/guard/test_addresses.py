"""Which addresses are public."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.errors import RefusedURLError
from sift.guard.addresses import GLOBAL_IPV6, RESERVED_IPV4, RESERVED_IPV6, Reserved, is_public, plain
from sift.guard.url import parse
from tests.search.moderate import moderate

RESERVED = [*RESERVED_IPV4, *RESERVED_IPV6]
_DENIED_IPV4 = st.one_of(
    *(st.integers(int(each.network[0]), int(each.network[-1])) for each in RESERVED_IPV4),
).map(IPv4Address)
_HIGH = st.integers(0, 2**64 - 1)
_PREFIX = st.integers(int(GLOBAL_IPV6[0]) >> 64, int(GLOBAL_IPV6[-1]) >> 64)


def _low(start: str) -> int:
    return int(IPv6Address(start))


TRANSITIONS = {
    "mapped": lambda v4, _: _low("::ffff:0:0") + v4,
    "translated": lambda v4, _: _low("::ffff:0:0:0") + v4,
    "compatible": lambda v4, _: v4,
    "6to4": lambda v4, rest: _low("2002::") + (v4 << 80) + (rest & 2**80 - 1),
    "nat64": lambda v4, _: _low("64:ff9b::") + v4,
    "nat64-local": lambda v4, rest: _low("64:ff9b:1::") + (rest >> 16 << 32) + v4,
    "teredo-server": lambda v4, rest: _low("2001::") + (v4 << 64) + rest,
    "teredo-client": lambda v4, rest: _low("2001::") + (rest << 32) % 2**96 + (v4 ^ 0xFFFF_FFFF),
}
"""IPv6 addresses that stand for an IPv4 one: of that one, and of 64 bits that may be anything."""


@given(_DENIED_IPV4, _HIGH, st.sampled_from(sorted(TRANSITIONS)))
@moderate
def test_denied_ipv4_address_in_an_ipv6_one_is_not_public(v4: IPv4Address, rest: int, form: str) -> None:
    """contract: Guard: whatever form a packet could leave IPv6 by."""
    address = IPv6Address(TRANSITIONS[form](int(v4), rest))
    assert not is_public(str(address))
    for text in (str(address), address.exploded):
        with pytest.raises(RefusedURLError, match=r"^address$"):
            parse(f"http://[{text}]/")


@given(_DENIED_IPV4, _PREFIX, st.sampled_from(["0:5efe", "200:5efe"]))
@moderate
def test_denied_ipv4_address_behind_an_isatap_router_is_not_public(v4: IPv4Address, prefix: int, mark: str) -> None:
    """contract: Guard: ISATAP around an IPv4 address that is not public, under any prefix."""
    address = IPv6Address((prefix << 64) + _low(f"::{mark}:0:0") + int(v4))
    assert not is_public(str(address))


def test_public_ipv4_address_in_an_isatap_one_is_public() -> None:
    """contract: Guard: the form alone is no reason, unless the address inside is denied."""
    assert is_public("2a00:1450::5efe:8.8.8.8")
    assert not is_public("2a00:1450::5efe:8.8.8.8", (IPv4Network("8.8.8.0/24"),))
    assert is_public("2a00:1450::5eff:10.0.0.1")


def test_table_has_the_networks_it_must_have() -> None:
    """contract: Guard: a network that is dropped from the table is missed here."""
    assert {str(each.network) for each in RESERVED_IPV4} == set(
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 "
        "192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 "
        "198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4".split()
    )
    assert {str(each.network) for each in RESERVED_IPV6} == set(
        "2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20".split()
    )
    assert all(each.what and each.source for each in RESERVED)


@pytest.mark.parametrize("each", RESERVED, ids=[str(each.network) for each in RESERVED])
def test_first_and_last_address_of_a_network_are_not_public_and_their_neighbours_are(each: Reserved) -> None:
    """contract: Guard: no network is cut short, and none takes more than its own."""
    first, last = int(each.network[0]), int(each.network[-1])
    kind = type(each.network[0])
    assert not is_public(str(each.network[0]))
    assert not is_public(str(each.network[-1]))
    for number in (first - 1, last + 1):
        if 0 <= number < 2**each.network.max_prefixlen:
            neighbour = kind(number)
            inside = any(neighbour in other.network for other in RESERVED)
            is_global = isinstance(neighbour, IPv4Address) or neighbour in GLOBAL_IPV6
            assert is_public(str(neighbour)) == (is_global and not inside)


@pytest.mark.parametrize("address", ["1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "::", "ffff::"])
def test_ipv6_address_outside_global_unicast_is_not_public(address: str) -> None:
    """contract: Guard: of IPv6 that is all of `2000::/3`, and nothing else."""
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["2000::", "2001:200::", "2606:4700:4700::1111", "3ffe:ffff::", "2003::", "1.1.1.1"]
)
def test_other_address_is_public(address: str) -> None:
    """contract: Guard: nothing that is public is refused."""
    assert is_public(address)


@pytest.mark.parametrize(
    "text", ["", "good.com", "127.1", "0x7f000001", "1.1.1.01", "2000::%eth0", "::ffff:1.1.1.1%1", "1.1.1.1 "]
)
def test_text_that_is_no_address_or_has_a_zone_is_not_public(text: str) -> None:
    """contract: Guard: what cannot be judged does not pass."""
    assert plain(text) is None
    assert not is_public(text)


def test_networks_are_denied_their_addresses_are_not_public() -> None:
    """contract: Guard: the settings deny more; of mapped addresses too."""
    deny = (IPv4Network("8.8.8.0/24"), IPv6Network("2606:4700::/32"))
    assert not any(is_public(address, deny) for address in ("8.8.8.8", "::ffff:8.8.8.8", "2606:4700::1"))
    assert all(is_public(address, deny) for address in ("8.8.9.8", "::ffff:8.8.9.8", "2606:4701::1"))
    assert not is_public("10.0.0.1", deny)
