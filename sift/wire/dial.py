"""Opening a connection: resolve the host, filter its addresses, connect to one of them, check it, set up TLS."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import certifi

from sift.wire.call import Call
from sift.wire.connection import Connection
from sift.wire.resolver import Address, Resolver

TLS = ssl.SSLContext
"""The authorities that a connection is verified against."""
Judge = Callable[[Sequence[Address]], Sequence[Address]]
"""Maps all addresses of a host to those that may be tried, in order. Raises an error to refuse the host."""
Confirm = Callable[[str, str, Address], None]
"""Is told a connected socket's own IP address, its peer's, and the address that was connected to. The first two are
alike if the peer is this very host. Raises an error to refuse the host; an OSError, to try its next address."""

_NOBODYS: dict[int, str] = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses that are kept for documents, and no host's."""


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
    confirm: Confirm | None = None,
    tls: TLS | None = None,
) -> Connection:
    """Return a new connection to a host, verified if `tls` is given.

    The name is resolved once, and only addresses that `judge` returns are connected to. `confirm` sees each connection
    before anything is sent. Raises OSError, ValueError, and what these two raise.
    """
    addresses = judge(resolver.addresses(host, port, call.left()))
    connected = _connect(addresses, call, confirm)
    try:
        if tls:
            connected = tls.wrap_socket(connected, server_hostname=host, do_handshake_on_connect=False)
        connection = Connection(connected, call)
        connection.handshake()
    except BaseException:
        connected.close()
        raise
    return connection


def _connect(addresses: Sequence[Address], call: Call, confirm: Confirm | None) -> socket.socket:
    """Connect to the first address that accepts. Raises OSError, and what `confirm` raises.

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
            if confirm:
                peer = connected.getpeername()[0]
                confirm(peer if is_own(connected.family, peer) else connected.getsockname()[0], peer, address)
            return connected
        except OSError as error:
            connected.close()
            failure = error
        except BaseException:
            connected.close()
            raise
    raise failure


def is_own(family: int, address: str) -> bool:
    """Return whether this host has an IP address itself.

    The own end of a connection does not always tell: Linux reaches a second address of a network from the first one.
    But a socket can be bound to no other host's address, unless net.ipv4.ip_nonlocal_bind lets it have any.
    """
    return _can_bind(family, address) and not _can_bind(family, _NOBODYS[family])


def _can_bind(family: int, address: str) -> bool:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def tls_context(*, environment: bool = True) -> TLS:
    """Return a context that verifies against the system's certificate authorities and certifi's.

    environment: whether SSL_CERT_FILE and SSL_CERT_DIR may name other authorities than the system's, and SSLKEYLOGFILE
    a file for the keys.
    """
    if environment:
        context = ssl.create_default_context()
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        _trust_system(context)
    context.load_verify_locations(certifi.where())
    context.set_alpn_protocols(["http/1.1"])
    return context


def _trust_system(context: ssl.SSLContext) -> None:
    """Load the authorities where OpenSSL was built to look for them; like OpenSSL, go on without what is not there."""
    paths = ssl.get_default_verify_paths()
    with suppress(OSError):
        context.load_verify_locations(cafile=paths.openssl_cafile)
    if Path(paths.openssl_capath).is_dir():
        context.load_verify_locations(capath=paths.openssl_capath)
