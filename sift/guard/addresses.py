"""Which IP addresses are public: a table of networks, and where it comes from.

`ipaddress.is_global` is no such table: to Python 3.11 multicast, NAT64, 6to4 and metadata services are global.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple

Network = IPv4Network | IPv6Network


class Reserved(NamedTuple):
    """A network in which no public service is.

    what: its use. source: the document that reserves it; where the registries list it, with their date of allocation.
    """

    network: Network
    what: str
    source: str


def _v4(network: str, what: str, source: str) -> Reserved:
    return Reserved(IPv4Network(network), what, source)


def _v6(network: str, what: str, source: str) -> Reserved:
    return Reserved(IPv6Network(network), what, source)


# IANA's registries of special-purpose and of multicast addresses, and one vendor's service at a public address. Those
# of the other clouds are link-local, shared, unique local, or in the block for IETF protocols.
RESERVED_IPV4 = (
    _v4("0.0.0.0/8", "this network", "RFC 791, 1981-09"),
    _v4("10.0.0.0/8", "private use", "RFC 1918, 1996-02"),
    _v4("100.64.0.0/10", "shared by the customers of a provider; Alibaba's metadata", "RFC 6598, 2012-04"),
    _v4("127.0.0.0/8", "loopback", "RFC 1122, 1981-09"),
    _v4("168.63.129.16/32", "Azure's platform service", "Microsoft, What is IP address 168.63.129.16?"),
    _v4("169.254.0.0/16", "link-local; metadata of most clouds", "RFC 3927, 2005-05"),
    _v4("172.16.0.0/12", "private use", "RFC 1918, 1996-02"),
    _v4("192.0.0.0/24", "IETF protocols; Oracle's metadata", "RFC 6890, 2010-01"),
    _v4("192.0.2.0/24", "documentation", "RFC 5737, 2010-01"),
    _v4("192.31.196.0/24", "AS112, any cast", "RFC 7535, 2014-12"),
    _v4("192.52.193.0/24", "relays of multicast", "RFC 7450, 2014-12"),
    _v4("192.88.99.0/24", "relays of 6to4", "RFC 7526, 2001-06"),
    _v4("192.168.0.0/16", "private use", "RFC 1918, 1996-02"),
    _v4("192.175.48.0/24", "AS112", "RFC 7534, 1996-01"),
    _v4("198.18.0.0/15", "benchmarks", "RFC 2544, 1999-03"),
    _v4("198.51.100.0/24", "documentation", "RFC 5737, 2010-01"),
    _v4("203.0.113.0/24", "documentation", "RFC 5737, 2010-01"),
    _v4("224.0.0.0/4", "multicast", "RFC 5771, 2010-03"),
    _v4("240.0.0.0/4", "reserved; broadcast", "RFC 1112, 1989-08"),
)
GLOBAL_IPV6 = IPv6Network("2000::/3")
"""Global unicast (RFC 4291). Outside are loopback, mapped, NAT64, unique local, link-local and multicast."""
RESERVED_IPV6 = (
    _v6("2001::/23", "IETF protocols: Teredo, ORCHID, benchmarks", "RFC 2928, 2000-09"),
    _v6("2001:db8::/32", "documentation", "RFC 3849, 2004-07"),
    _v6("2002::/16", "6to4, around any IPv4 address", "RFC 3056, 2001-02"),
    _v6("2620:4f:8000::/48", "AS112", "RFC 7534, 2011-05"),
    _v6("3fff::/20", "documentation", "RFC 9637, 2024-07"),
)
_IPV4 = tuple(reserved.network for reserved in RESERVED_IPV4)
_IPV6 = tuple(reserved.network for reserved in RESERVED_IPV6)
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
"""Bits 64 to 95 of an address that a router takes apart for the IPv4 address in its last 32 bits (RFC 5214)."""


def is_public(address: str, deny: Sequence[Network] = ()) -> bool:
    """Return whether an address is public and in none of the networks of `deny`; False if it is no address.

    An IPv4-mapped IPv6 address is judged as the IPv4 address. One with a zone belongs to this host alone.
    """
    found = plain(address)
    return found is not None and _is_public(found, deny)


def plain(address: str) -> IPv4Address | IPv6Address | None:
    """Return an address, an IPv4-mapped IPv6 address as IPv4; None if it is none, or has a zone."""
    try:
        found = ip_address(address)
    except ValueError:
        return None
    if isinstance(found, IPv4Address):
        return found
    return None if found.scope_id is not None else found.ipv4_mapped or found


def _is_public(address: IPv4Address | IPv6Address, deny: Sequence[Network]) -> bool:
    reserved: Sequence[Network] = _IPV4
    if isinstance(address, IPv6Address):
        if address not in GLOBAL_IPV6:
            return False
        # Such an identifier may follow any prefix, so the table cannot name it.
        if int(address) >> 32 & 0xFFFF_FFFF in _ISATAP and not _is_public(IPv4Address(address.packed[12:]), deny):
            return False
        reserved = _IPV6
    return not any(address in network for networks in (reserved, deny) for network in networks)
