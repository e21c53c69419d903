"""Opening a connection: resolve the host, filter its addresses, connect to one of them, set up TLS."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Sequence

import certifi

from sift.wire.call import Call
from sift.wire.connection import Connection
from sift.wire.resolver import Address, Resolver

Judge = Callable[[Sequence[Address]], Sequence[Address]]
"""Maps all addresses of a host to those that may be tried, in order. Raises OSError to refuse the host."""


def any_address(addresses: Sequence[Address]) -> Sequence[Address]:
    """Return all addresses: the operator chose the host."""
    return addresses


def dial(
    host: str,
    port: int,
    call: Call,
    *,
    resolver: Resolver,
    judge: Judge = any_address,
    tls: ssl.SSLContext | None = None,
) -> Connection:
    """Return a new connection to a host, verified if `tls` is given. Raises OSError, ValueError.

    The name is resolved once, and only addresses that `judge` returns are connected to.
    """
    addresses = judge(resolver.addresses(host, port, call.left()))
    connected = _connect(addresses, call)
    try:
        if tls:
            connected = tls.wrap_socket(connected, server_hostname=host, do_handshake_on_connect=False)
        connection = Connection(connected, call)
        connection.handshake()
    except BaseException:
        connected.close()
        raise
    return connection


def _connect(addresses: Sequence[Address], call: Call) -> socket.socket:
    """Connect to the first address that accepts. Raises OSError.

    The remaining time is shared out, so that an address that never answers, such as an IPv6 address without a route,
    leaves time for the others.
    """
    failure = OSError("no address")
    for tried, address in enumerate(addresses):
        try:
            connected = socket.socket(address.family, socket.SOCK_STREAM)
        except OSError as error:  # this host may lack IPv6
            failure = error
            continue
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connected.settimeout(call.left() / (len(addresses) - tried))
            connected.connect(address.place)
            return connected
        except OSError as error:
            connected.close()
            failure = error
    raise failure


def tls_context() -> ssl.SSLContext:
    """Return a context that verifies against the system's certificate authorities and certifi's."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    context.set_alpn_protocols(["http/1.1"])
    return context
