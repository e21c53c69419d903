"""The guard: whatever a request makes Sift connect to passes through here, three times.

As text before anything is looked up, as the addresses that a look-up gave, and as the peer of the connected socket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sift.errors import RefusedAddressError, RefusedURLError
from sift.guard.addresses import Network, is_public, plain
from sift.guard.url import Target, parse, resolve
from sift.wire.resolver import Address

MOST_ADDRESSES = 4
"""Addresses of a host that are tried: each silent one takes its share of the call's time."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules of what may be fetched.

    ports: those that are allowed besides 80 and 443. deny: networks that are refused besides those that are not public:
    private services at public addresses, and a prefix by which the own network translates to IPv4 (RFC 6052).
    """

    ports: frozenset[int] = frozenset()
    deny: tuple[Network, ...] = ()

    def target(self, url: str) -> Target:
        """Return what a URL asks for. Raises RefusedURLError."""
        return parse(url, self.ports, self.deny)

    def redirect(self, base: Target, location: str) -> Target:
        """Return what a redirect from `base` asks for; it must not leave TLS. Raises RefusedURLError."""
        target = self.target(resolve(base, location))
        if (base.scheme, target.scheme) == ("https", "http"):
            raise RefusedURLError("scheme")
        return target

    def judge(self, addresses: Sequence[Address]) -> Sequence[Address]:
        """Return the addresses of a host that may be tried, four at most. Raises RefusedAddressError if one is bad.

        One bad address refuses the host: a name with public and private addresses is a trap, or a mistake.
        """
        if not all(is_public(str(address.place[0]), self.deny) for address in addresses):
            raise RefusedAddressError
        return addresses[:MOST_ADDRESSES]

    def confirm(self, own: str, peer: str, address: Address) -> None:
        """Check the ends of a connected socket: `peer` must be the address that was judged, and not this very host's.

        own, peer: IP addresses. Raises RefusedAddressError.
        """
        reached = plain(peer)
        if reached is None or reached != plain(str(address.place[0])) or reached == plain(own):
            raise RefusedAddressError
